import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { parseYamlDocument } from '../text/yaml-text.ts';

export interface KubeContext {
  name: string;
  /** Of its cluster; empty where the file has none of that name. */
  server: string;
  user: string;
  current: boolean;
}

/** What the files say together: the first file that says something wins, as with kubectl. */
export interface Kubeconfig {
  files: readonly string[];
  contexts: readonly KubeContext[];
  readonly parts: KubeconfigParts;
}

/** An entry of a file, with the folder that its paths are relative to. */
interface Entry {
  file: string;
  value: Record<string, unknown>;
}

interface KubeconfigParts {
  current: string | undefined;
  clusters: ReadonlyMap<string, Entry>;
  users: ReadonlyMap<string, Entry>;
  contexts: ReadonlyMap<string, Entry>;
}

/** A program that hands out credentials (`users[].user.exec`). */
export interface ExecPlugin {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  apiVersion: string;
  installHint: string;
}

/** How a cluster is reached, and by whom. Certificates and keys are PEM. */
export interface ClusterLogin {
  context: string;
  user: string;
  host: string;
  port: number;
  tls: boolean;
  /** Before `/api`, mostly empty. */
  basePath: string;
  ca?: string;
  serverName?: string;
  unchecked?: boolean;
  cert?: string;
  key?: string;
  token?: string;
  exec?: ExecPlugin;
}

const sizeLimitBytes = 4 * 1024 * 1024;

/** Where distributions put the one of their administrator, for who has none of their own. */
const systemFiles = ['/etc/kubernetes/admin.conf', '/etc/rancher/k3s/k3s.yaml', '/etc/rancher/rke2/rke2.yaml'];

/**
 * Reads the kubeconfig of a machine: `named`, else what `KUBECONFIG` lists there, else `~/.kube/config`, else that of kubeadm, k3s or RKE2.
 * Throws `usage.kubeconfig` where there is none, `config.kubeconfig` for one that cannot be used.
 */
export async function readKubeconfig(host: Host, named: string | undefined, signal: AbortSignal): Promise<Kubeconfig> {
  const { home, env } = await host.facts(signal);
  const absolute = (path: string) => (path.startsWith('~/') ? posix.join(home, path.slice(2)) : posix.resolve(home, path));
  const listed = named !== undefined ? [named] : (env['KUBECONFIG'] ?? '').split(':').filter(Boolean);
  const wanted = listed.length > 0 ? listed.map(absolute) : [posix.join(home, '.kube', 'config'), ...systemFiles];
  const found: { file: string; value: Record<string, unknown> }[] = [];
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
    // Those of the system are one or the other, and not all at once.
    if (listed.length === 0) break;
  }
  if (found.length === 0) throw noKubeconfig(host, wanted, closed);
  return join(found);
}

function noKubeconfig(host: Host, wanted: readonly string[], closed: readonly string[]): Fault {
  const where = host.kind === 'ssh' ? ` on ${cleanLine(host.name)}` : '';
  const shut = closed.length > 0 ? ` ${closed.map(cleanLine).join(' and ')} is there, and may not be read.` : '';
  return new Fault({
    code: 'usage.kubeconfig',
    message: `There is no kubeconfig${where}: looked for ${wanted.map(cleanLine).join(', ')}.${shut}`,
    remedy: 'Name one with --kubeconfig FILE, or set KUBECONFIG.',
  });
}

function parsed(file: string, text: string): Record<string, unknown> {
  const document = parseYamlDocument(text);
  const [error] = document.errors;
  if (error) {
    const line = error.linePos?.[0].line;
    throw broken(file, `it is no YAML: ${(error.message.split('\n', 1)[0] ?? '').replace(/[.:]$/, '')}`, line);
  }
  const value: unknown = document.toJS();
  if (!isRecord(value) || (value['kind'] !== undefined && value['kind'] !== 'Config')) throw broken(file, 'it is no kubeconfig');
  return value;
}

function broken(file: string, why: string, line?: number): Fault {
  return new Fault({
    code: 'config.kubeconfig',
    message: `The kubeconfig ${cleanLine(file)} cannot be used: ${cleanLine(why)}.`,
    remedy: 'Repair it, or name another one with --kubeconfig FILE.',
    where: { file, line },
  });
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const textIn = (value: Record<string, unknown>, key: string): string | undefined => {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : undefined;
};

function join(found: readonly { file: string; value: Record<string, unknown> }[]): Kubeconfig {
  const gather = (list: string, inner: string): Map<string, Entry> => {
    const all = new Map<string, Entry>();
    for (const { file, value } of found) {
      const entries = value[list];
      for (const entry of Array.isArray(entries) ? entries : []) {
        if (!isRecord(entry)) continue;
        const name = textIn(entry, 'name');
        if (name !== undefined && !all.has(name)) all.set(name, { file, value: isRecord(entry[inner]) ? entry[inner] : {} });
      }
    }
    return all;
  };
  const parts: KubeconfigParts = {
    current: found.map(({ value }) => textIn(value, 'current-context')).find(Boolean),
    clusters: gather('clusters', 'cluster'),
    users: gather('users', 'user'),
    contexts: gather('contexts', 'context'),
  };
  const contexts = [...parts.contexts].map(([name, { value }]): KubeContext => {
    const cluster = parts.clusters.get(textIn(value, 'cluster') ?? '');
    return {
      name,
      server: (cluster && textIn(cluster.value, 'server')) ?? '',
      user: textIn(value, 'user') ?? '',
      current: name === parts.current,
    };
  });
  return { files: found.map(({ file }) => file), contexts, parts };
}

/** What a context leads to. Files that it names are read. Throws `usage.context` and `config.kubeconfig`. */
export async function loginOf(host: Host, config: Kubeconfig, name: string, signal: AbortSignal): Promise<ClusterLogin> {
  const { contexts, clusters, users } = config.parts;
  const context = contexts.get(name);
  if (!context) {
    throw new Fault({
      code: 'usage.context',
      message: `There is no context "${cleanLine(name)}" in ${config.files.map(cleanLine).join(', ')}.`,
      remedy: nameRemedy(name, new Set(contexts.keys()), 'The file has none.'),
    });
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
  const proxy = textIn(value, 'proxy-url');
  if (proxy !== undefined)
    throw broken(
      file,
      `the cluster of context "${context}" is reached through a proxy (proxy-url), which is not done from here: run this on a host that reaches it, with --host`,
    );
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

/** `certificate-authority-data` (base64) before `certificate-authority` (a file). */
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
  if (value['auth-provider'] !== undefined)
    throw broken(
      file,
      `the user "${user}" logs in with an auth-provider, which Kubernetes 1.26 has removed: use an exec plugin or a token`,
    );
  if (value['username'] !== undefined)
    throw broken(file, `the user "${user}" logs in with a password, which Kubernetes 1.19 has removed: use a certificate or a token`);
  const exec = value['exec'];
  if (!isRecord(exec)) return {};
  const command = textIn(exec, 'command');
  if (command === undefined) throw broken(file, `the exec plugin of the user "${user}" has no command`);
  if (exec['interactiveMode'] === 'Always')
    throw broken(file, `the exec plugin of the user "${user}" (${command}) wants a terminal: log in with it first, or use a token`);
  const words = Array.isArray(exec['args']) ? exec['args'].map(String) : [];
  const env = Array.isArray(exec['env']) ? exec['env'].filter(isRecord) : [];
  // A path with a slash is relative to the file, a bare name is looked for in PATH.
  const program = command.includes('/') ? posix.resolve(posix.dirname(file), command) : command;
  return {
    exec: {
      argv: [program, ...words],
      env: Object.fromEntries(env.map((each) => [String(each['name'] ?? ''), String(each['value'] ?? '')])),
      apiVersion: textIn(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
      installHint: textIn(exec, 'installHint') ?? '',
    },
  };
}
