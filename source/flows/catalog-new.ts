import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { parseImage } from '../catalog/images.ts';
import { schemaLine } from '../catalog/schema-line.ts';
import { installationFolder } from '../config/installation.ts';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { catalogNewAbout } from './about-catalog.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { optionOf, wordsUpTo } from './flow-options.ts';

const idShape = /^[a-z][a-z0-9-]*$/;
/** Of files that others may read too: a catalog holds no secrets. */
const modes = { file: 0o644, folder: 0o755 } as const;
/** Deeper than this, links go round in circles. */
const depthLimit = 8;

export const catalogNew: Flow = {
  ...catalogNewAbout,
  async run(session, input, world) {
    const words = wordsUpTo(2, input, { takes: 'One entry at a time, and its folder', remedy: 'quarterdeck catalog new ID [FOLDER]' });
    const id = words[0] ?? (await askId(session));
    const wrong = idProblem(id);
    if (wrong !== undefined) throw new Fault({ code: 'usage.component', message: wrong, remedy: 'For example: note-keeper' });
    const folder = await folderOf(session, words[1], world);
    const place = join(folder, id);
    await throwIfThere(session, place);
    const known = world.catalog.get(id);
    const files = known ? await copyOf(session, known) : await begun(session, input, id);
    const names = [...files.keys()];
    const made = await session.act({
      id: 'write',
      right: 'operate',
      request: `write ${names.length > 3 ? countText(names.length, 'file') : names.join(', ')} to ${cleanLine(place)}`,
      target: { host: input.place },
      done: async () => (await localFiles.facts(join(place, 'component.yaml'), session.signal)) !== undefined,
      run: async (grant) => {
        // Again, now that nobody is asked any more: it may have come meanwhile.
        await throwIfThere(session, place);
        for (const [name, content] of files) {
          const path = join(place, name);
          await localFiles.makeFolder(grant, dirname(path), { mode: modes.folder });
          await localFiles.write(grant, path, content, { mode: modes.file });
        }
        return names;
      },
    });
    return outcome({ id, folder, place, known, names, made: made !== undefined, world });
  },
};

function outcome({
  id,
  folder,
  place,
  known,
  names,
  made,
  world,
}: {
  id: string;
  folder: string;
  place: string;
  known: CatalogEntry | undefined;
  names: readonly string[];
  made: boolean;
  world: FlowWorld;
}): FlowOutcome {
  const shown = cleanLine(place);
  if (!made) return { message: `Rehearsed: nothing was written to ${shown}.`, data: { id, folder: place, files: names } };
  const kind = known ? `a copy of the built-in ${id}, which it takes the place of` : 'a small entry to begin with';
  const next = `Change it, then: quarterdeck catalog check ${cleanLine(folder)}`;
  const settings = world.ownCatalogFolder === folder ? '' : ` It is used once config.yaml says catalogFolder: ${cleanLine(folder)}`;
  return { message: `${shown} is ${kind}. ${next}.${settings}`, data: { id, folder: place, files: names } };
}

function idProblem(id: string): string | undefined {
  return idShape.test(id) ? undefined : `"${cleanLine(id)}" is no name: use lower case letters, digits and dashes, starting with a letter.`;
}

async function askId(session: Session): Promise<string> {
  const given = await session.ask.text({
    id: 'id',
    label: 'What is it to be called?',
    help: 'The name on the command line, and of its folder. That of a built-in component makes a copy of it.',
    check: (text) => idProblem(text.trim()),
  });
  return given.trim();
}

async function folderOf(session: Session, word: string | undefined, { ownCatalogFolder }: FlowWorld): Promise<string> {
  if (word === undefined && ownCatalogFolder !== undefined) return ownCatalogFolder;
  const written =
    word ??
    (await session.ask.text({
      id: 'folder',
      label: 'In which folder is your catalog?',
      help: 'catalogFolder in config.yaml then says so.',
      initial: '~/my-catalog',
      check: (text) => (text.trim() === '' ? 'Name a folder.' : undefined),
    }));
  return resolve(expandHome(written.trim(), homedir()));
}

async function throwIfThere(session: Session, place: string): Promise<void> {
  const facts = await localFiles.facts(place, session.signal);
  if (!facts || (facts.kind === 'folder' && (await localFiles.list(place, session.signal))?.length === 0)) return;
  throw new Fault({
    code: 'refused.fileThere',
    message: `${cleanLine(place)} is there already, and nothing in it is written over.`,
    remedy: 'Choose another name, or another folder.',
  });
}

/** All that lies in its folder, with the line for editors. */
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
  const image = optionOf(input, 'image') ?? (await askImage(session, id));
  const port = Number(optionOf(input, 'port') ?? (await askPort(session)));
  const wrong = imageProblem(image) ?? portProblem(String(port));
  if (wrong !== undefined) throw new Fault({ code: 'usage.option', message: wrong, remedy: '--image ghcr.io/acme/notes:2.1 --port 3000' });
  return new Map([
    ['component.yaml', Buffer.from(componentText(id, image.trim()))],
    ['compose.yaml', Buffer.from(composeText(image, port))],
  ]);
}

function askImage(session: Session, id: string): Promise<string> {
  return session.ask.text({
    id: 'image',
    label: 'Which image does it run from?',
    help: 'With its tag. Its containers are recognised by it, whoever made them.',
    initial: `${id}/${id}:latest`,
    check: imageProblem,
  });
}

function askPort(session: Session): Promise<string> {
  return session.ask.text({
    id: 'port',
    label: 'Which port does its page have in the container?',
    help: 'For example 8080. It is published on the same port of 127.0.0.1, which the form of deploy lets you change.',
    check: portProblem,
  });
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
product: {name: ${title}, confidence: sure}

# Of compose.yaml, which has images, ports, mounts and environment: here stands what they mean.
services:
  app: {main: true, role: server${reason}}

# The variable WEB_PORT of compose.yaml names the port "web".
ports:
  web: {role: web page, exposure: loopback, web: true}

fields:
  - {name: TZ, type: timezone, goes: environment, default: Etc/UTC, meaning: time zone of its logs}

volumes:
  /data: {meaning: all that it keeps}

backup:
  - {id: data, volume: data, way: stop}

calls:
  page:
    title: Does its page answer?
    reads: true
    http: {method: GET, port: web, path: /}

# How it is, in a word or two. Silence, refusals and failures have their words already.
probe:
  call: page
  says:
    - {when: "ok && status < 400", word: up, tone: good}
`;
}

function composeText(image: string, port: number): string {
  return `services:
  app:
    image: ${image.trim()}
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
