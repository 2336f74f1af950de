import { dirname, join, resolve } from 'node:path';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { parseImage } from '../../catalog/images.ts';
import { schemaLine } from '../../catalog/schema-line.ts';
import { installationFolder } from '../../config/installation.ts';
import { Fault } from '../../faults/fault.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { argumentOrPrompt } from '../argument-or-prompt.ts';
import type { FlowContext, FlowInput, Procedure } from '../flow.ts';
import { optionOf, wordsUpTo } from '../flow-options.ts';
import { fileOf } from '../named-file.ts';

const idShape = /^[a-z][a-z0-9-]*$/;
const modes = { file: 0o644, folder: 0o755 } as const;
/** A deeper nesting means a circle of links. */
const depthLimit = 8;

export const catalogNew: Procedure = async (session, input, context) => {
  const words = wordsUpTo(2, input, { takes: 'catalog new accepts one ID and one FOLDER', remedy: 'quarterdeck catalog new ID [FOLDER]' });
  const id = await argumentOrPrompt(session, {
    ...{ id: 'id', given: words[0], code: 'usage.component', remedy: 'e.g. note-keeper' },
    label: 'ID of the entry',
    help: 'Its name on the command line and the name of its folder. The ID of a built-in component creates a copy of it.',
    check: idProblem,
  });
  const folder = await folderOf(session, words[1], context);
  const path = join(folder, id);
  await throwIfThere(session, path);
  const known = context.catalog.get(id);
  const files = known ? await copyOf(session, known) : await begun(session, input, id);
  const names = [...files.keys()];
  const shown = cleanLine(path);
  const made = await session.act({
    id: 'write',
    right: 'operate',
    request: `write ${names.length > 3 ? countText(names.length, 'file') : names.join(', ')} to ${shown}`,
    done: async () => (await localFiles.facts(join(path, 'component.yaml'), session.signal)) !== undefined,
    run: async (grant) => {
      // Checked again after the prompts: it may have been created meanwhile.
      await throwIfThere(session, path);
      for (const [name, content] of files) {
        const file = join(path, name);
        await localFiles.makeFolder(grant, dirname(file), { mode: modes.folder });
        await localFiles.write(grant, file, content, { mode: modes.file });
      }
      return names;
    },
  });
  const data = { id, folder: path, files: names };
  if (!made) return { message: `Dry run: nothing was written to ${shown}.`, data };
  const kind = known ? `a copy of the built-in ${id}, and replaces it` : 'a minimal entry';
  const next = `Edit it, then run: quarterdeck catalog check ${cleanLine(folder)}`;
  const settings = context.ownCatalogFolder === folder ? '' : ` To use it, set in config.yaml: catalogFolder: ${cleanLine(folder)}`;
  return { message: `${shown} is ${kind}. ${next}.${settings}`, data };
};

function idProblem(id: string): string | undefined {
  if (idShape.test(id.trim())) return undefined;
  return `"${cleanLine(id)}" is not a valid ID: use lower case letters, digits and dashes, starting with a letter.`;
}

async function folderOf(session: Session, word: string | undefined, { ownCatalogFolder }: FlowContext): Promise<string> {
  if (word === undefined && ownCatalogFolder !== undefined) return ownCatalogFolder;
  const question = {
    id: 'folder',
    label: 'Catalog folder',
    help: 'Set catalogFolder in config.yaml to the same folder.',
    initial: '~/my-catalog',
    check: (text: string) => (text.trim() === '' ? 'A folder is required.' : undefined),
  };
  return fileOf(word ?? (await session.ask.text(question)));
}

async function throwIfThere(session: Session, path: string): Promise<void> {
  const facts = await localFiles.facts(path, session.signal);
  if (!facts || (facts.kind === 'folder' && (await localFiles.list(path, session.signal))?.length === 0)) return;
  const message = `${cleanLine(path)} already exists and is not overwritten.`;
  throw new Fault('refused.fileThere', message, 'Choose another name, or another folder.');
}

async function copyOf(session: Session, entry: CatalogEntry): Promise<Map<string, Uint8Array>> {
  const root = resolve(join(installationFolder(), 'catalog'), entry.folder);
  const files = new Map<string, Uint8Array>();
  const take = async (below: string, depth: number): Promise<void> => {
    for (const name of (await localFiles.list(join(root, below), session.signal)) ?? []) {
      const path = join(below, name);
      const facts = await localFiles.facts(join(root, path), session.signal);
      if (facts?.kind === 'folder' && depth < depthLimit) await take(path, depth + 1);
      if (facts?.kind !== 'file') continue;
      const content = (await localFiles.read(join(root, path), { signal: session.signal })) ?? new Uint8Array();
      files.set(path, path === 'component.yaml' ? withSchemaLine(content) : content);
    }
  };
  await take('', 0);
  return files;
}

function withSchemaLine(content: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(content).replace(/^# yaml-language-server: .*\n/, '');
  return Buffer.from(`${schemaLine()}\n${text}`);
}

async function begun(session: Session, input: FlowInput, id: string): Promise<Map<string, Uint8Array>> {
  const wrong = { code: 'usage.option', remedy: '--image ghcr.io/acme/notes:2.1 --port 3000' } as const;
  const image = await argumentOrPrompt(session, {
    ...{ id: 'image', given: optionOf(input, 'image'), ...wrong, initial: `${id}/${id}:latest`, check: imageProblem },
    label: 'Image',
    help: 'With its tag. Its containers are recognised by their image.',
  });
  const port = await argumentOrPrompt(session, {
    ...{ id: 'port', given: optionOf(input, 'port'), ...wrong, check: portProblem },
    label: 'Container port of its web page',
    help: 'For example 8080. It is published on the same port of 127.0.0.1; you can change that when you deploy it.',
  });
  return new Map([
    ['component.yaml', Buffer.from(componentText(id, image))],
    ['compose.yaml', Buffer.from(composeText(image, Number(port)))],
  ]);
}

function imageProblem(image: string): string | undefined {
  return parseImage(image.trim()) ? undefined : `"${cleanLine(image)}" is not an image name.`;
}

function portProblem(text: string): string | undefined {
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port < 65536 ? undefined : 'Use a port between 1 and 65535.';
}

function componentText(id: string, image: string): string {
  const reason = parseImage(image)?.tag === 'latest' ? '' : ', tagReason: the release chosen for this entry';
  const title = id.replaceAll('-', ' ').replace(/^./, (letter) => letter.toUpperCase());
  return `${schemaLine()}
# All keys: docs/catalog.md. Check this file: quarterdeck catalog check FOLDER
id: ${id}
# security, ai, media, vpn, productivity, networking or cluster
group: productivity
# What it is, without the name of the product.
kind: ${title}
deploy: compose
product: {name: ${title}}

# Describes compose.yaml, which defines images, ports, mounts and environment.
services:
  app: {main: true, role: server${reason}}

# The variable WEB_PORT of compose.yaml names the port "web".
ports:
  web: {role: web page, exposure: loopback, web: true}

fields:
  - {name: TZ, type: timezone, target: environment, default: Etc/UTC, description: Time zone of its logs.}

volumes:
  /data: {description: All of its data}

backup:
  - {id: data, volume: data, method: stop}

calls:
  page:
    title: Request its web page
    reads: true
    http: {method: GET, port: web, path: /}

# The states that it can report. Timeouts, refusals and failures are built in.
probe:
  call: page
  states:
    - {when: "ok && status < 400", state: up, severity: ok}
`;
}

function composeText(image: string, port: number): string {
  return `services:
  app:
    image: ${image}
    restart: unless-stopped
    ports:
      - "\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-${port}}:${port}/tcp"
    environment:
      TZ: "\${TZ:-Etc/UTC}"
    volumes:
      - data:/data
volumes:
  data: {}
`;
}
