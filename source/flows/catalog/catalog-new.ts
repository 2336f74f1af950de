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
import type { FlowContext, FlowInput, Procedure } from '../flow.ts';
import { optionOf, wordsUpTo } from '../flow-options.ts';
import { givenOrAsked } from '../given-or-asked.ts';
import { fileOf } from '../named-file.ts';

const idShape = /^[a-z][a-z0-9-]*$/;
const modes = { file: 0o644, folder: 0o755 } as const;
/** A deeper nesting means a circle of links. */
const depthLimit = 8;

export const catalogNew: Procedure = async (session, input, context) => {
  const words = wordsUpTo(2, input, { takes: 'One entry at a time, and its folder', remedy: 'quarterdeck catalog new ID [FOLDER]' });
  const id = await givenOrAsked(session, {
    ...{ id: 'id', given: words[0], code: 'usage.component', remedy: 'For example: note-keeper' },
    label: 'What is it to be called?',
    help: 'The name on the command line, and of its folder. That of a built-in component makes a copy of it.',
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
  const kind = known ? `a copy of the built-in ${id}, which it takes the place of` : 'a small entry to begin with';
  const next = `Change it, then: quarterdeck catalog check ${cleanLine(folder)}`;
  const settings = context.ownCatalogFolder === folder ? '' : ` It is used once config.yaml says catalogFolder: ${cleanLine(folder)}`;
  return { message: `${shown} is ${kind}. ${next}.${settings}`, data };
};

function idProblem(id: string): string | undefined {
  if (idShape.test(id.trim())) return undefined;
  return `"${cleanLine(id)}" is no name: use lower case letters, digits and dashes, starting with a letter.`;
}

async function folderOf(session: Session, word: string | undefined, { ownCatalogFolder }: FlowContext): Promise<string> {
  if (word === undefined && ownCatalogFolder !== undefined) return ownCatalogFolder;
  const question = {
    id: 'folder',
    label: 'In which folder is your catalog?',
    help: 'catalogFolder in config.yaml then says so.',
    initial: '~/my-catalog',
    check: (text: string) => (text.trim() === '' ? 'Name a folder.' : undefined),
  };
  return fileOf(word ?? (await session.ask.text(question)));
}

async function throwIfThere(session: Session, path: string): Promise<void> {
  const facts = await localFiles.facts(path, session.signal);
  if (!facts || (facts.kind === 'folder' && (await localFiles.list(path, session.signal))?.length === 0)) return;
  const message = `${cleanLine(path)} is there already, and nothing in it is written over.`;
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
  const image = await givenOrAsked(session, {
    ...{ id: 'image', given: optionOf(input, 'image'), ...wrong, initial: `${id}/${id}:latest`, check: imageProblem },
    label: 'Which image does it run from?',
    help: 'With its tag. Its containers are recognised by it, whoever made them.',
  });
  const port = await givenOrAsked(session, {
    ...{ id: 'port', given: optionOf(input, 'port'), ...wrong, check: portProblem },
    label: 'Which port does its page have in the container?',
    help: 'For example 8080. It is published on the same port of 127.0.0.1, which the form of deploy lets you change.',
  });
  return new Map([
    ['component.yaml', Buffer.from(componentText(id, image))],
    ['compose.yaml', Buffer.from(composeText(image, Number(port)))],
  ]);
}

function imageProblem(image: string): string | undefined {
  return parseImage(image.trim()) ? undefined : `"${cleanLine(image)}" is no name of an image.`;
}

function portProblem(text: string): string | undefined {
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port < 65536 ? undefined : 'A port is a number from 1 to 65535.';
}

function componentText(id: string, image: string): string {
  const reason = parseImage(image)?.tag === 'latest' ? '' : ', tagReason: the release that was chosen here';
  const title = id.replaceAll('-', ' ').replace(/^./, (letter) => letter.toUpperCase());
  return `${schemaLine()}
# What every key means: docs/catalog.md. What is wrong: quarterdeck catalog check FOLDER
id: ${id}
# security, ai, media, vpn, productivity, networking or cluster
group: productivity
# What it is, without the product's name: what people look for.
kind: ${title}
deploy: compose
product: {name: ${title}}

# Of compose.yaml, which has images, ports, mounts and environment: here stands what they mean.
services:
  app: {main: true, role: server${reason}}

# The variable WEB_PORT of compose.yaml names the port "web".
ports:
  web: {role: web page, exposure: loopback, web: true}

fields:
  - {name: TZ, type: timezone, target: environment, default: Etc/UTC, description: time zone of its logs}

volumes:
  /data: {description: all that it keeps}

backup:
  - {id: data, volume: data, method: stop}

calls:
  page:
    title: Does its page answer?
    reads: true
    http: {method: GET, port: web, path: /}

# How it is, in a word or two. Silence, refusals and failures have their words already.
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
