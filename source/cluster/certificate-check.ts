import { parseJson } from '../text/json-value.ts';
import type { CheckResult } from './check-result.ts';
import { lastWords, type NodeWay } from './node-way.ts';

interface KubeadmCertificate {
  name?: string;
  residualTime?: number;
  externallyManaged?: boolean;
  missing?: boolean;
}

/** `kubeadm upgrade apply` renews them all; before that it needs those that there are. */
const soonDays = 30;

/** `kubeadm certs check-expiration` on a control-plane node. */
export async function checkCertificates(way: NodeWay, signal: AbortSignal): Promise<CheckResult> {
  const outcome = await way.read(['kubeadm', 'certs', 'check-expiration', '-o', 'json'], signal);
  const found = outcome.exitCode === 0 ? certificatesIn(outcome.stdout) : undefined;
  if (!found)
    return {
      state: 'warning',
      summary: `Not looked at: ${lastWords(outcome) || 'kubeadm says nothing'}`,
      advice: 'Run it on a control-plane node: kubeadm certs check-expiration',
    };
  const ended = found.filter(({ days }) => days <= 0);
  const soon = found.filter(({ days }) => days > 0 && days < soonDays);
  const evidence = found.map(({ name, days }) => `${name}  ${days} days`);
  const told = (list: typeof found) => list.map(({ name, days }) => `${name} (${days <= 0 ? 'ended' : `${days} days`})`).join(', ');
  if (ended.length > 0)
    return {
      state: 'blocked',
      summary: `ended: ${told(ended)}`,
      evidence,
      advice: 'kubeadm certs renew all, then restart the control plane.',
    };
  if (soon.length > 0)
    return {
      state: 'warning',
      summary: `about to end: ${told(soon)}`,
      evidence,
      advice: 'kubeadm upgrade apply renews them, unless --certificate-renewal=false is given.',
    };
  return {
    state: 'ok',
    summary: `${found.length} certificates, the first ends in ${Math.min(...found.map(({ days }) => days))} days`,
    evidence,
  };
}

function certificatesIn(text: string): { name: string; days: number }[] | undefined {
  try {
    // Words of its preflight can stand before it.
    const parsed = parseJson(text.slice(Math.max(0, text.indexOf('{')))) as {
      certificates?: KubeadmCertificate[];
      certificateAuthorities?: KubeadmCertificate[];
    };
    return [...(parsed.certificates ?? []), ...(parsed.certificateAuthorities ?? [])].flatMap(
      ({ name = '', residualTime, missing, externallyManaged }) =>
        residualTime === undefined || (missing && externallyManaged) ? [] : [{ name, days: Math.floor(residualTime / 86_400) }],
    );
  } catch {
    return undefined;
  }
}
