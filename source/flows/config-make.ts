import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { checkValue } from '../catalog/field-types.ts';
import { deliveredPath } from '../catalog/template-names.ts';
import { isMadeHere } from '../catalog/where-it-runs.ts';
import { installationFolder } from '../config/installation.ts';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { checkConfig } from '../products/config-check.ts';
import type { Form, Session } from '../session/session.ts';
import { type ConfigTemplate, readConfigTemplate } from '../stack/component-source.ts';
import { filledFile } from '../stack/filled-file.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { configMakeAbout } from './about-stack.ts';
import { configFault } from './config-problems.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';

export const configMake: Flow = {
  ...configMakeAbout,
  async run(session, input, world) {
    const entry = await chosenEntry(session, input, world);
    const file = await outFile(session, input);
    const source = await readConfigTemplate(entry, join(installationFolder(), 'catalog'));
    const values = await session.fill(formOf(entry));
    const text = filled(entry, source, values);
    if (file === undefined) {
      session.show({ kind: 'output', stream: 'stdout', bytes: Buffer.from(text) });
      return {
        message: `${entry.id}: made of ${Object.keys(values).length} answers, and written nowhere.`,
        data: { component: entry.id, text },
      };
    }
    const written = await session.act({
      id: 'write',
      right: 'operate',
      request: `write ${cleanLine(file)}`,
      target: { host: input.place },
      run: async (grant) => {
        await localFiles.write(grant, file, Buffer.from(text), { mode: 0o644 });
        return true;
      },
    });
    return {
      message: written ? `${entry.id}: written to ${cleanLine(file)}.` : 'Rehearsed: nothing was written.',
      data: { component: entry.id, file, text },
    };
  },
};

async function chosenEntry(session: Session, { words }: FlowInput, { catalog }: FlowWorld): Promise<CatalogEntry> {
  const made = catalog.entries.filter(isMadeHere);
  const [word] = words;
  if (word === undefined) {
    if (!session.attended)
      throw new Fault({
        code: 'usage.component',
        message: 'Whose configuration?',
        remedy: `Name one of ${made.map(({ id }) => id).join(', ')}.`,
      });
    const id = await session.ask.choice({
      id: 'component',
      label: 'What is to be made?',
      choices: made.map((entry) => ({ value: entry.id, label: entry.kind, detail: entry.product.name })),
    });
    return made.find((entry) => entry.id === id) ?? unknown(id, made);
  }
  const entry = made.find(({ id }) => id === word);
  if (entry) return entry;
  if (catalog.get(word)?.deploy === 'compose')
    throw new Fault({
      code: 'usage.component',
      message: `${cleanLine(word)} gets its configuration when it is deployed.`,
      remedy: `quarterdeck deploy ${cleanLine(word)} asks for what stands in it.`,
    });
  return unknown(word, made);
}

function unknown(word: string, made: readonly CatalogEntry[]): never {
  throw new Fault({
    code: 'usage.component',
    message: `There is no configuration to make for "${cleanLine(word)}".`,
    remedy: nameRemedy(
      word,
      made.map(({ id }) => id),
      '"quarterdeck catalog list" names what is known.',
    ),
  });
}

/** Said before anything is asked: what is there may be somebody's work. */
async function outFile(session: Session, { words }: FlowInput): Promise<string | undefined> {
  const [, word] = wordsUpTo(2, { words }, { takes: 'One file at a time', remedy: 'quarterdeck config make COMPONENT [FILE]' });
  if (word === undefined) return undefined;
  const file = resolve(expandHome(word, homedir()));
  if (await localFiles.facts(file, session.signal))
    throw new Fault({
      code: 'refused.fileThere',
      message: `${cleanLine(file)} is there already.`,
      remedy: 'Name another file, or move that one away; quarterdeck config check says what is wrong with it.',
    });
  return file;
}

function formOf(entry: CatalogEntry): Form {
  return {
    id: 'config',
    title: `${entry.kind} (${entry.product.name})`,
    fields: asked(entry).map(({ variable, field }) => ({
      id: variable,
      label: field.name,
      kind: field.enum || field.type === 'boolean' ? ('choice' as const) : ('text' as const),
      ...((field.enum || field.type === 'boolean') && {
        choices: [
          ...(field.default === undefined && !field.required ? [{ value: '', label: 'not said' }] : []),
          ...(field.enum ?? ['true', 'false']).map((value) => ({ value, label: value })),
        ],
      }),
      value: field.default === undefined ? '' : String(field.default),
      required: field.required,
      section: 'Settings',
      ...((field.meaning ?? field.rule) !== undefined && { help: [field.meaning, field.rule].filter(Boolean).join('; ') }),
      check: (value: string) => (value === '' ? (field.required ? `${field.name} is needed.` : undefined) : checkValue(field, value)),
    })),
  };
}

function asked({ fields }: CatalogEntry) {
  return fields.flatMap((field) =>
    field.goes === 'config' && field.env !== undefined && !field.secret ? [{ variable: field.env, field }] : [],
  );
}

/** Throws `catalog.template` where the template is wrong, `config.file` where the answers do not go together. */
function filled(entry: CatalogEntry, { path, template, schema }: ConfigTemplate, values: Readonly<Record<string, string>>): string {
  const text = filledFile(template, values, path);
  const problem = checkConfig(text, entry.configFile ?? {}, schema).find(({ level }) => level === 'error');
  if (problem) throw configFault(problem, deliveredPath(path));
  return text;
}
