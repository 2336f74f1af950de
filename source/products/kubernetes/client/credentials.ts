import { X509Certificate } from 'node:crypto';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, parsedJson } from '../../../text/json-value.ts';
import type { ClusterLogin } from './kubeconfig.ts';

const pluginLimitMs = 60_000;
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

/** Throws `refused.certificate` for a client certificate that has expired or cannot be read: a server would only answer "Unauthorized". */
export function checkLogin({ context, cert, ca }: ClusterLogin, nowMs: number): void {
  const name = cleanLine(context);
  const end = cert === undefined ? undefined : certificateEnd(cert);
  if (cert !== undefined && !end) {
    const message = `The client certificate of context ${name} cannot be read.`;
    throw new Fault('config.kubeconfig', message, 'Take the kubeconfig anew from the cluster.');
  }
  if (end && end.endsMs <= nowMs)
    throw new Fault(
      'refused.certificate',
      `The client certificate of context ${name} (${end.subject}) ended on ${end.day}: the cluster lets it in no more.`,
      'On a control-plane node: "kubeadm certs renew admin.conf", then take /etc/kubernetes/admin.conf anew. k3s and RKE2 renew theirs when they are restarted; take their kubeconfig anew.',
    );
  const authority = ca === undefined ? undefined : certificateEnd(ca);
  if (authority && authority.endsMs <= nowMs)
    throw new Fault(
      'refused.certificate',
      `The authority (${authority.subject}) that context ${name} trusts ended on ${authority.day}.`,
      'The cluster needs a new certificate authority before anything else: "kubeadm certs check-expiration" tells which.',
    );
}

/** Runs the plugin for credentials (`client.authentication.k8s.io`). Its output is secret. Throws `refused.plugin`. */
export async function runPlugin(grant: Grant, host: Host, login: ClusterLogin): Promise<Pick<ClusterLogin, 'token' | 'cert' | 'key'>> {
  const { exec } = login;
  if (!exec) return {};
  const info = { kind: 'ExecCredential', apiVersion: exec.apiVersion, spec: { interactive: false } };
  const name = cleanLine(exec.argv[0] ?? '');
  const failed = (why: string, cause?: unknown) =>
    new Fault(
      'refused.plugin',
      `${name}, which context ${cleanLine(login.context)} logs in with, ${why}`,
      cleanLine(exec.installHint) || 'Log in with it in a shell first, or use a context with a token or a certificate.',
      { cause },
    );
  const outcome = await host.run(grant, exec.argv, {
    signal: grant.signal,
    limitMs: pluginLimitMs,
    limitBytes: outputLimitBytes,
    env: { ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  const reported = Buffer.from(outcome.stderr).toString('utf8').trim().split('\n').at(-1) ?? '';
  if (outcome.exitCode !== 0) throw failed(`ended with ${outcome.exitCode}: ${cleanLine(reported).slice(0, 200)}`);
  const answer = objectOf(parsedJson(Buffer.from(outcome.stdout).toString('utf8'))) ?? {};
  const status = objectOf(answer['status']) as { token?: string; clientCertificateData?: string; clientKeyData?: string } | undefined;
  const { token, clientCertificateData: cert, clientKeyData: key } = status ?? {};
  const pair = cert !== undefined && key !== undefined && { cert, key };
  if (answer['kind'] === 'ExecCredential' && (token !== undefined || pair)) return { ...(token !== undefined && { token }), ...pair };
  // The plugin's messages could contain a secret, so they are not repeated.
  throw failed('answered with no credentials.');
}
