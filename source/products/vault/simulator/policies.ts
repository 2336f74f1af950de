import { done, type Handled, listed, Refusal, type Request } from './answers.ts';
import type { Core } from './core.ts';

const known = new Set(['create', 'read', 'update', 'patch', 'delete', 'list', 'scan', 'sudo', 'deny', 'root']);

const defaultPolicy = `# Allow tokens to look up and revoke themselves, and to look up their own capabilities
path "auth/token/lookup-self" {
    capabilities = ["read"]
}
path "auth/token/revoke-self" {
    capabilities = ["update"]
}
path "sys/capabilities-self" {
    capabilities = ["update"]
}
`;

export function policyOf({ storage }: Core, name: string): string | undefined {
  return storage.state.policies[name] ?? { root: '', default: defaultPolicy }[name];
}

type PathRule = { path: string; capabilities: string[] };

/** Parses the part of HCL that policies use. Throws in the server's words, with the position. */
function parsePolicy(text: string): PathRule[] {
  const rules: PathRule[] = [];
  const code = text.replace(/(?:#|\/\/)[^\n]*/g, (comment) => ' '.repeat(comment.length)).trimEnd();
  const block = /\s*path\s+"([^"]*)"\s*\{([^}]*)\}\s*/y;
  for (let at = 0; at < code.length; at = block.lastIndex) {
    const [, path, content = ''] = block.exec(code) ?? [];
    if (path === undefined) {
      const before = code.slice(0, at).split('\n');
      throw new Refusal(400, `failed to parse policy: At ${before.length}:${(before.at(-1)?.length ?? 0) + 1}: illegal char`);
    }
    const list = /\bcapabilities\s*=\s*\[([^\]]*)\]/.exec(content)?.[1] ?? '';
    const capabilities = [...list.matchAll(/"([^"]*)"/g)].map(([, capability = '']) => capability);
    const unknown = capabilities.find((capability) => !known.has(capability));
    if (unknown !== undefined) throw new Refusal(400, `failed to parse policy: path "${path}": invalid capability "${unknown}"`);
    rules.push({ path, capabilities });
  }
  return rules;
}

/** Returns what policies allow on a path: the exact rule decides, otherwise the longest one that matches, and `deny` in it wins. */
export function capabilitiesFor(policies: readonly string[], path: string): string[] {
  const matching = policies.flatMap(parsePolicy).filter((rule) => isMatch(rule.path, path));
  const longest = Math.max(...matching.map((rule) => rule.path.length));
  const exact = matching.filter((rule) => rule.path === path);
  const deciding = exact.length > 0 ? exact : matching.filter((rule) => rule.path.length === longest);
  const capabilities = new Set(deciding.flatMap((rule) => rule.capabilities));
  return capabilities.size === 0 || capabilities.has('deny') ? ['deny'] : [...capabilities].sort();
}

/** `*` at the end matches anything, `+` one part of the path. */
function isMatch(pattern: string, path: string): boolean {
  const parts = pattern.replace(/\*$/, '').split('/');
  const source = parts.map((part) => (part === '+' ? '[^/]+' : part.replace(/\W/g, '\\$&'))).join('/');
  return new RegExp(`^${source}${pattern.endsWith('*') ? '' : '$'}`).test(path);
}

export function answerPolicies(core: Core, name: string, { kind, body }: Request): Handled {
  const { policies } = core.storage.state;
  if (kind === 'list') return listed([...new Set(['default', 'root', ...Object.keys(policies)])].sort());
  if (kind === 'read') {
    const policy = policyOf(core, name);
    if (policy === undefined) throw new Refusal(404);
    return { data: { name, policy } };
  }
  if (kind === 'delete') {
    if (name === 'root' || name === 'default') throw new Refusal(400, `cannot delete ${name === 'root' ? '"root"' : name} policy`);
    delete policies[name];
    return done;
  }
  const policy = String(body['policy'] ?? '');
  if (policy === '') throw new Refusal(400, "'policy' parameter not supplied or empty");
  if (name === 'root') throw new Refusal(400, 'cannot update "root" policy');
  parsePolicy(policy);
  policies[name] = policy;
  return done;
}
