import { type ParseError, parse as parseHuJson, printParseErrorCode } from 'jsonc-parser';
import { MeshFault } from './mesh-fault.ts';
import { invalid, jsonTypeOf, unfit } from './policy-faults.ts';
import {
  checkAcls,
  checkAutoApprovers,
  checkGrants,
  checkGroups,
  checkHosts,
  checkNodeAttrs,
  checkSsh,
  checkTagOwners,
} from './policy-rules.ts';
import { failedTests } from './policy-tests.ts';

export interface Policy {
  groups: Map<string, string[]>;
  hosts: Map<string, string>;
  tagOwners: Map<string, string[]>;
  /** None: everybody reaches everything. An empty list: nobody does. */
  rules: { src: string[]; dst: { alias: string; ports: [number, number][] }[] }[] | undefined;
  tests: { src: string; accept: string[]; deny: string[] }[];
}

export interface PolicyWorld {
  users: readonly { name: string; email: string }[];
  nodes: readonly { user: { name: string } | null; tags: readonly string[]; ipAddresses: readonly string[] }[];
}

export type Raw = Record<string, unknown>;

const topLevel = 'groups hosts tagOwners acls grants ssh autoApprovers nodeAttrs tests sshTests randomizeClientPort'.split(' ');
const members: Record<string, string[]> = {
  acls: ['action', 'proto', 'src', 'dst', '#ha-meta'],
  grants: ['src', 'dst', 'ip', 'app', 'via'],
  ssh: ['action', 'src', 'dst', 'users', 'checkPeriod', 'acceptEnv'],
  nodeAttrs: ['target', 'attr', 'ipPool', 'app'],
  tests: ['src', 'accept', 'deny', 'proto'],
  sshTests: ['src', 'dst', 'accept', 'deny', 'check'],
};
const typeNames: Record<string, string> = {
  acls: 'ACL',
  grants: 'Grant',
  ssh: 'SSH',
  nodeAttrs: 'NodeAttrGrant',
  tests: 'PolicyTest',
  sshTests: 'SSHPolicyTest',
};

/** Reads a policy and checks everything that needs no users and no nodes. @throws MeshFault in the server's words, with the place */
export function parsePolicy(text: string): Policy {
  const empty: Policy = { groups: new Map(), hosts: new Map(), tagOwners: new Map(), rules: undefined, tests: [] };
  if (text.trim() === '') return empty;
  const raw = readHuJson(text);
  checkShape(raw);
  const groups = checkGroups(raw['groups']);
  const hosts = checkHosts(raw['hosts']);
  const tagOwners = checkTagOwners(raw['tagOwners']);
  const defined = { groups, hosts, tagOwners };
  const faults: string[] = [];
  const acls = checkAcls(raw['acls'] as Raw[] | undefined, defined, faults);
  const grants = checkGrants(raw['grants'] as Raw[] | undefined, defined, faults);
  checkSsh(raw['ssh'] as Raw[] | undefined, defined, faults);
  for (const owner of [...tagOwners.values()].flat()) {
    if (owner.startsWith('group:') && !groups.has(owner)) faults.push(`group not defined in policy: "${owner}"`);
    if (owner.startsWith('tag:') && !tagOwners.has(owner)) faults.push(`tag not found: "${owner}"`);
  }
  checkAutoApprovers(raw['autoApprovers'] as Raw | undefined, defined, faults);
  checkNodeAttrs(raw['nodeAttrs'] as Raw[] | undefined, faults);
  if (faults.length > 0) throw invalid(faults.length === 1 ? (faults[0] ?? '') : `multiple errors:\n\t${faults.join('\n\t')}`);
  const rules = raw['acls'] === undefined && raw['grants'] === undefined ? undefined : [...acls, ...grants];
  const tests = ((raw['tests'] as Raw[] | undefined) ?? []).map((test) => ({
    src: String(test['src'] ?? ''),
    accept: (test['accept'] as string[] | undefined) ?? [],
    deny: (test['deny'] as string[] | undefined) ?? [],
  }));
  return { groups, hosts, tagOwners, rules, tests };
}

/** @throws MeshFault with one line per test that fails */
export function runPolicyTests(policy: Policy, world: PolicyWorld): void {
  const failed = failedTests(policy, world);
  if (failed.length > 0) throw new MeshFault(2, `test(s) failed:\n${failed.join('\n')}`);
}

function readHuJson(text: string): Raw {
  const errors: ParseError[] = [];
  const value = parseHuJson(text, errors, { allowTrailingComma: true }) as unknown;
  const [first] = errors;
  if (first) throw invalid(`parsing HuJSON: ${syntaxFault(text, first)}`);
  if (jsonTypeOf(value) !== 'object') throw unfit(jsonTypeOf(value), 'v2.Policy', '');
  return value as Raw;
}

/** The place as line and column in bytes, both from one, and what was found there. */
function syntaxFault(text: string, error: ParseError): string {
  const rest = text.slice(error.offset);
  const ended = rest.trim() === '';
  const offset = ended ? text.length : error.offset + (rest.length - rest.trimStart().length);
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = Buffer.byteLength(before.slice(before.lastIndexOf('\n') + 1)) + 1;
  const found = `invalid character '${text[offset]}'`;
  const words: Record<string, string> = {
    CommaExpected: `${found} after object value (expecting ',' or '}')`,
    CloseBraceExpected: `${found} after object value (expecting ',' or '}')`,
    CloseBracketExpected: `${found} after array value (expecting ',' or ']')`,
    ColonExpected: `${found} after object name (expecting ':')`,
    PropertyNameExpected: `${found} at start of object name`,
    EndOfFileExpected: `${found} after top-level value`,
    ValueExpected: `${found} at start of value`,
    InvalidSymbol: `invalid literal: ${/^\w+/.exec(text.slice(offset))?.[0] ?? ''}`,
  };
  const what = ended ? 'parsing value: unexpected EOF' : (words[printParseErrorCode(error.error)] ?? `${found} at start of value`);
  return `hujson: line ${line}, column ${column}: ${what}`;
}

function checkShape(raw: Raw): void {
  const unknown = Object.keys(raw).find((name) => !topLevel.includes(name)) ?? strangeMember(raw);
  if (unknown !== undefined) throw invalid(`unknown field: "${unknown}"`);
  for (const [name, type] of Object.entries(typeNames)) {
    const list = raw[name];
    if (list !== undefined && !Array.isArray(list)) throw unfit(jsonTypeOf(list), `[]v2.${type}`, `/${name}`);
    for (const [index, entry] of ((list as unknown[] | undefined) ?? []).entries()) {
      if (jsonTypeOf(entry) !== 'object') throw unfit(jsonTypeOf(entry), `v2.${type}`, `/${name}/${index}`);
    }
  }
}

function strangeMember(raw: Raw): string | undefined {
  for (const [name, known] of Object.entries(members)) {
    const list = raw[name];
    for (const entry of Array.isArray(list) ? (list as unknown[]) : []) {
      const strange = Object.keys((entry ?? {}) as Raw).find((member) => !known.includes(member) && !member.startsWith('#'));
      if (strange !== undefined) return strange;
    }
  }
  return undefined;
}
