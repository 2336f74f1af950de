import { parseArgs } from 'node:util';
import { type ExecAnswer, failed, said } from '../../../practice/answers.ts';
import { apiKeysJson, keyJson, nodeJson, userJson } from './api.ts';
import { MeshFault, type MeshState } from './mesh-state.ts';

/** Runs the commands of `headscale` that the catalog and the flows use, in the container and without a key. */
export function runCommand(state: MeshState, argv: readonly string[]): ExecAnswer {
  const flags = { output: 'o', identifier: 'i', expiration: 'e' };
  const options = Object.fromEntries(Object.entries(flags).map(([name, short]) => [name, { type: 'string' as const, short }]));
  const { values, positionals } = parseArgs({ args: [...argv.slice(1)], options, strict: false, allowPositionals: true });
  const isJson = values.output === 'json';
  try {
    const [group = '', verb, name = ''] = positionals;
    const command = commands[verb === undefined ? group : `${group} ${verb}`];
    if (!command) throw new MeshFault(2, `unknown command "${group}" for "headscale"`);
    const { text, value } = command(state, name, values);
    // Up to 0.29 it prints the Go structs of protobuf.
    const printed = isJson && value !== undefined ? JSON.stringify(state.minor >= 30 ? value : goStruct(value), undefined, '\t') : text;
    return said(`${printed}\n`);
  } catch (error) {
    if (!(error instanceof MeshFault)) throw error;
    return failed(1, isJson ? `${JSON.stringify({ error: error.message })}\n` : `Error: ${error.message}\n`);
  }
}

type Printed = { text: string; value?: unknown };

const listed = (value: object[]): Printed => ({ text: value.map((one) => JSON.stringify(one)).join('\n'), value });
const listNodes = (state: MeshState, nodes = state.nodes) => listed(nodes.map((node) => nodeJson(state, node, true)));

const commands: Readonly<Record<string, (state: MeshState, name: string, flags: Readonly<Record<string, unknown>>) => Printed>> = {
  'users list': (state) => listed(state.users.map((user) => userJson(state, user))),
  'users create': (state, name) => ({ text: 'User created', value: userJson(state, state.createUser({ name })) }),
  'preauthkeys list': (state) => listed(state.preAuthKeys.map((key) => keyJson(state, key))),
  'nodes list': (state) => listNodes(state),
  'nodes list-routes': (state) =>
    listNodes(
      state,
      state.nodes.filter(({ availableRoutes }) => availableRoutes.length > 0),
    ),
  'nodes expire': (state, _, { identifier }) => ({
    text: 'Node expired',
    value: nodeJson(state, state.expireNode(state.node(String(identifier)))),
  }),
  'nodes delete': (state, _, { identifier }) => {
    state.deleteNode(String(identifier));
    return { text: 'Node deleted', value: { Result: 'Node deleted' } };
  },
  'apikeys list': (state) => listed(apiKeysJson(state)),
  'apikeys create': (state, _, { expiration = '90d' }) => {
    const key = state.createApiKey(state.time(durationMs(String(expiration))));
    return { text: key, value: key };
  },
  'policy get': (state) => {
    const { policy } = state.currentPolicy();
    return { text: policy, value: policy };
  },
  configtest: () => ({ text: '' }),
  version: ({ version }) => ({ text: version.version, value: version }),
};

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
