import { basename, dirname, join, resolve } from 'node:path';
import type { Catalog, CatalogEntry } from '../../catalog/catalog.ts';
import { portProblem } from '../../catalog/field-types.ts';
import { groups } from '../../catalog/groups.ts';
import { tagProblem } from '../../catalog/image-rules.ts';
import { parseImage } from '../../catalog/images.ts';
import { schemaLine } from '../../catalog/schema-line.ts';
import { installationFolder, readInstalled } from '../../config/installation.ts';
import { Fault } from '../../faults/fault.ts';
import { localFiles } from '../../hosts/local-files.ts';
import { fieldProblem } from '../../session/form-checks.ts';
import type { FormField, Session } from '../../session/session.ts';
import { filledFile } from '../../stack/plan/render.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { argumentOrPrompt } from '../argument-or-prompt.ts';
import type { FlowContext, FlowInput, Procedure } from '../flow.ts';
import { optionsOf, wordsUpTo } from '../flow-options.ts';
import { fileOf } from '../named-file.ts';

const modes = { file: 0o644, folder: 0o755 } as const;
/** A deeper nesting means a circle of links. */
const depthLimit = 8;

export const catalogNew: Procedure = async (session, input, context) => {
  const words = wordsUpTo(2, input, { takes: 'Pass an ID, and optionally a FOLDER', remedy: 'Usage: quarterdeck catalog new ID [FOLDER]' });
  const id = await argumentOrPrompt(session, {
    ...{ id: 'id', given: words[0], code: 'usage.component', remedy: 'e.g. note-keeper' },
    label: 'Entry ID',
    help: 'Name of the component on the command line, and of its folder. The ID of a built-in component creates a copy of that component.',
    check: idProblem,
  });
  const folder = await folderOf(session, words[1], context);
  const path = join(folder, id);
  await throwIfThere(session, path);
  const known = context.catalog.get(id);
  const files = known ? await copyOf(session, input, known) : await begun(session, input, id, context.catalog);
  const names = [...files.keys()];
  const shown = cleanLine(path);
  await session.act({
    id: 'write',
    right: 'operate',
    request: `write ${names.length > 3 ? countText(names.length, 'file') : names.join(', ')} to ${shown}`,
    run: async (grant) => {
      // Checked again after the prompts: it may have been created meanwhile.
      await throwIfThere(session, path);
      for (const [name, content] of files) {
        const file = join(path, name);
        await localFiles.makeFolder(grant, dirname(file), { mode: modes.folder });
        await localFiles.write(grant, file, content, { mode: modes.file });
      }
    },
  });
  const data = { id, folder: path, files: names };
  if (session.dryRun) return { message: `Dry run: nothing was written to ${shown}.`, data };
  const kind = known ? `a copy of the built-in ${id} and replaces it` : 'a new entry';
  const next = `After each change, run: quarterdeck catalog check ${cleanLine(folder)}`;
  const file = cleanLine(context.hosts?.file ?? 'config.yaml');
  const settings = context.ownCatalogFolder === folder ? '' : ` To use the entry, set catalogFolder to ${cleanLine(folder)} in ${file}.`;
  return { message: `${shown} is ${kind}. ${next}.${settings}`, data };
};

function idProblem(id: string): string | undefined {
  if (/^[a-z][a-z0-9-]*$/.test(id.trim())) return undefined;
  return `"${cleanLine(id)}" is not a valid ID: use lowercase letters, digits and hyphens, starting with a letter.`;
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

async function copyOf(session: Session, input: FlowInput, entry: CatalogEntry): Promise<Map<string, Uint8Array>> {
  const [unused] = Object.keys(input.options);
  if (unused !== undefined) {
    const message = `--${unused} is for a new entry, but ${entry.id} is copied from the built-in catalog.`;
    throw new Fault('usage.option', message, `Choose another ID, or run: quarterdeck catalog new ${entry.id}`);
  }
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

const none = 'none';

/** A flag is the answer to its question: what is left is prompted for. */
async function begun(session: Session, input: FlowInput, id: string, catalog: Catalog): Promise<Map<string, Uint8Array>> {
  const questions = entryFields(id, catalog).map((field) => ({ field, given: optionsOf(input, field.id)?.join(' ') }));
  for (const { field, given } of questions) {
    const problem = given === undefined ? undefined : fieldProblem(field, given);
    if (problem !== undefined) {
      const message = `--${field.id} cannot be "${cleanLine(given ?? '')}". ${problem}`;
      throw new Fault('usage.option', message, 'See: quarterdeck help catalog new');
    }
  }
  const fields = questions.flatMap(({ field, given }) => (given === undefined ? [field] : []));
  const filled: Readonly<Record<string, string>> =
    fields.length > 0 ? await session.fill({ id: 'entry', title: `New entry ${id}`, fields }) : {};
  const answer = (name: string) => (filled[name] ?? questions.find(({ field }) => field.id === name)?.given ?? '').trim();
  const image = answer('image');
  const values = {
    ...Object.fromEntries(['name', 'kind', 'group', 'health'].map((name) => [name, answer(name)])),
    ...{ schema: schemaLine(), id, image, port: `${Number(answer('port'))}`, hostPort: `${Number(answer('host-port'))}` },
    ...{ zone: answer('time-zone'), mounts: mountsOf(foldersOf(answer('volume')).filter((path) => path !== none)).join(' ') },
    tagReason: parseImage(image)?.tag === 'latest' ? '' : ', tagReason: the version chosen for this entry',
  };
  const write = async (file: string) =>
    [file, Buffer.from(filledFile(await readInstalled(`catalog/new-entry/${file}.liquid`), values, file))] as const;
  return new Map(await Promise.all(['component.yaml', 'compose.yaml'].map(write)));
}

/** What only the operator knows. None has a default, so that nothing is assumed. */
function entryFields(id: string, catalog: Catalog): FormField[] {
  const field = (name: string, label: string, help: string, more: Partial<FormField>): FormField => ({
    ...{ id: name, label, help, kind: 'text', value: '', required: true, section: 'Entry' },
    ...more,
  });
  const choice = (values: readonly string[]) => ({ kind: 'choice', choices: values.map((value) => ({ value, label: value })) }) as const;
  const containerPortProblem = (text: string) => portProblem(text.trim());
  const hostPortProblem = (text: string) => containerPortProblem(text) ?? takenProblem(Number(text), id, catalog);
  return [
    field('name', 'Product name', 'Name as the project writes it, e.g. Gotify.', { check: textProblem }),
    field('kind', 'Kind', 'Kind of component, without the product name, e.g. Push notifications.', { check: textProblem }),
    field('group', 'Group', 'Catalog lists show the component in this group.', choice(groups)),
    field('image', 'Image', 'Image with its tag. Containers are recognised by their image.', { check: imageProblem }),
    field('port', 'Container port', 'Port of the web UI in the container, e.g. 80.', { check: containerPortProblem }),
    field('host-port', 'Host port', 'Default host port of the web UI, on 127.0.0.1, e.g. 8770.', { check: hostPortProblem }),
    field('health', 'Health path', 'Path that responds without a login, e.g. /health, or / for the web UI.', { check: pathProblem }),
    field('volume', 'Data folders', 'Folders in the container that store data, separated by spaces, or none.', { check: volumeProblem }),
    field('time-zone', 'Time zone', 'Choose yes if the product reads its time zone from the TZ variable.', choice(['yes', 'no'])),
  ];
}
function textProblem(text: string): string | undefined {
  return text === cleanLine(text) && /^[^{}]*\S[^{}]*$/.test(text) ? undefined : 'Use one line of text without braces.';
}
function imageProblem(written: string): string | undefined {
  const image = parseImage(written.trim());
  return image ? tagProblem(image, image.tag !== 'latest', true)?.join(' ') : 'Use an image name, such as ghcr.io/acme/notes:2.1.';
}

function takenProblem(port: number, id: string, { entries }: Catalog): string | undefined {
  const others = entries.filter((entry) => entry.id !== id);
  const userOf = (wanted: number) => others.find(({ ports }) => ports.some(({ host, protocol }) => host === wanted && protocol === 'tcp'));
  const user = userOf(port);
  if (!user) return undefined;
  let free = port + 1;
  while (userOf(free)) free++;
  return `${port} is the default port of ${user.id} (${user.product.name}). No catalog entry uses ${free}.`;
}

function pathProblem(text: string): string | undefined {
  return /^\/[\w.~@:+,;%/-]*$/.test(text.trim()) ? undefined : 'Use an absolute path, e.g. /health.';
}

const foldersOf = (text: string): string[] => text.split(/[\s,]+/).flatMap((path) => (path === '' ? [] : [path.replace(/(?<=.)\/+$/, '')]));

function volumeProblem(text: string): string | undefined {
  const paths = foldersOf(text);
  if (paths.length === 0) return `Use the absolute path of a folder, or ${none}.`;
  if (paths.includes(none)) return paths.length === 1 ? undefined : `Use either folders or ${none}, not both.`;
  const wrong = paths.find((path) => !/^(?:\/(?!\.{1,2}(?:\/|$))[\w.@+-]+)+$/.test(path));
  if (wrong !== undefined) return `"${cleanLine(wrong)}" is not the absolute path of a folder. Use a path such as /app/data, or ${none}.`;
  return new Set(paths).size === paths.length ? undefined : 'Specify each folder only once.';
}

/** Returns a mount for each folder, `data:/app/data`. The volume is named for the last part of the path, or for all of it if that is taken. */
function mountsOf(paths: readonly string[]): string[] {
  const names = new Set<string>();
  return paths.map((path) => {
    const slug = (text: string) =>
      text
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replaceAll(/^-|-$/g, '');
    let name = slug(names.has(slug(basename(path))) ? path : basename(path)).replace(/^(?![a-z])/, 'data-');
    while (names.has(name)) name += '-2';
    names.add(name);
    return `${name}:${path}`;
  });
}
