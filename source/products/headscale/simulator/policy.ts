import { type ParseError, parse as parseHuJson, printParseErrorCode } from 'jsonc-parser';

interface Policy {
  groups?: Record<string, string[]>;
  hosts?: Record<string, string>;
  tagOwners?: Record<string, string[]>;
  acls?: { src?: string[]; dst?: string[] }[];
}

const topLevel = 'groups hosts tagOwners acls grants ssh autoApprovers nodeAttrs tests sshTests randomizeClientPort'.split(' ');

/** The first thing that is wrong with a policy, as the server words it: syntax, unknown members, names in rules that are not defined. */
export function checkPolicy(text: string): string | undefined {
  const errors: ParseError[] = [];
  const policy = parseHuJson(text, errors, { allowTrailingComma: true }) as Policy;
  const [first] = errors;
  if (first) return `parsing policy: parsing HuJSON: ${syntaxFault(text, first)}`;
  const unknown = Object.keys(policy).find((name) => !topLevel.includes(name));
  if (unknown !== undefined) return `parsing policy: unknown field: "${unknown}"`;
  const faults = [
    ...Object.values(policy.tagOwners ?? {}).flatMap((owners) => owners.flatMap((owner) => nameFault(owner, policy) ?? [])),
    ...(policy.acls ?? []).flatMap(({ src = [], dst = [] }) => [
      ...src.flatMap((name) => nameFault(name, policy, 'src=') ?? []),
      // With its ports behind the last colon.
      ...dst.flatMap((name) => nameFault(name.replace(/:[^:]*$/, ''), policy) ?? []),
    ]),
  ];
  if (faults.length === 0) return undefined;
  return `parsing policy: ${faults.length === 1 ? faults[0] : `multiple errors:\n\t${faults.join('\n\t')}`}`;
}

export function tagsIn(text: string): string[] {
  return Object.keys((parseHuJson(text, [], { allowTrailingComma: true }) as Policy | undefined)?.tagOwners ?? {});
}

function nameFault(name: string, { groups = {}, hosts = {}, tagOwners = {} }: Policy, before = ''): string | undefined {
  if (name.startsWith('group:')) return groups[name] ? undefined : `group not defined in policy: "${name}"`;
  if (name.startsWith('tag:')) return tagOwners[name] ? undefined : `${before}tag not found: "${name}"`;
  // Users, everything, groups of the server's own, addresses.
  if (/[@*]|^autogroup:|^[\d.:a-f]+(?:\/\d+)?$/.test(name) || hosts[name]) return undefined;
  return `host not defined in policy: "${name}"`;
}

/** The place as line and column, both from one, and what was found there. */
function syntaxFault(text: string, error: ParseError): string {
  const rest = text.slice(error.offset);
  const offset = rest.trim() === '' ? text.length : error.offset + (rest.length - rest.trimStart().length);
  const before = text.slice(0, offset).split('\n');
  const place = `hujson: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  if (rest.trim() === '') return `${place}: parsing value: unexpected EOF`;
  const found = `invalid character '${text[offset]}'`;
  const isMember = /Comma|CloseBrace/.test(printParseErrorCode(error.error));
  return `${place}: ${found} ${isMember ? "after object value (expecting ',' or '}')" : 'at start of value'}`;
}
