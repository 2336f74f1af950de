import { Fault } from '../faults/fault.ts';

/** What the specification's placeholders stand for (R2); undefined where there is nothing to fill in. */
export type Placeholders = Readonly<Record<'base_url' | 'host' | 'auth_url', string | undefined>>;

// `${host}` is a variable of compose, `{{host}}` one of a template: neither is ours.
const address = /(?<![\w${])\{(base_url|host|auth_url)\}(?!\})/g;
const secret = /<(?:ADMIN_TOKEN|API_KEY|PASSWORD|SESSION_COOKIE)>/;

const needs: Readonly<Record<string, string>> = {
  base_url: 'Give the component a port, or a name at the reverse proxy.',
  host: 'Give the component a name at the reverse proxy: --set site=NAME.',
  auth_url: 'Deploy the single sign-on portal first: its address goes here.',
};

/**
 * Fills in `{base_url}`, `{host}` and `{auth_url}`. Throws `failed.placeholder` with file and line for one that has no value, and for the placeholder of a
 * secret: a secret never goes into a file.
 */
export function resolvePlaceholders(text: string, values: Placeholders, file: string): string {
  const hidden = secret.exec(text);
  if (hidden) {
    throw unresolved(text, hidden.index, hidden[0], file, 'Take the secret from the environment: files of a component never hold one.');
  }
  return text.replaceAll(address, (written, name: keyof Placeholders, offset: number) => {
    const value = values[name];
    if (value === undefined) throw unresolved(text, offset, written, file, needs[name] ?? '');
    return value;
  });
}

function unresolved(text: string, offset: number, written: string, file: string, remedy: string): Fault {
  const before = text.slice(0, offset).split('\n');
  return new Fault({
    code: 'failed.placeholder',
    message: `There is no value for ${written}.`,
    remedy,
    where: { file, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
  });
}
