import { oneError, Refusal } from './answers.ts';
import { type Ceremonies, rekeyWording, rotateWording } from './ceremonies.ts';
import type { Core } from './core.ts';
import { isOpenbaoFrom } from './dialect.ts';
import type { Mounts } from './mounts.ts';
import { parsePolicy } from './policies.ts';
import { type Handled, namesOf, type Request } from './route.ts';
import { takeSnapshot } from './snapshot.ts';
import type { Token, Tokens } from './tokens.ts';

interface Parts {
  core: Core;
  tokens: Tokens;
  mounts: Mounts;
  ceremonies: Ceremonies;
}

const done: Handled = { status: 204 };
const unsupportedPath = () => new Refusal(404, oneError('unsupported path'));
const unsupportedOperation = () => new Refusal(405, oneError('unsupported operation'));

/** `sys/...` behind the login. What is asked without one is answered before (`server.ts`). */
export async function answerSystem(parts: Parts, own: Token, request: Request): Promise<Handled> {
  const { core, tokens, mounts } = parts;
  const call = request.path.slice('sys/'.length).replace(/\/$/, '');
  const [first = '', ...rest] = call.split('/');
  switch (first) {
    case 'mounts':
    case 'auth': {
      const kind = first === 'auth' ? 'auth' : 'secret';
      if (rest.length === 0) return { data: mounts.shown(kind), spread: true };
      return answerMount(mounts, kind, rest.join('/'), request);
    }
    case 'policies':
      return rest[0] === 'acl' ? answerPolicy(parts, rest.slice(1).join('/'), request) : Promise.reject(unsupportedPath());
    case 'policy': {
      const names = tokens.policies();
      if (rest.length === 0) return { data: { keys: names, policies: names }, spread: true };
      return answerPolicy(parts, rest.join('/'), request);
    }
    case 'capabilities-self':
    case 'capabilities': {
      const asked = first === 'capabilities' ? tokens.find(String(request.body['token'] ?? '')) : own;
      if (!asked) throw new Refusal(400, 'invalid token');
      const paths = namesOf(request.body['paths'] ?? request.body['path']);
      const data = Object.fromEntries(paths.map((path) => [path, tokens.capabilities(asked, path)]));
      return { data, spread: true };
    }
    case 'key-status': {
      const { term, installed } = core.barrier.term;
      return { data: { encryptions: 1, install_time: installed, term }, spread: true };
    }
    case 'ha-status':
      return { data: { nodes: [node(core)] }, spread: true };
    case 'seal':
      if (request.kind !== 'write') throw unsupportedOperation();
      core.seal();
      return done;
    case 'audit':
      return answerAudit(core, rest.join('/'), request);
    case 'internal':
      return call.startsWith('internal/ui/mounts') ? uiMounts(mounts, rest.slice(2).join('/')) : Promise.reject(unsupportedPath());
    case 'storage':
      return answerStorage(core, call);
    case 'rotate':
      return answerRotate(parts, rest, request);
    case 'generate-root-token':
      if (!isOpenbaoFrom(core.dialect, 6)) throw unsupportedPath();
      return answerGeneration(parts.ceremonies, rest.join('/'), request);
    case 'namespaces':
      if (core.dialect.product === 'vault') throw unsupportedPath();
      if (request.kind === 'list') throw new Refusal(404);
      throw unsupportedOperation();
    case 'replication':
      throw new Refusal(404, 'unsupported path');
    default:
      throw unsupportedPath();
  }
}

/** What a policy has to allow for it, beyond the capability of the method. */
export function needsSudo(path: string): boolean {
  return /^(?:sys\/(?:seal|rotate|audit|auth\/|raw|generate-root-token|storage\/raft\/snapshot|step-down)|auth\/token\/accessors)/.test(
    path,
  );
}

function node(core: Core): Record<string, unknown> {
  return {
    hostname: 'openbao',
    api_address: 'http://openbao:8200',
    cluster_address: 'https://openbao:8201',
    active_node: true,
    last_echo: null,
    version: core.dialect.version,
    upgrade_version: core.dialect.version,
  };
}

function answerMount(mounts: Mounts, kind: 'secret' | 'auth', path: string, request: Request): Handled {
  if (path.endsWith('/tune')) {
    const found = mounts.find(kind, path.slice(0, -'/tune'.length));
    const wanted = (request.body['options'] as { version?: string } | undefined)?.version;
    if (found?.mount.options?.['version'] === '2' && wanted === '1') throw new Refusal(400, 'cannot downgrade mount from version 2');
    return request.kind === 'read' ? { data: { default_lease_ttl: 2_764_800, max_lease_ttl: 2_764_800 }, spread: true } : done;
  }
  if (request.kind === 'write') mounts.add(kind, path, request.body);
  else if (request.kind === 'delete') mounts.remove(kind, path);
  else {
    const found = mounts.find(kind, path);
    if (!found) throw new Refusal(400, `No secret engine mount at ${path}/`);
    return { data: mounts.describe(found.mount), spread: true };
  }
  return done;
}

function answerPolicy({ core, tokens }: Parts, name: string, request: Request): Handled {
  if (name === '') {
    if (request.kind !== 'list') throw unsupportedOperation();
    return { data: { keys: tokens.policies() } };
  }
  const stored = core.barrier.get<{ modified: string; version: number }>(`sys/policy/${name}`);
  if (request.kind === 'read') {
    const text = name === 'root' ? '' : tokens.policy(name);
    if (text === undefined) throw new Refusal(404);
    if (core.dialect.product === 'vault') return { data: { name, policy: text } };
    return {
      data: {
        allow_slashes_in_identity_templates: false,
        allow_wildcards_in_identity_templates: false,
        cas_required: false,
        modified: stored?.modified ?? core.activeSince,
        name,
        policy: text,
        version: stored?.version ?? 1,
      },
    };
  }
  if (request.kind === 'delete') {
    if (name === 'root') throw new Refusal(400, 'cannot delete "root" policy');
    if (name === 'default') throw new Refusal(400, 'cannot delete default policy');
    core.barrier.delete(`sys/policy/${name}`);
    return done;
  }
  const text = String(request.body['policy'] ?? request.body['rules'] ?? '');
  if (text === '') throw new Refusal(400, "'policy' parameter not supplied or empty");
  if (name === 'root') throw new Refusal(400, 'cannot update "root" policy');
  parsePolicy(text);
  core.barrier.put(`sys/policy/${name}`, { text, modified: core.time(), version: (stored?.version ?? 0) + 1 });
  return done;
}

function answerAudit(core: Core, path: string, request: Request): Handled {
  const devices = core.barrier.get<Record<string, unknown>>('core/audit') ?? {};
  if (path === '') return { data: devices };
  if (request.kind === 'delete') {
    const { [`${path}/`]: _, ...rest } = devices;
    core.barrier.put('core/audit', rest);
    return done;
  }
  if (isOpenbaoFrom(core.dialect, 5)) {
    throw new Refusal(400, 'cannot enable audit device via API; use declarative, config-based audit device management instead');
  }
  const { type = 'file', description = '', options = {} } = request.body;
  core.barrier.put('core/audit', { ...devices, [`${path}/`]: { type, description, options, local: false, path: `${path}/` } });
  return done;
}

function uiMounts(mounts: Mounts, path: string): Handled {
  if (path === '') return { data: { auth: mounts.shown('auth'), secret: mounts.shown('secret') } };
  const found = mounts.find('secret', path);
  if (!found) {
    const text = `preflight capability check returned 403, please ensure client's policies grant access to path "${path.replace(/\/?$/, '/')}"`;
    throw new Refusal(403, text);
  }
  return { data: { ...mounts.describe(found.mount), path: found.at, deprecation_status: 'supported' } };
}

async function answerStorage(core: Core, call: string): Promise<Handled> {
  if (call === 'storage/raft/snapshot') return { bytes: await takeSnapshot(core.barrier, core.time()) };
  if (call !== 'storage/raft/configuration') throw unsupportedPath();
  const server = { node_id: 'node-1', address: 'openbao:8201', leader: true, protocol_version: '3', voter: true };
  return { data: { config: { servers: [server], index: 0 } } };
}

/** `sys/rotate` turns the key of the storage; `sys/rotate/root/...` (OpenBao from 2.4) hands out new shares. */
async function answerRotate({ core, ceremonies }: Parts, rest: readonly string[], request: Request): Promise<Handled> {
  const [what = '', step = ''] = rest;
  if (what === '' || what === 'keyring' || (what === 'root' && step === '')) {
    if (request.kind !== 'write') throw unsupportedOperation();
    if (what !== 'root') core.barrier.rotateKeyring(core.time());
    core.log('INFO', `core: installed new encryption key`);
    return done;
  }
  if (!isOpenbaoFrom(core.dialect, 4)) throw unsupportedPath();
  if (what === 'recovery' && !core.opensItself) throw new Refusal(400, 'recovery keys are not supported by this seal');
  if (what !== 'root' && what !== 'recovery') throw unsupportedPath();
  return answerRotation(ceremonies, step, request);
}

async function answerRotation(ceremonies: Ceremonies, step: string, request: Request): Promise<Handled> {
  switch (step) {
    case 'init':
      if (request.kind === 'write') return { data: ceremonies.startRotation(request.body, rotateWording) };
      if (request.kind !== 'delete') return { data: ceremonies.rotationStatus() };
      ceremonies.cancelRotation();
      return done;
    case 'update':
      return { data: await ceremonies.updateRotation(request.body, rotateWording) };
    case 'verify':
      if (request.kind === 'write') return { data: await ceremonies.verify(request.body) };
      return { data: request.kind === 'delete' ? ceremonies.restartVerification() : ceremonies.verificationStatus() };
    default:
      throw unsupportedPath();
  }
}

async function answerGeneration(ceremonies: Ceremonies, step: string, request: Request): Promise<Handled> {
  if (step === 'update') return { data: await ceremonies.updateGeneration(request.body) };
  if (step !== 'attempt') throw unsupportedPath();
  if (request.kind === 'write') return { data: ceremonies.startGeneration(request.body) };
  if (request.kind !== 'delete') return { data: ceremonies.generationStatus() };
  ceremonies.cancelGeneration();
  return done;
}

/** The ceremonies of old, without login and without envelope. */
export async function answerOpenCeremony(ceremonies: Ceremonies, path: string, request: Request): Promise<Handled> {
  const step = path.replace(/^sys\//, '');
  if (step === 'rekey/update') return { data: await ceremonies.updateRotation(request.body, rekeyWording) };
  if (step.startsWith('generate-root/')) return answerGeneration(ceremonies, step.slice('generate-root/'.length), request);
  if (step === 'rekey/init' && request.kind === 'write') return { data: ceremonies.startRotation(request.body, rekeyWording) };
  return answerRotation(ceremonies, step.slice('rekey/'.length), request);
}
