import { join } from 'node:path';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { checkValue } from '../../catalog/field-types.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { deliveredPath } from '../../catalog/template-names.ts';
import { isMadeHere } from '../../catalog/where-it-runs.ts';
import { installationFolder } from '../../config/installation.ts';
import { checkConfig } from '../../config-files/config-check.ts';
import { Fault } from '../../faults/fault.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Form, FormField, Session } from '../../session/session.ts';
import { type ConfigTemplate, readConfigTemplate } from '../../stack/component-source.ts';
import { filledFile } from '../../stack/plan/render.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import type { FlowContext, FlowInput, Procedure } from '../flow.ts';
import { wordsUpTo } from '../flow-options.ts';
import { fileOf } from '../named-file.ts';
import { configFault } from './config-problems.ts';

export const configMake: Procedure = async (session, input, context) => {
  const entry = await chosenEntry(session, input, context);
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
    run: async (grant) => {
      await localFiles.write(grant, file, Buffer.from(text), { mode: 0o644 });
      return true;
    },
  });
  return {
    message: written ? `${entry.id}: written to ${cleanLine(file)}.` : 'Dry run: nothing was written.',
    data: { component: entry.id, file, text },
  };
};

async function chosenEntry(session: Session, { words }: FlowInput, { catalog }: FlowContext): Promise<CatalogEntry> {
  const made = catalog.entries.filter(isMadeHere);
  const [word] = words;
  const choices = made.map(({ id, kind, product }) => ({ value: id, label: kind, detail: product.name }));
  const id = word ?? (await session.ask.choice({ id: 'component', label: 'What is to be made?', choices }));
  const entry = made.find((one) => one.id === id);
  if (entry) return entry;
  const shown = cleanLine(id);
  if (catalog.get(id)?.deploy === 'compose') {
    const message = `${shown} gets its configuration when it is deployed.`;
    throw new Fault('usage.component', message, `quarterdeck deploy ${shown} asks for what stands in it.`);
  }
  const names = made.map((one) => one.id);
  const remedy = nameRemedy(id, names, '"quarterdeck catalog list" names what is known.');
  throw new Fault('usage.component', `There is no configuration to make for "${shown}".`, remedy);
}

/** Refused before any prompt: the existing file may contain someone's work. */
async function outFile(session: Session, { words }: FlowInput): Promise<string | undefined> {
  const [, word] = wordsUpTo(2, { words }, { takes: 'One file at a time', remedy: 'quarterdeck config make COMPONENT [FILE]' });
  if (word === undefined) return undefined;
  const file = fileOf(word);
  if (await localFiles.facts(file, session.signal))
    throw new Fault(
      'refused.fileThere',
      `${cleanLine(file)} is there already.`,
      'Name another file, or move that one away; quarterdeck config check says what is wrong with it.',
    );
  return file;
}

function formOf(entry: CatalogEntry): Form {
  return {
    id: 'config',
    title: `${entry.kind} (${entry.product.name})`,
    fields: entry.fields.flatMap((field) =>
      field.target === 'config' && field.env !== undefined && !field.secret ? [formField(field.env, field)] : [],
    ),
  };
}

function formField(id: string, field: ComponentField): FormField {
  const { name, required, description, rule } = field;
  const values = field.enum ?? (field.type === 'boolean' ? ['true', 'false'] : undefined);
  const unset = field.default === undefined && !required ? [{ value: '', label: 'not said' }] : [];
  return {
    ...{ id, label: name, required, section: 'Settings', kind: values ? 'choice' : 'text' },
    choices: values && [...unset, ...values.map((value) => ({ value, label: value }))],
    value: field.default === undefined ? '' : String(field.default),
    help: [description, rule].filter(Boolean).join('; ') || undefined,
    check: (value) => (value === '' ? (required ? `${name} is needed.` : undefined) : checkValue(field, value)),
  };
}

function filled(entry: CatalogEntry, { path, template, schema }: ConfigTemplate, values: Readonly<Record<string, string>>): string {
  const text = filledFile(template, values, path);
  const problem = checkConfig(text, entry.configFile ?? {}, schema).find(({ level }) => level === 'error');
  if (problem) throw configFault(problem, deliveredPath(path));
  return text;
}
