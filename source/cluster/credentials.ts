import { X509Certificate } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import type { ClusterLogin } from './kubeconfig.ts';

const pluginLimitMs = 60_000;
const outputLimitBytes = 1024 * 1024;

export interface CertificateEnd {
  subject: string;
  endsMs: number;
}

/** The first certificate of a PEM; undefined for what is none. */
export function certificateEnd(pem: string): CertificateEnd | undefined {
  try {
    const { subject, validTo } = new X509Certificate(pem);
    const name = /CN=([^\n]+)/.exec(subject)?.[1] ?? subject;
    return { subject: cleanLine(name), endsMs: Date.parse(validTo) };
  } catch {
    return undefined;
  }
}

const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Throws `refused.certificate` for a client certificate that has ended or cannot be read: a server would only say "Unauthorized". */
export function checkLogin({ context, cert, ca }: ClusterLogin, nowMs: number): void {
  if (cert !== undefined) {
    const end = certificateEnd(cert);
    if (!end)
      throw new Fault({
        code: 'config.kubeconfig',
        message: `The client certificate of context ${cleanLine(context)} cannot be read.`,
        remedy: 'Take the kubeconfig anew from the cluster.',
      });
    if (end.endsMs <= nowMs)
      throw new Fault({
        code: 'refused.certificate',
        message: `The client certificate of context ${cleanLine(context)} (${end.subject}) ended on ${dayText(end.endsMs)}: the cluster lets it in no more.`,
        remedy:
          'On a control-plane node: "kubeadm certs renew admin.conf", then take /etc/kubernetes/admin.conf anew. k3s and RKE2 renew theirs when they are restarted; take their kubeconfig anew.',
      });
  }
  const authority = ca === undefined ? undefined : certificateEnd(ca);
  if (authority && authority.endsMs <= nowMs)
    throw new Fault({
      code: 'refused.certificate',
      message: `The authority (${authority.subject}) that context ${cleanLine(context)} trusts ended on ${dayText(authority.endsMs)}.`,
      remedy: 'The cluster needs a new certificate authority before anything else: "kubeadm certs check-expiration" tells which.',
    });
}

/** Asks the plugin for credentials (`client.authentication.k8s.io`). What it answers is secret. Throws `refused.plugin`. */
export async function runPlugin(grant: Grant, host: Host, login: ClusterLogin): Promise<Pick<ClusterLogin, 'token' | 'cert' | 'key'>> {
  const { exec } = login;
  if (!exec) return {};
  const info = { kind: 'ExecCredential', apiVersion: exec.apiVersion, spec: { interactive: false } };
  const name = cleanLine(exec.argv[0] ?? '');
  const failed = (why: string, cause?: unknown) =>
    new Fault({
      code: 'refused.plugin',
      message: `${name}, which context ${cleanLine(login.context)} logs in with, ${why}`,
      remedy: cleanLine(exec.installHint) || 'Log in with it in a shell first, or use a context with a token or a certificate.',
      cause,
    });
  const outcome = await host.run(grant, exec.argv, {
    signal: grant.signal,
    limitMs: pluginLimitMs,
    limitBytes: outputLimitBytes,
    env: { ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  const told = Buffer.from(outcome.stderr).toString('utf8').trim().split('\n').at(-1) ?? '';
  if (outcome.exitCode !== 0) throw failed(`ended with ${outcome.exitCode}: ${cleanLine(told).slice(0, 200)}`);
  try {
    const answer = parseJson(Buffer.from(outcome.stdout).toString('utf8')) as {
      kind?: string;
      status?: { token?: string; clientCertificateData?: string; clientKeyData?: string };
    };
    const { token, clientCertificateData: cert, clientKeyData: key } = answer.status ?? {};
    if (answer.kind === 'ExecCredential' && (token !== undefined || (cert !== undefined && key !== undefined)))
      return { ...(token !== undefined && { token }), ...(cert !== undefined && key !== undefined && { cert, key }) };
  } catch {
    // Its words could hold a secret: they are not repeated.
  }
  throw failed('answered with no credentials.');
}
