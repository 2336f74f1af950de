import { checkPolicy, settle } from './api-routes.ts';
import { durationMs, type Flag, FlagFault, type Given } from './flags.ts';
import { MeshFault } from './mesh-fault.ts';
import type { MeshState, Node, PreAuthKey } from './mesh-state.ts';
import type { VersionInfo } from './rest.ts';
import { green, red, table } from './table.ts';
import type { Told } from './told.ts';
import { type Instant, instantOf, msOf, noTime, type Style } from './wire.ts';

/** What a command made: for people as text, for programs as a value in whatever style they asked for. */
export interface Made {
  text: string;
  value?: (style: Style) => unknown;
  stderr?: string;
}

export interface Asked {
  state: MeshState;
  told: Told;
  given: Given;
  version: VersionInfo;
  /** True with --force, or when somebody on stdin says yes. */
  confirmed(question: string): boolean;
  readFile(path: string): string;
  /** Runs what the command would call over gRPC, and words its refusal as the command does. */
  call<Value>(doing: string, run: () => Value): Value;
}

export interface Command {
  /** Group and verb, with the other names for the verb. */
  names: string[];
  flags: Flag[];
  from?: number;
  until?: number;
  run(asked: Asked): Made;
}

const who: Flag[] = [
  { name: 'identifier', short: 'i', kind: 'number' },
  { name: 'name', short: 'n', kind: 'text' },
];
const which: Flag = { name: 'identifier', short: 'i', kind: 'number', required: true };
/** `2006-01-02 15:04:05` */
function dateOf(instant: Instant): string {
  return instant === noTime ? '0001-01-01 00:00:00' : new Date(msOf(instant)).toISOString().slice(0, 19).replace('T', ' ');
}

function coloured(instant: Instant): string {
  return msOf(instant) > Date.now() ? green(dateOf(instant)) : red(dateOf(instant));
}

/** An empty list is `null`: what Go has for a list that nobody made. */
function listed<Value>(values: readonly Value[], tell: (value: Value, style: Style) => unknown): (style: Style) => unknown {
  return (style) => (values.length === 0 && style === 'go' ? null : values.map((value) => tell(value, style)));
}

function oneUser({ state, given }: Asked): number {
  const [id, name] = [given.number('identifier'), given.text('name')];
  if (!given.has('identifier') && name === '') throw new FlagFault('--name or --identifier flag is required');
  const found = state.users.filter((user) => (name ? user.name === name : id ? user.id === id : true));
  if (found.length !== 1) throw new FlagFault('multiple users match query, specify an ID');
  return found[0]?.id ?? 0;
}

function expirationOf(given: Given, usual: string, state: MeshState): Instant {
  return instantOf(msOf(state.time()) + durationMs(given.has('expiration') ? given.text('expiration') : usual));
}

function toldNode(node: Node, { told }: Asked, text: string): Made {
  return { text, value: (style) => told.node(node, style) };
}

function nodeRow(node: Node): string[] {
  const short = (key: string) =>
    `[${Buffer.from(key.slice(key.indexOf(':') + 1), 'hex')
      .toString('base64')
      .slice(0, 5)}]`;
  const owner = node.tags.length > 0 ? 'tagged-devices' : (node.user?.name ?? '');
  const expired = node.expiry !== null && node.expiry !== noTime && msOf(node.expiry) < Date.now();
  return [
    String(node.id),
    node.name,
    node.givenName,
    short(node.machineKey),
    short(node.nodeKey),
    owner,
    node.tags.join('\n'),
    node.ipAddresses.join('\n'),
    String(node.preAuthKey?.ephemeral ?? false),
    dateOf(node.lastSeen),
    node.expiry === null ? 'N/A' : dateOf(node.expiry),
    node.online ? green('online') : red('offline'),
    expired ? red('yes') : green('no'),
  ];
}

const nodeHeader = 'ID,Hostname,Name,MachineKey,NodeKey,User,Tags,IP addresses,Ephemeral,Last seen,Expiration,Connected,Expired'.split(',');

function keyRow(key: PreAuthKey, told: Told): string[] {
  const owner = key.aclTags.length > 0 ? key.aclTags.join('\n') : (key.user?.name ?? '-');
  const shown = String(told.key(key)['key']);
  return [
    String(key.id),
    shown,
    ...[key.reusable, key.ephemeral, key.used].map(String),
    coloured(key.expiration),
    dateOf(key.createdAt),
    owner,
  ];
}

/** An api key by `--prefix`, from 0.28 on by `--id` too. */
function apiKeyOf({ state, given, call }: Asked, doing: string) {
  const [id, prefix] = [given.number('id'), given.text('prefix')];
  if (id === 0 && prefix === '') throw new FlagFault('either --id or --prefix must be provided: missing parameters');
  if (id !== 0 && prefix !== '') throw new FlagFault('only one of --id or --prefix can be provided: missing parameters');
  return call(doing, () => state.findApiKey({ id, prefix }));
}

const prefixFlags: Flag[] = [
  { name: 'prefix', short: 'p', kind: 'text' },
  { name: 'id', short: 'i', kind: 'number' },
];
const keyFlags: Flag[] = [
  { name: 'id', short: 'i', kind: 'number' },
  { name: 'user', short: 'u', kind: 'text' },
];
const nothing = () => ({});

/** One key by `--id`; up to 0.27 by the key itself, with `--user`. */
function preAuthKeyId({ state, given }: Asked): number {
  if (state.minor <= 27) return state.preAuthKeys.find((key) => key.key === given.words[0])?.id ?? 0;
  if (given.number('id') === 0) throw new FlagFault('missing --id parameter: missing parameters');
  return given.number('id');
}

/** What `headscale` can be told, in all versions. */
export const commands: readonly Command[] = [
  {
    names: ['users create', 'c', 'new'],
    flags: [
      { name: 'display-name', short: 'd', kind: 'text' },
      { name: 'email', short: 'e', kind: 'text' },
      { name: 'picture-url', short: 'p', kind: 'text' },
    ],
    run({ state, told, given, call }) {
      const [name] = given.words;
      if (name === undefined) throw new FlagFault('missing parameters');
      const wanted = { name, displayName: given.text('display-name'), email: given.text('email'), pictureUrl: given.text('picture-url') };
      const user = call('creating user', () => state.createUser(wanted));
      return { text: 'User created', value: (style) => told.user(user, style) };
    },
  },
  {
    names: ['users list', 'ls', 'show'],
    flags: [...who, { name: 'email', short: 'e', kind: 'text' }],
    run({ state, told, given }) {
      const [id, name, email] = [given.number('identifier'), given.text('name'), given.text('email')];
      const users = state.users.filter((user) => (id ? user.id === id : name ? user.name === name : email ? user.email === email : true));
      const rows = users.map((user) => [String(user.id), user.displayName, user.name, user.email, dateOf(user.createdAt)]);
      return {
        text: table(['ID', 'Name', 'Username', 'Email', 'Created'], rows),
        value: listed(users, (user, style) => told.user(user, style)),
      };
    },
  },
  {
    names: ['users destroy', 'delete'],
    flags: who,
    run(asked) {
      const { state, given, call, confirmed } = asked;
      const id = state.minor <= 23 ? call('', () => state.userByName(given.words[0] ?? '')).id : oneUser(asked);
      const user = state.userById(id);
      const question = `Do you want to remove the user "${user.name}" (${id}) and any associated preauthkeys?`;
      if (!confirmed(question)) return { text: 'User not destroyed', value: () => ({ Result: 'User not destroyed' }) };
      call('destroying user', () => state.deleteUser(id));
      return { text: 'User destroyed', value: nothing };
    },
  },
  {
    names: ['users rename', 'mv'],
    flags: [...who, { name: 'new-name', short: 'r', kind: 'text' }],
    run(asked) {
      const { state, told, given, call } = asked;
      const old = state.minor <= 23;
      if (!old && !given.has('new-name')) throw new FlagFault('required flag(s) "new-name" not set');
      const id = old ? call('', () => state.userByName(given.words[0] ?? '')).id : oneUser(asked);
      const user = call('renaming user', () => state.renameUser(id, old ? (given.words[1] ?? '') : given.text('new-name')));
      return { text: 'User renamed', value: (style) => told.user(user, style) };
    },
  },
  {
    names: ['nodes list', 'ls', 'show'],
    flags: [{ name: 'user', short: 'u', kind: 'text' }],
    run({ state, told, given, call }) {
      const name = given.text('user');
      const user = name === '' ? undefined : call('listing nodes', () => state.userByName(name));
      const nodes = state.nodes.filter((node) => !user || node.user === user);
      return { text: table(nodeHeader, nodes.map(nodeRow)), value: listed(nodes, (node, style) => told.node(node, style, true)) };
    },
  },
  {
    names: ['nodes list-routes', 'lsr', 'routes'],
    from: 26,
    flags: [{ name: 'identifier', short: 'i', kind: 'number' }],
    run({ state, told, given }) {
      const id = given.number('identifier');
      const nodes = state.nodes.filter(
        (node) => (id === 0 || node.id === id) && node.approvedRoutes.length + node.availableRoutes.length > 0,
      );
      const rows = nodes.map((node) => [
        String(node.id),
        node.givenName,
        ...[node.approvedRoutes, node.availableRoutes, state.routesOf(node)].map((routes) => routes.join('\n')),
      ]);
      const header = ['ID', 'Hostname', 'Approved', 'Available', 'Serving (Primary)'];
      return { text: table(header, rows), value: listed(nodes, (node, style) => told.node(node, style, true)) };
    },
  },
  {
    names: ['nodes approve-routes'],
    from: 26,
    flags: [which, { name: 'routes', short: 'r', kind: 'list' }],
    run(asked) {
      const { state, given, call } = asked;
      return toldNode(
        call('setting approved routes', () => state.approveRoutes(given.number('identifier'), given.list('routes'))),
        asked,
        'Node updated',
      );
    },
  },
  {
    names: ['nodes tag', 'tags', 't'],
    flags: [which, { name: 'tags', short: 't', kind: 'list' }],
    run(asked) {
      const { state, given, call } = asked;
      return toldNode(
        call('setting tags', () => state.setTags(given.number('identifier'), given.list('tags'))),
        asked,
        'Node updated',
      );
    },
  },
  {
    names: ['nodes expire', 'logout', 'exp', 'e'],
    flags: [which, { name: 'expiry', short: 'e', kind: 'text' }, { name: 'disable', short: 'd', kind: 'bool' }],
    run(asked) {
      const { state, given, call } = asked;
      const id = given.number('identifier');
      if (given.bool('disable')) {
        return toldNode(
          call('disabling node expiry', () => state.expireNode(id, { disable: true })),
          asked,
          'Node expiry disabled',
        );
      }
      const text = given.text('expiry');
      const ms = Date.parse(text);
      if (text !== '' && (Number.isNaN(ms) || !/T.*(?:Z|[+-]\d\d:\d\d)$/.test(text))) {
        throw new FlagFault(`parsing expiry time: parsing time "${text}" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"`);
      }
      const expiry = text === '' ? state.time() : BigInt(ms) * 1_000_000n;
      const node = call('expiring node', () => state.expireNode(id, { disable: false, expiry }));
      return toldNode(node, asked, expiry > state.time() ? 'Node expiration updated' : 'Node expired');
    },
  },
  {
    names: ['nodes rename'],
    flags: [which],
    run(asked) {
      const { state, given, call } = asked;
      return toldNode(
        call('renaming node', () => state.renameNode(given.number('identifier'), given.words[0] ?? '')),
        asked,
        'Node renamed',
      );
    },
  },
  {
    names: ['nodes delete', 'del'],
    flags: [which],
    run({ state, given, call, confirmed }) {
      const id = given.number('identifier');
      const node = state.node(id);
      if (!node) return call('getting node', notFound);
      const kept = !confirmed(`Do you want to remove the node ${node.name}?`);
      if (!kept) state.deleteNode(id);
      const text = kept ? 'Node not deleted' : 'Node deleted';
      return { text, value: () => ({ Result: text }) };
    },
  },
  {
    names: ['nodes register'],
    flags: [
      { name: 'user', short: 'u', kind: 'text', required: true },
      { name: 'key', short: 'k', kind: 'text', required: true },
    ],
    run(asked) {
      const { state, given, call } = asked;
      const node = call('registering node', () => state.register(given.text('key'), given.text('user')));
      const made = toldNode(node, asked, `Node ${node.givenName} registered`);
      const old = `Command "register" is deprecated, use 'headscale auth register --auth-id <id> --user <user>' instead\n`;
      return state.minor >= 29 ? { ...made, stderr: old } : made;
    },
  },
  {
    names: ['auth register'],
    from: 29,
    flags: [
      { name: 'user', short: 'u', kind: 'text', required: true },
      { name: 'auth-id', kind: 'text', required: true },
    ],
    run(asked) {
      const { state, given, call } = asked;
      const node = call('registering node', () => state.register(given.text('auth-id'), given.text('user')));
      return toldNode(node, asked, `Node ${node.givenName} registered`);
    },
  },
  ...(['approve', 'reject'] as const).map(
    (verb): Command => ({
      names: [`auth ${verb}`],
      from: 29,
      flags: [{ name: 'auth-id', kind: 'text', required: true }],
      run({ state, given, call }) {
        call(verb === 'approve' ? 'approving auth request' : 'rejecting auth request', () => settle(state, given.text('auth-id')));
        return { text: `Auth request ${verb === 'approve' ? 'approved' : 'rejected'}`, value: nothing };
      },
    }),
  ),
  {
    names: ['preauthkeys create', 'c', 'new'],
    flags: [
      { name: 'user', short: 'u', kind: 'number', from: 26 },
      { name: 'user', short: 'u', kind: 'text', until: 25 },
      { name: 'reusable', kind: 'bool' },
      { name: 'ephemeral', kind: 'bool' },
      { name: 'expiration', short: 'e', kind: 'text' },
      { name: 'tags', kind: 'list' },
    ],
    run({ state, told, given, call }) {
      const text = given.text('user');
      const expiration = expirationOf(given, '1h', state);
      const user = () => (state.minor >= 26 ? Number(text || 0) : state.userByName(text).id);
      const [reusable, ephemeral, aclTags] = [given.bool('reusable'), given.bool('ephemeral'), given.list('tags')];
      const key = call('creating preauthkey', () => state.createPreAuthKey({ user: user(), reusable, ephemeral, aclTags, expiration }));
      return { text: key.key, value: (style) => told.key(key, style, true) };
    },
  },
  {
    names: ['preauthkeys list', 'ls', 'show'],
    flags: [{ name: 'user', short: 'u', kind: 'text', required: true, until: 27 }],
    run({ state, told, given, call }) {
      const name = given.text('user');
      const user =
        state.minor >= 28 ? undefined : call('', () => (state.minor >= 26 ? state.userById(Number(name)) : state.userByName(name)));
      const keys = state.preAuthKeys.filter((key) => !user || key.user === user);
      const header = ['ID', 'Key/Prefix', 'Reusable', 'Ephemeral', 'Used', 'Expiration', 'Created', 'Owner'];
      const rows = keys.map((key) => keyRow(key, told));
      return { text: table(header, rows), value: listed(keys, (key, style) => told.key(key, style)) };
    },
  },
  {
    names: ['preauthkeys expire', 'revoke', 'exp', 'e'],
    flags: keyFlags,
    run(asked) {
      const id = preAuthKeyId(asked);
      asked.call('expiring preauthkey', () => asked.state.expirePreAuthKey(id));
      return { text: 'Key expired', value: nothing };
    },
  },
  {
    names: ['preauthkeys delete', 'del', 'rm', 'd'],
    from: 28,
    flags: keyFlags,
    run(asked) {
      asked.state.deletePreAuthKey(preAuthKeyId(asked));
      return { text: 'Key deleted', value: nothing };
    },
  },
  {
    names: ['apikeys create', 'c', 'new'],
    flags: [{ name: 'expiration', short: 'e', kind: 'text' }],
    run({ state, given }) {
      const key = state.createApiKey(expirationOf(given, '90d', state));
      return { text: key, value: () => key };
    },
  },
  {
    names: ['apikeys list', 'ls', 'show'],
    flags: [],
    run({ state, told }) {
      const shown = told.apiKeys();
      const rows = state.apiKeys.map((key, at) => [
        String(key.id),
        String(shown[at]?.['prefix']),
        coloured(key.expiration),
        dateOf(key.createdAt),
      ]);
      return {
        text: table(['ID', 'Prefix', 'Expiration', 'Created'], rows),
        value: (style) => (style === 'go' && rows.length === 0 ? null : told.apiKeys(style)),
      };
    },
  },
  {
    names: ['apikeys expire', 'revoke', 'exp', 'e'],
    flags: prefixFlags,
    run(asked) {
      apiKeyOf(asked, 'expiring api key').expiration = asked.state.time();
      return { text: 'Key expired', value: nothing };
    },
  },
  {
    names: ['apikeys delete', 'remove', 'del'],
    flags: prefixFlags,
    run(asked) {
      const key = apiKeyOf(asked, 'deleting api key');
      asked.state.apiKeys = asked.state.apiKeys.filter((other) => other !== key);
      return { text: 'Key deleted', value: nothing };
    },
  },
  {
    names: ['policy get', 'show', 'view', 'fetch'],
    flags: [],
    run: ({ state, call }) => ({ text: call('loading ACL policy', () => state.getPolicy()).policy }),
  },
  {
    names: ['policy set', 'put', 'update'],
    flags: [{ name: 'file', short: 'f', kind: 'text', required: true }],
    run({ state, given, readFile, call }) {
      const text = readFile(given.text('file'));
      call('setting ACL policy', () => state.setPolicy(text));
      return { text: 'Policy updated.' };
    },
  },
  {
    names: ['policy check'],
    from: 26,
    flags: [{ name: 'file', short: 'f', kind: 'text', required: true }],
    run({ state, given, readFile, call }) {
      const text = readFile(given.text('file'));
      call('', () => checkPolicy(state, text));
      return { text: 'Policy is valid' };
    },
  },
  { names: ['health'], from: 27, flags: [], run: () => ({ text: '', value: () => ({ database_connectivity: true }) }) },
  {
    names: ['version'],
    flags: [],
    run({ version }) {
      const { commit, buildTime, go } = version;
      const text = `headscale version ${version.version}\ncommit: ${commit}\nbuild time: ${buildTime}\nbuilt with: ${go.version} ${go.os}/${go.arch}\n`;
      return { text, value: () => version };
    },
  },
  { names: ['configtest'], flags: [], run: () => ({ text: '' }) },
];

function notFound(): never {
  throw new MeshFault(5, 'node not found');
}
