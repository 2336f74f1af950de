import { X509Certificate } from 'node:crypto';
import { posix } from 'node:path';
import { Fault } from '../../../faults/fault.ts';
import { unlessCode } from '../../../faults/unless-fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, listOf, objectOf, objectsOf, parsedJson } from '../../../text/json-value.ts';
import { nameRemedy } from '../../../text/nearest-name.ts';
import { parseYamlDocument } from '../../../yaml/text.ts';

/** The merged files: the first file that defines an entry takes precedence, as with kubectl. */
export type Kubeconfig = ReturnType<typeof join>;

/** A part of a file. Paths in it are relative to the folder of the file. */
type Entry = { file: string; value: JsonObject };

/** The connection to a cluster and its credentials. Certificates and keys are PEM. */
export interface ClusterLogin extends ReturnType<typeof addressOf>, Partial<Record<'ca' | 'cert' | 'key' | 'token', string>> {
  context: string;
  user: string;
  exec?: NonNullable<ReturnType<typeof pluginOf>>;
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
  const shut = closed.length > 0 ? ` Not readable: ${closed.map(cleanLine).join(', ')}.` : '';
  const message = `No kubeconfig found${where}: checked ${wanted.map(cleanLine).join(', ')}.${shut}`;
  throw new Fault('usage.kubeconfig', message, 'Pass a kubeconfig with --kubeconfig FILE, or set KUBECONFIG.');
}

function parsed(file: string, text: string): JsonObject {
  const document = parseYamlDocument(text);
  const [error] = document.errors;
  if (error) {
    const line = error.linePos?.[0].line;
    throw broken(file, `invalid YAML: ${(error.message.split('\n', 1)[0] ?? '').replace(/[.:]$/, '')}`, line);
  }
  const value = objectOf(document.toJS());
  if (!value || (value['kind'] ?? 'Config') !== 'Config') throw broken(file, 'it is not a kubeconfig');
  return value;
}

function broken(file: string, why: string, line?: number): Fault {
  const message = `The kubeconfig ${cleanLine(file)} cannot be used: ${cleanLine(why)}.`;
  return new Fault('config.kubeconfig', message, 'Fix the file, or pass another one with --kubeconfig FILE.', { where: { file, line } });
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
    const remedy = nameRemedy(name, new Set(contexts.keys()), 'The kubeconfig defines no contexts.');
    throw new Fault('usage.context', `No context "${cleanLine(name)}" in ${config.files.map(cleanLine).join(', ')}.`, remedy);
  }
  const clusterName = textIn(context.value, 'cluster') ?? '';
  const userName = textIn(context.value, 'user') ?? '';
  const cluster = clusters.get(clusterName);
  if (!cluster) throw broken(context.file, `context "${name}" refers to cluster "${clusterName}", which is not defined`);
  const user = users.get(userName);
  if (!user && userName !== '') throw broken(context.file, `context "${name}" refers to user "${userName}", which is not defined`);
  const read = (entry: Entry, key: string) => pemOrFile(host, entry, key, signal);
  const [ca, cert, key] = await Promise.all([
    read(cluster, 'certificate-authority'),
    user && read(user, 'client-certificate'),
    user && read(user, 'client-key'),
  ]);
  if ((cert === undefined) !== (key === undefined))
    throw broken(user?.file ?? context.file, `user "${userName}" requires both a client certificate and its key`);
  const token = user && (textIn(user.value, 'token') ?? (await fileOf(host, user, 'tokenFile', signal))?.trim());
  const plugin = user && cert === undefined && token === undefined ? pluginOf(user, userName) : undefined;
  return {
    context: name,
    user: userName,
    ...addressOf(cluster, name),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
    ...(token !== undefined && { token }),
    ...(plugin && { exec: plugin }),
  };
}

function addressOf({ file, value }: Entry, context: string) {
  const server = textIn(value, 'server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw broken(file, `context "${context}" has no valid server URL ("${server}")`);
  if (textIn(value, 'proxy-url') !== undefined) {
    const why = 'uses a proxy (proxy-url), which is not supported: use --host to select a host that can reach the cluster directly';
    throw broken(file, `the cluster of context "${context}" ${why}`);
  }
  const tls = url.protocol === 'https:';
  const serverName = textIn(value, 'tls-server-name');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || (tls ? 443 : 80),
    tls,
    /** Path before `/api`, usually empty. */
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
    throw broken(entry.file, `${key}${data === undefined ? '' : '-data'} contains no PEM data`);
  return pem;
}

async function fileOf(host: Host, { file, value }: Entry, key: string, signal: AbortSignal): Promise<string | undefined> {
  const path = textIn(value, key);
  if (path === undefined) return undefined;
  const at = posix.resolve(posix.dirname(file), path);
  const bytes = await host.files.read(at, { signal, limitBytes: sizeLimitBytes });
  if (!bytes) throw broken(file, `${key} refers to ${at}, which does not exist`);
  return Buffer.from(bytes).toString('utf8');
}

/** Returns the program that returns credentials (`users[].user.exec`), if there is one. */
function pluginOf({ file, value }: Entry, user: string) {
  const refused = (what: string) => broken(file, `user "${user}" logs in with ${what}`);
  if (value['auth-provider'] !== undefined) throw refused('an auth-provider, which is not supported: use an exec plugin or a token');
  if (value['username'] !== undefined) throw refused('a password, which was removed in Kubernetes 1.19: use a certificate or a token');
  const exec = objectOf(value['exec']);
  if (!exec) return undefined;
  const command = textIn(exec, 'command');
  if (command === undefined) throw broken(file, `the exec plugin of user "${user}" has no command`);
  if (exec['interactiveMode'] === 'Always')
    throw broken(file, `the exec plugin of user "${user}" (${command}) requires a terminal: use a token or a certificate`);
  // A path with a slash is relative to the file; a bare name is searched in PATH.
  const program = command.includes('/') ? posix.resolve(posix.dirname(file), command) : command;
  return {
    argv: [program, ...listOf(exec['args']).map(String)],
    env: Object.fromEntries(objectsOf(exec['env']).map((each) => [String(each['name'] ?? ''), String(each['value'] ?? '')])),
    apiVersion: textIn(exec, 'apiVersion') ?? 'client.authentication.k8s.io/v1',
    installHint: textIn(exec, 'installHint') ?? '',
  };
}

const pluginLimitMs = 60_000;
const onePem = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;
const outputLimitBytes = 1024 * 1024;

/** Returns the subject and end of the first certificate of a PEM text; undefined if it is not a certificate. */
function certificateEnd(pem: string): { subject: string; endsMs: number; day: string } | undefined {
  try {
    const { subject, validTo } = new X509Certificate(pem);
    const endsMs = Date.parse(validTo);
    return { subject: cleanLine(/CN=([^\n]+)/.exec(subject)?.[1] ?? subject), endsMs, day: new Date(endsMs).toISOString().slice(0, 10) };
  } catch {
    return undefined;
  }
}

/** Throws `refused.certificate` for an expired certificate, since a server would only answer "Unauthorized", or `config.kubeconfig`. */
export function checkLogin({ context, cert, ca }: ClusterLogin, nowMs: number): void {
  const name = cleanLine(context);
  const end = cert === undefined ? undefined : certificateEnd(cert);
  if (cert !== undefined && !end) {
    const message = `The client certificate of context ${name} cannot be read.`;
    throw new Fault('config.kubeconfig', message, 'Get a new kubeconfig from the cluster.');
  }
  if (end && end.endsMs <= nowMs) {
    const remedy =
      'With kubeadm, run "kubeadm certs renew admin.conf" on a control-plane node and copy /etc/kubernetes/admin.conf again. k3s and RKE2 renew the certificate when they are restarted; then copy their kubeconfig again.';
    throw new Fault('refused.certificate', `The client certificate of context ${name} (${end.subject}) expired on ${end.day}.`, remedy);
  }
  // A bundle, as during a rotation, has several authorities, of which one valid one is enough.
  const authorities = (ca?.match(onePem) ?? []).flatMap((pem) => certificateEnd(pem) ?? []).sort((one, other) => one.endsMs - other.endsMs);
  const authority = authorities.at(-1);
  if (authority && authority.endsMs <= nowMs)
    throw new Fault(
      'refused.certificate',
      `The CA certificate (${authority.subject}) of context ${name} expired on ${authority.day}.`,
      'Replace the CA of the cluster, or get a new kubeconfig if it was already replaced. To list expired certificates: kubeadm certs check-expiration',
    );
}

/** Runs the plugin for credentials (`client.authentication.k8s.io`). Its output is secret. Throws `refused.plugin`. */
export async function runPlugin(grant: Grant, host: Host, login: ClusterLogin): Promise<Pick<ClusterLogin, 'token' | 'cert' | 'key'>> {
  const { exec } = login;
  if (!exec) return {};
  const info = { kind: 'ExecCredential', apiVersion: exec.apiVersion, spec: { interactive: false } };
  const name = cleanLine(exec.argv[0] ?? '');
  const otherwise = 'or use a context with a token or a certificate.';
  const failed = (why: string, remedy = `Log in with the plugin in a shell first, ${otherwise}`) =>
    new Fault('refused.plugin', `${name}, the credential plugin of context ${cleanLine(login.context)}, ${why}.`, remedy);
  const running = host.run(grant, exec.argv, {
    signal: grant.signal,
    limitMs: pluginLimitMs,
    limitBytes: outputLimitBytes,
    env: { ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  const outcome = await unlessCode(running, ['unreachable.program'], undefined);
  if (!outcome) throw failed('is not installed', cleanLine(exec.installHint) || `Install it, ${otherwise}`);
  const lines = Buffer.from(outcome.stderr).toString('utf8').trim().split('\n');
  const reported = cleanLine(lines.at(-1) ?? '')
    .slice(0, 200)
    .replace(/\.$/, '');
  if (outcome.exitCode !== 0) throw failed(`exited with code ${outcome.exitCode}${reported === '' ? '' : `: ${reported}`}`);
  const answer = objectOf(parsedJson(Buffer.from(outcome.stdout).toString('utf8'))) ?? {};
  const status = objectOf(answer['status']) as { token?: string; clientCertificateData?: string; clientKeyData?: string } | undefined;
  const { token, clientCertificateData: cert, clientKeyData: key } = status ?? {};
  const pair = cert !== undefined && key !== undefined && { cert, key };
  if (answer['kind'] === 'ExecCredential' && (token !== undefined || pair)) return { ...(token !== undefined && { token }), ...pair };
  // The plugin's messages could contain a secret, so they are not repeated.
  throw failed('returned no credentials');
}
