/** Replaces a hidden value. Its length is independent of the value's. */
export const mask = '********';

const secretName =
  /pass(word|wd|phrase)?|secret|token|api_?-?key|private|credential|auth(?!ors?(\W|$)|elia|entik)|salt|cookie|session_?key|encryption|signing|(^|[_.-])(key|pw|pwd|dsn|pin|seed|cert)($|[_.-])/i;
const userInfo = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s@/]+@/gi;
const secretOption = /^(--?[\w-]*(?:pass(?:word|wd)?|secret|token|api-?key|credential|auth)[\w-]*)(=)(.+)$/i;

/** Returns whether a variable, label or key of this name is likely to hold a secret. `FILE` variables name a path. */
export const isSecretName = (name: string): boolean => secretName.test(name) && !/_FILE$/i.test(name);

export const maskAddresses = (text: string): string => text.replace(userInfo, `$1:${mask}@`);

interface MaskOptions {
  /** Hides every environment value, whatever its name, and with them arguments and the output of health checks (read-only sessions). */
  everyVariable: boolean;
  secretFields: ReadonlySet<string>;
}

function maskVariable(entry: string, options: MaskOptions): string {
  const equals = entry.indexOf('=');
  if (equals < 0) return entry;
  const name = entry.slice(0, equals);
  const hidden = options.everyVariable || options.secretFields.has(name) || isSecretName(name);
  return `${name}=${hidden ? mask : maskAddresses(entry.slice(equals + 1))}`;
}

/** Matches the option of `curl -u NAME:PASSWORD` in each spelling; `--user 1000:1000` of other programs is not a secret. */
const userOption = /^(?:-[a-z]*u|--user|--proxy-user)$/i;
const attachedUser = /^(?:--user=|--proxy-user=|-u(?=[^-]))[^:]+:/;
const userPassword = /^((?:--[a-z-]+=|-u)?["']?[^:]+):(?!\d+["']?$)(.*?)(["']?)$/;

const scheme = /^(?:Bearer|Basic|Token|Digest)$/i;
const isSecretHeader = (word: string) => /^["']?[\w-]+:$/.test(word) && isSecretName(word.replaceAll(/["':]/g, '').replaceAll('-', '_'));

function maskArguments(argv: readonly unknown[]): unknown[] {
  let hideNext = false;
  let userNext = false;
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: what a word means depends on those before it, also in a shell command
  return argv.map((word) => {
    if (typeof word !== 'string') return word;
    if (userNext || attachedUser.test(word)) {
      userNext = false;
      return word.replace(userPassword, `$1:${mask}$3`);
    }
    userNext = userOption.test(word);
    // The authentication scheme of a header is not a secret; the next word is.
    if (hideNext && scheme.test(word)) return word;
    if (/\s/.test(word) && !hideNext) return maskLine(word);
    if (hideNext) {
      hideNext = false;
      if (!word.startsWith('-')) return mask;
    }
    const option = secretOption.exec(word);
    if (option) return `${option[1]}=${mask}`;
    const variable = /^([A-Za-z_][A-Za-z0-9_]*)=/.exec(word);
    if (variable && isSecretName(variable[1] ?? '')) return `${variable[1]}=${mask}`;
    hideNext =
      isSecretHeader(word) ||
      (/^--?[a-z]/i.test(word) && !word.includes('=') && isSecretName(word.replace(/^-+/, '').replaceAll('-', '_')));
    return maskAddresses(word);
  });
}

function maskLine(line: string): string {
  // Words are at even positions, separators at odd ones.
  const parts = line.split(/(\s+)/);
  const words = maskArguments(parts.filter((_, at) => at % 2 === 0));
  return parts.map((part, at) => (at % 2 === 0 ? words[at / 2] : part)).join('');
}

/** The number of leading words that are not arguments: the program, or the method of a health check. */
const argumentKeys = new Map(Object.entries({ Cmd: 0, Args: 0, Command: 0, Entrypoint: 1, Test: 1, CreateCommand: 1 }));

/** Shorter values are also ordinary words: masking each occurrence would hide text that is not a secret. */
const leastSecretLength = 6;

function secretValues(value: unknown, options: MaskOptions, key = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry) => {
      if (key !== 'Env' || typeof entry !== 'string') return secretValues(entry, options, key);
      const [name = '', ...rest] = entry.split('=');
      const secret = rest.join('=');
      return secret.length >= leastSecretLength && (options.secretFields.has(name) || isSecretName(name)) ? [secret] : [];
    });
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => secretValues(inner, options, name));
}

/** Masks environment values, labels and options named like a secret, passwords in URLs, and repetitions of such values. */
export function maskInspect(value: unknown, options: MaskOptions): unknown {
  // The longest secret first, because one may begin with another.
  const secrets = [...new Set(secretValues(value, options))].sort((one, other) => other.length - one.length);
  return maskPart(value, { ...options, secrets });
}

function maskPart(value: unknown, options: MaskOptions & { secrets: readonly string[] }, key = ''): unknown {
  if (Array.isArray(value)) {
    if (key === 'Env') return value.map((entry) => (typeof entry === 'string' ? maskVariable(entry, options) : maskPart(entry, options)));
    const shown = argumentKeys.get(key);
    if (shown === undefined) return value.map((entry) => maskPart(entry, options, key));
    const words = value.map((word) => maskPart(word, options));
    return options.everyVariable ? words.map((word, at) => (at < shown || typeof word !== 'string' ? word : mask)) : maskArguments(words);
  }
  if (typeof value === 'object' && value !== null) {
    const isSecret = (name: string) => options.secretFields.has(name) || (key !== '' && isSecretName(name));
    const masked = ([name, inner]: [string, unknown]) =>
      typeof inner === 'string' && inner !== '' && isSecret(name) ? mask : maskPart(inner, options, name);
    return Object.fromEntries(Object.entries(value).map((entry) => [entry[0], masked(entry)]));
  }
  if (typeof value !== 'string') return value;
  if (options.everyVariable && key === 'Output') return mask;
  return options.secrets.reduce((text, secret) => text.replaceAll(secret, mask), maskAddresses(value));
}
