import { posix } from 'node:path';
import { Fault } from '../../../faults/fault.ts';
import type { Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, listOf, objectOf, objectsOf } from '../../../text/json-value.ts';
import { nameRemedy } from '../../../text/nearest-name.ts';
import { parseYamlDocument } from '../../../yaml/text.ts';

/** The merged files: the first file that defines an entry takes precedence, as with kubectl. */
export type Kubeconfig = ReturnType<typeof join>;

/** A part of a file. Paths in it are relative to the folder of the file. */
interface Entry {
  file: string;
  value: JsonObject;
}

/** A program that returns credentials (`users[].user.exec`). */
export interface ExecPlugin {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  apiVersion: string;
  installHint: string;
}

/** The connection to a cluster and its credentials. Certificates and keys are PEM. */
export interface ClusterLogin extends Partial<Record<'ca' | 'serverName' | 'cert' | 'key' | 'token', string>> {
  context: string;
  user: string;
  host: string;
  port: number;
  tls: boolean;
  /** Path before `/api`, usually empty. */
  basePath: string;
  unchecked?: boolean;
  exec?: ExecPlugin;
}

const sizeLimitBytes = 4 * 1024 * 1024;

/** Administrator's kubeconfig of distributions, for users without their own. */
const systemFiles = ['/etc/kubernetes/admin.conf', '/etc/rancher/k3s/k3s.yaml', '/etc/rancher/rke2/rke2.yaml'];

/**
 * Reads the kubeconfig of a machine: `named`, else the files in its `KUBECONFIG`, else `~/.kube/config`, else that of kubeadm, k3s or RKE2.
 * Throws `usage.kubeconfig` if there is none, `config.kubeconfig` if it is invalid.
 */
export async function readKubeconfig(host: Host, named: string | undefined, signal: AbortSignal): Promise<Kubeconfig> {
  const { home, env } = await host.facts(signal);
  const absolute = (path: string) => (path.startsWith('~/') ? posix.join(home, path.slice(2)) : posix.resolve(home, path));
  const listed = named !== undefined ? [named] : (env['KUBECONFIG'] ?? '').split(':').filter(Boolean);
  const wanted = listed.length > 0 ? listed.map(absolute) : [posix.join(home, '.kube', 'config'), ...systemFiles];
  const found: Entry[] = [];
  const closed: string[] = [];
  for (const file of wanted) {
    const bytes = await host.files.read(file, { signal, limitBytes: sizeLimitBytes }).catch((thrown: unknown) => {
      signal.throwIfAborted();
      if (listed.length > 0) throw thrown;
      closed.push(file);
      return undefined;
    });
    if (!bytes) continue;
    found.push({ file, value: parsed(file, Buffer.from(bytes).toString('utf8')) });
    // Only the first of the system's files is used; they are not merged.
    if (listed.length === 0) break;
  }
  if (found.length > 0) return join(found);
  const where = host.kind === 'ssh' ? ` on ${cleanLine(host.name)}` : '';
  const shut = closed.length > 0 ? ` ${closed.map(cleanLine).join(' and ')} is there, and may not be read.` : '';
  throw new Fault(
    'usage.kubeconfig',
    `There is no kubeconfig${where}: looked for ${wanted.map(cleanLine).join(', ')}.${shut}`,
    'Name one with --kubeconfig FILE, or set KUBECONFIG.',
  );
}

function parsed(file: string, text: string): JsonObject {
  const document = parseYamlDocument(text);
  const [error] = document.errors;
  if (error) {
    const line = error.linePos?.[0].line;
    throw broken(file, `it is no YAML: ${(error.message.split('\n', 1)[0] ?? '').replace(/[.:]$/, '')}`, line);
  }
  const value = objectOf(document.toJS());
  if (!value || (value['kind'] ?? 'Config') !== 'Config') throw broken(file, 'it is no kubeconfig');
  return value;
}

function broken(file: string, why: string, line?: number): Fault {
  return new Fault(
    'config.kubeconfig',
    `The kubeconfig ${cleanLine(file)} cannot be used: ${cleanLine(why)}.`,
    'Repair it, or name another one with --kubeconfig FILE.',
    { where: { file, line } },
  );
}

const textIn = (value: JsonObject, key: string): string | undefined => {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : undefined;
};

function join(found: readonly Entry[]) {
  const gather = (list: string, inner: string): ReadonlyMap<string, Entry> => {
    const all = new Map<string, Entry>();
    for (const { file, value } of found)
      for (const entry of objectsOf(value[list])) {
        const name = textIn(entry, 'name');
        if (name !== undefined && !all.has(name)) all.set(name, { file, value: objectOf(entry[inner]) ?? {} });
      }
    return all;
  };
  const [clusters, users, entries] = [gather('clusters', 'cluster'), gather('users', 'user'), gather('contexts', 'context')];
  const current = found.map(({ value }) => textIn(value, 'current-context')).find(Boolean);
  const contexts = [...entries].map(([name, { value }]) => {
    const cluster = clusters.get(textIn(value, 'cluster') ?? '');
    return {
      name,
      /** Address of its cluster; empty if the files do not define the cluster. */
      server: (cluster && textIn(cluster.value, 'server')) ?? '',
      user: textIn(value, 'user') ?? '',
      current: name === current,
    };
  });
  return { files: found.map(({ file }) => file), contexts, parts: { clusters, users, contexts: entries } };
}

/** Returns the login of a context. Files that it names are read. Throws `usage.context` and `config.kubeconfig`. */
export async function loginOf(host: Host, config: Kubeconfig, name: string, signal: AbortSignal): Promise<ClusterLogin> {
  const { contexts, clusters, users } = config.parts;
  const context = contexts.get(name);
  if (!context) {
    throw new Fault(
      'usage.context',
      `There is no context "${cleanLine(name)}" in ${config.files.map(cleanLine).join(', ')}.`,
      nameRemedy(name, new Set(contexts.keys()), 'The file has none.'),
    );
  }
  const clusterName = textIn(context.value, 'cluster') ?? '';
  const userName = textIn(context.value, 'user') ?? '';
  const cluster = clusters.get(clusterName);
  if (!cluster) throw broken(context.file, `context "${name}" names the cluster "${clusterName}", which is not in it`);
  const user = users.get(userName);
  if (!user && userName !== '') throw broken(context.file, `context "${name}" names the user "${userName}", who is not in it`);
  const read = (entry: Entry, key: string) => pemOrFile(host, entry, key, signal);
  const [ca, cert, key] = await Promise.all([
    read(cluster, 'certificate-authority'),
    user && read(user, 'client-certificate'),
    user && read(user, 'client-key'),
  ]);
  if ((cert === undefined) !== (key === undefined))
    throw broken(user?.file ?? context.file, `the user "${userName}" has a certificate or a key, and needs both`);
  const token = user && (textIn(user.value, 'token') ?? (await fileOf(host, user, 'tokenFile', signal))?.trim());
  return {
    context: name,
    user: userName,
    ...addressOf(cluster, name),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
    ...(token !== undefined && { token }),
    ...(user && cert === undefined && token === undefined && pluginOf(user, userName)),
  };
}

function addressOf({ file, value }: Entry, context: string) {
  const server = textIn(value, 'server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw broken(file, `the cluster of context "${context}" has no address ("${server}")`);
  if (textIn(value, 'proxy-url') !== undefined) {
    const why = 'is reached through a proxy (proxy-url), which is not done from here: run this on a host that reaches it, with --host';
    throw broken(file, `the cluster of context "${context}" ${why}`);
  }
  const tls = url.protocol === 'https:';
  const serverName = textIn(value, 'tls-server-name');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (tls ? 443 : 80),
    tls,
    basePath: url.pathname.replace(/\/$/, ''),
    ...(serverName !== undefined && { serverName }),
    ...(value['insecure-skip-tls-verify'] === true && { unchecked: true }),
  };
}

/** `certificate-authority-data` (base64) takes precedence over `certificate-authority` (a file). */
async function pemOrFile(host: Host, entry: Entry, key: string, signal: AbortSignal): Promise<string | undefined> {
  const data = textIn(entry.value, `${key}-data`);
  const pem = data === undefined ? await fileOf(host, entry, key, signal) : Buffer.from(data, 'base64').toString('utf8');
  if (pem !== undefined && !pem.includes('-----BEGIN '))
    throw broken(entry.file, `${key}${data === undefined ? '' : '-data'} holds no PEM`);
  return pem;
}

async function fileOf(host: Host, { file, value }: Entry, key: string, signal: AbortSignal): Promise<string | undefined> {
  const path = textIn(value, key);
  if (path === undefined) return undefined;
  const at = posix.resolve(posix.dirname(file), path);
  const bytes = await host.files.read(at, { signal, limitBytes: sizeLimitBytes });
  if (!bytes) throw broken(file, `${key} names ${at}, which is not there`);
  return Buffer.from(bytes).toString('utf8');
}

function pluginOf({ file, value }: Entry, user: string): { exec?: ExecPlugin } {
  const refused = (what: string) => broken(file, `the user "${user}" logs in with ${what}`);
  if (value['auth-provider'] !== undefined)
    throw refused('an auth-provider, which Kubernetes 1.26 has removed: use an exec plugin or a token');
  if (value['username'] !== undefined) throw refused('a password, which Kubernetes 1.19 has removed: use a certificate or a token');
  const exec = objectOf(value['exec']);
  if (!exec) return {};
  const command = textIn(exec, 'command');
  if (command === undefined) throw broken(file, `the exec plugin of the user "${user}" has no command`);
  if (exec['interactiveMode'] === 'Always')
    throw broken(file, `the exec plugin of the user "${user}" (${command}) wants a terminal: log in with it first, or use a token`);
  // A path with a slash is relative to the file; a bare name is searched in PATH.
  const program = command.includes('/') ? posix.resolve(posix.dirname(file), command) : command;
  return {
    exec: {
      argv: [program, ...listOf(exec['args']).map(String)],
      env: Object.fromEntries(objectsOf(exec['env']).map((each) => [String(each['name'] ?? ''), String(each['value'] ?? '')])),
      apiVersion: textIn(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
      installHint: textIn(exec, 'installHint') ?? '',
    },
  };
}
