/** What stands in for a value that is not shown. Its length says nothing about the value's. */
export const mask = '********';

const secretName =
  /pass(word|wd|phrase)?|secret|token|api_?-?key|private|credential|auth(?!ors?(\W|$)|elia|entik)|salt|cookie|session_?key|encryption|signing|(^|[_.-])(key|pw|pwd|dsn|pin|seed|cert)($|[_.-])/i;
/** `user:password@` in an address. */
const userInfo = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s@/]+@/gi;
const secretOption = /^(--?[\w-]*(?:pass(?:word|wd)?|secret|token|api-?key|credential|auth)[\w-]*)(=)(.+)$/i;

/** Is a variable, label or key of this name likely to hold a secret? `FILE` variables name a path. */
export function isSecretName(name: string): boolean {
  return secretName.test(name) && !/_FILE$/i.test(name);
}

/** Passwords inside addresses, wherever they stand. */
export function maskAddresses(text: string): string {
  return text.replace(userInfo, `$1:${mask}@`);
}

export interface MaskOptions {
  /** Environment values are hidden whatever their name (read-only sessions). */
  everyVariable: boolean;
  /** Names of the catalog's secret fields. */
  secretFields: ReadonlySet<string>;
}

function maskVariable(entry: string, options: MaskOptions): string {
  const equals = entry.indexOf('=');
  if (equals < 0) return entry;
  const name = entry.slice(0, equals);
  const hidden = options.everyVariable || options.secretFields.has(name) || isSecretName(name);
  return `${name}=${hidden ? mask : maskAddresses(entry.slice(equals + 1))}`;
}

/** The words of a command: what follows an option named like a secret goes, in either spelling. */
function maskArguments(argv: readonly unknown[]): unknown[] {
  let hideNext = false;
  return argv.map((word) => {
    if (typeof word !== 'string') return word;
    if (hideNext) {
      hideNext = false;
      if (!word.startsWith('-')) return mask;
    }
    const option = secretOption.exec(word);
    if (option) return `${option[1]}=${mask}`;
    const variable = /^([A-Za-z_][A-Za-z0-9_]*)=/.exec(word);
    if (variable && isSecretName(variable[1] ?? '')) return `${variable[1]}=${mask}`;
    hideNext = /^--?[a-z]/i.test(word) && !word.includes('=') && isSecretName(word.replace(/^-+/, '').replaceAll('-', '_'));
    return maskAddresses(word);
  });
}

const argumentKeys = new Set(['Cmd', 'Entrypoint', 'Args', 'Command', 'Test', 'CreateCommand', 'ExecIDs']);

/** A copy of what an inspect answered, without secrets: environment values, labels and options named like one, passwords in addresses. */
export function maskInspect(value: unknown, options: MaskOptions, key = ''): unknown {
  if (Array.isArray(value)) {
    if (key === 'Env')
      return value.map((entry) => (typeof entry === 'string' ? maskVariable(entry, options) : maskInspect(entry, options)));
    if (argumentKeys.has(key)) return maskArguments(value);
    return value.map((entry) => maskInspect(entry, options, key));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        name,
        typeof inner === 'string' && inner !== '' && (options.secretFields.has(name) || (key !== '' && isSecretName(name)))
          ? mask
          : maskInspect(inner, options, name),
      ]),
    );
  }
  return typeof value === 'string' ? maskAddresses(value) : value;
}
