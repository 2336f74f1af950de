import { checkValue } from '../../catalog/field-types.ts';
import type { ComponentCall } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { FormField, Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { bytesText } from '../../text/quantities.ts';
import { splitAssignment } from '../../text/words.ts';
import type { FlowInput } from '../flow.ts';
import { optionOf, optionsOf } from '../flow-options.ts';
import { fileOf, refuseTypedPath } from '../named-file.ts';

type Values = Readonly<Record<string, string>>;
type Asked = Pick<ComponentCall, 'title' | 'inputs'>;

/** A file is sent from memory, as part of one request. */
const fileLimitBytes = 256 * 1024 * 1024;

/**
 * Returns the values of `--set` and `--file`, by input; a file by its path. Throws `usage.set` for an unknown input or an invalid value,
 * `usage.secretOnCommandLine`, and `usage.file` for a call that sends no file.
 */
export function givenInputs(input: Pick<FlowInput, 'options'>, { title, inputs }: Asked): Record<string, string> {
  const values: Record<string, string> = {};
  const names = Object.keys(inputs);
  for (const word of optionsOf(input, 'set') ?? []) {
    const [written, value] = splitAssignment(word);
    const name = written.trim();
    if (name === '' || value === undefined)
      throw new Fault('usage.set', '--set requires NAME=VALUE.', nameRemedy('', names, `"${title}" has no inputs.`));
    const declared = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (!declared) {
      const message = `"${title}" has no input "${cleanLine(name)}".`;
      throw new Fault('usage.set', message, nameRemedy(name, names, 'Omit --set.'));
    }
    if (declared.secret) {
      const message = `${name} is a secret, and other users of this machine can read command lines.`;
      throw new Fault('usage.secretOnCommandLine', message, `Omit ${name} to be prompted.`);
    }
    const problem = declared.file ? undefined : checkValue(declared, value);
    if (problem !== undefined) throw new Fault('usage.set', `--set ${name}: ${problem}`, `Expected: ${declared.description}.`);
    values[name] = value;
  }
  const file = optionOf(input, 'file');
  if (file === undefined) return values;
  const sent = names.find((name) => inputs[name]?.file);
  if (sent === undefined) throw new Fault('usage.file', `"${title}" sends no file.`, 'Omit --file.');
  return { ...values, [sent]: file };
}

/** Prompts for the inputs that are not known yet. Files are read, and returned as their content, one character for each byte. */
export async function completeInputs(session: Session, call: Asked, id: string, known: Values): Promise<Values> {
  const open = Object.entries(call.inputs).filter(([name]) => known[name] === undefined);
  const fields = open.map(([name, { description, secret, required, file, ...rule }]): FormField => {
    const check = (value: string) => (value === '' || file ? undefined : checkValue({ ...rule, secret }, value));
    return {
      ...{ id: name, label: name, kind: secret ? 'secret' : 'text', value: '', required, section: '', check },
      help: `${description.charAt(0).toUpperCase()}${description.slice(1)}.`,
    };
  });
  const typed = fields.length > 0 ? await session.fill({ id, title: call.title, fields }) : {};
  const values: Record<string, string> = { ...known, ...typed };
  for (const [name, { file }] of Object.entries(call.inputs))
    if (file && values[name]) values[name] = await contentOf(session, values[name]);
  return values;
}

async function contentOf(session: Session, word: string): Promise<string> {
  refuseTypedPath(session, word);
  const path = fileOf(word);
  const shown = cleanLine(path);
  const facts = await localFiles.facts(path, session.signal);
  if (!facts) throw new Fault('usage.file', `${shown} does not exist.`, 'Pass an existing file.');
  if (facts.kind !== 'file') throw new Fault('usage.file', `${shown} is not a regular file.`, 'Pass a file.');
  if (facts.sizeBytes > fileLimitBytes) {
    const message = `${shown} is too large (${bytesText(facts.sizeBytes)}): at most ${bytesText(fileLimitBytes)} can be sent.`;
    throw new Fault('usage.file', message, 'Upload it in the web UI of the component.');
  }
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes: fileLimitBytes });
  if (!bytes) throw new Fault('usage.file', `${shown} no longer exists.`, 'Pass an existing file.');
  return Buffer.from(bytes).toString('latin1');
}
