import { Refusal } from './answers.ts';

const known = new Set(['create', 'read', 'update', 'patch', 'delete', 'list', 'scan', 'sudo', 'deny', 'root']);

/** What the policy that everybody has allows: the token itself, and a cupboard of its own. */
export const defaultPolicy = `
# Allow tokens to look up their own properties
path "auth/token/lookup-self" {
    capabilities = ["read"]
}

# Allow tokens to renew themselves
path "auth/token/renew-self" {
    capabilities = ["update"]
}

# Allow tokens to revoke themselves
path "auth/token/revoke-self" {
    capabilities = ["update"]
}

# Allow a token to look up its own capabilities on a path
path "sys/capabilities-self" {
    capabilities = ["update"]
}

# Allow a token to make requests to its own cubbyhole
path "cubbyhole/*" {
    capabilities = ["create", "read", "update", "delete", "list"]
}
`;

export interface PathRule {
  path: string;
  capabilities: string[];
}

/** Reads the part of HCL that policies are written in. @throws Refusal in the server's words, with the place */
export function parsePolicy(text: string): PathRule[] {
  const rules: PathRule[] = [];
  const blank = /(?:\s+|#[^\n]*|\/\/[^\n]*)*/y;
  const head = /path\s+"([^"]*)"\s*\{([^}]*)\}/y;
  let at = 0;
  while (true) {
    blank.lastIndex = at;
    blank.test(text);
    at = blank.lastIndex;
    if (at >= text.length) return rules;
    head.lastIndex = at;
    const found = head.exec(text);
    if (!found) throw new Refusal(400, `failed to parse policy: At ${placeOf(text, at)}: illegal char`);
    rules.push({ path: found[1] ?? '', capabilities: capabilitiesOf(found[1] ?? '', found[2] ?? '') });
    at = head.lastIndex;
  }
}

function capabilitiesOf(path: string, body: string): string[] {
  const old = { deny: ['deny'], read: ['read', 'list'], write: ['create', 'read', 'update', 'delete', 'list'], sudo: ['sudo'] };
  const level = /\bpolicy\s*=\s*"(\w+)"/.exec(body)?.[1];
  if (level && level in old) return old[level as keyof typeof old];
  const list = /\bcapabilities\s*=\s*\[([^\]]*)\]/.exec(body)?.[1] ?? '';
  const capabilities = [...list.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '');
  const unknown = capabilities.find((capability) => !known.has(capability));
  if (unknown !== undefined) throw new Refusal(400, `failed to parse policy: path "${path}": invalid capability "${unknown}"`);
  return capabilities;
}

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n');
  return `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** What the rules allow on a path: the longest rule that fits decides, and `deny` in it wins. */
export function capabilitiesFor(rules: readonly PathRule[], path: string): string[] {
  const fitting = rules.filter((rule) => fits(rule.path, path));
  if (fitting.length === 0) return ['deny'];
  const exact = fitting.filter((rule) => !rule.path.endsWith('*') && !rule.path.includes('+'));
  const candidates = exact.length > 0 ? exact : fitting;
  const longest = Math.max(...candidates.map((rule) => rule.path.length));
  const capabilities = new Set(candidates.filter((rule) => rule.path.length === longest).flatMap((rule) => rule.capabilities));
  return capabilities.has('deny') || capabilities.size === 0 ? ['deny'] : [...capabilities].sort();
}

function fits(pattern: string, path: string): boolean {
  const prefix = pattern.endsWith('*');
  const wanted = (prefix ? pattern.slice(0, -1) : pattern).split('/');
  const given = path.split('/');
  if (prefix ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((part, index) => {
    const piece = given[index] ?? '';
    if (part === '+') return piece !== '';
    return prefix && index === wanted.length - 1 ? piece.startsWith(part) : piece === part;
  });
}
