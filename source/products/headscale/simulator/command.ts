import { parseArgs } from 'node:util';
import { apiKeysJson, keyJson, nodeJson, userJson } from './api.ts';
import { MeshFault, type MeshState } from './mesh-state.ts';

/** Runs the commands of `headscale` that the catalog and the flows use, in the container and without a key. */
export function runCommand(state: MeshState, argv: readonly string[]): { exitCode: number; stdout: string; stderr: string } {
  const flags = { output: 'o', identifier: 'i', expiration: 'e' };
  const options = Object.fromEntries(Object.entries(flags).map(([name, short]) => [name, { type: 'string' as const, short }]));
  const { values, positionals } = parseArgs({ args: [...argv.slice(1)], options, strict: false, allowPositionals: true });
  const isJson = values.output === 'json';
  try {
    const { text, value } = run(state, positionals, values);
    // Up to 0.29 it prints the Go structs of protobuf.
    const printed = isJson && value !== undefined ? JSON.stringify(state.minor >= 30 ? value : goStruct(value), undefined, '\t') : text;
    return { exitCode: 0, stdout: `${printed}\n`, stderr: '' };
  } catch (error) {
    if (!(error instanceof MeshFault)) throw error;
    return { exitCode: 1, stdout: '', stderr: isJson ? `${JSON.stringify({ error: error.message })}\n` : `Error: ${error.message}\n` };
  }
}

function run(
  state: MeshState,
  [group, verb, name = '']: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): { text: string; value?: unknown } {
  const listed = (value: object[]) => ({ text: value.map((one) => JSON.stringify(one)).join('\n'), value });
  switch (verb === undefined ? group : `${group} ${verb}`) {
    case 'users list':
      return listed(state.users.map((user) => userJson(state, user)));
    case 'users create':
      return { text: 'User created', value: userJson(state, state.createUser({ name })) };
    case 'preauthkeys list':
      return listed(state.preAuthKeys.map((key) => keyJson(state, key)));
    case 'nodes list':
      return listed(state.nodes.map((node) => nodeJson(state, node, true)));
    case 'nodes list-routes':
      return listed(state.nodes.filter((node) => node.availableRoutes.length > 0).map((node) => nodeJson(state, node, true)));
    case 'nodes expire':
      return { text: 'Node expired', value: nodeJson(state, state.expireNode(state.node(String(flags['identifier'])))) };
    case 'nodes delete': {
      const gone = state.node(String(flags['identifier']), 5);
      state.nodes = state.nodes.filter((node) => node !== gone);
      return { text: 'Node deleted', value: { Result: 'Node deleted' } };
    }
    case 'apikeys list':
      return listed(apiKeysJson(state));
    case 'apikeys create': {
      const key = state.createApiKey(state.time(durationMs(String(flags['expiration'] ?? '90d'))));
      return { text: key, value: key };
    }
    case 'policy get':
      if (!state.policy) throw new MeshFault(2, 'loading ACL from database: acl policy not found');
      return { text: state.policy.policy, value: state.policy.policy };
    case 'configtest':
      return { text: '' };
    case 'version':
      return { text: state.version.version, value: state.version };
    default:
      throw new MeshFault(2, `unknown command "${group}" for "headscale"`);
  }
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 };

function durationMs(text: string): number {
  const [, count = '', unit = ''] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined) throw new MeshFault(2, `parsing duration: not a valid duration string: "${text}"`);
  return Number(count) * unitMs;
}

const methods = ['REGISTER_METHOD_UNSPECIFIED', 'REGISTER_METHOD_AUTH_KEY', 'REGISTER_METHOD_CLI', 'REGISTER_METHOD_OIDC'];

/** Names in snake_case, ids as numbers, times as seconds and nanos; empty values are omitted. */
function goStruct(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : value.map((one) => goStruct(one));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => [
      key.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      goStruct(member, key),
    ]);
    return Object.fromEntries(members.filter(([, member]) => member !== null && member !== '' && member !== false && member !== 0));
  }
  if (typeof value !== 'string') return value;
  if (name === 'id') return Number(value);
  if (name === 'registerMethod') return methods.indexOf(value);
  return /^\d{4}-\d\d-\d\dT/.test(value) && name !== 'buildTime' ? { seconds: Math.floor(Date.parse(value) / 1000), nanos: 1 } : value;
}
