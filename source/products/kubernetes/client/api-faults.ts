import type { HttpAnswer } from '../../../calls/http-exchange.ts';
import { Fault, messageOf } from '../../../faults/fault.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, parsedJson } from '../../../text/json-value.ts';

interface ApiStatus {
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/** Returns undefined if the answer is not from the API. */
export function statusOf({ text }: HttpAnswer): ApiStatus | undefined {
  const parsed = objectOf(parsedJson(text));
  return parsed?.['kind'] === 'Status' ? parsed : undefined;
}

const forbidden = /User "([^"]*)" cannot (\S+) (?:resource "([^"]+)" in API group "([^"]*)"|path "([^"]+)")/;

export function apiFault(answer: HttpAnswer, method: string, path: string): Fault {
  const status = statusOf(answer);
  const words = cleanLine(status?.message ?? answer.text.slice(0, 200)).trim() || `HTTP ${answer.status}`;
  const what = `${method} ${cleanLine(path.replace(/\?.*$/, ''))}`;
  switch (answer.status) {
    case 401:
      return new Fault(
        'refused.clusterLogin',
        'The cluster does not know who this is (401 Unauthorized): the token or certificate of this context is wrong or has ended.',
        'Take the kubeconfig anew, or log in again with the program that makes its token.',
      );
    case 403:
      return missingRight(words);
    case 404:
      return status
        ? new Fault('failed.notFound', `The cluster has no such object: ${words}`, 'Look again: it may be gone meanwhile.')
        : new Fault(
            'failed.notServed',
            `The cluster does not serve ${what}.`,
            'That part of the API may not be installed, or be of another release.',
          );
    case 410:
      return new Fault('failed.expired', `The list changed while it was read: ${words}`, 'Read it again.');
    case 503:
      return new Fault(
        'unreachable.apiGroup',
        `That part of the API is away (503): ${what}.`,
        'See which: kubectl get apiservices. What stands behind it is not ready.',
      );
    default:
      return new Fault(
        'failed.cluster',
        `The cluster refuses ${what}: ${words} (${answer.status}).`,
        'Look at the events and the log of its API server.',
      );
  }
}

function missingRight(words: string): Fault {
  const [, user = '', verb = '', resource, group = '', path] = forbidden.exec(words) ?? [];
  if (resource === undefined && path === undefined) {
    return new Fault('refused.right', `A right is missing: ${words}`, 'Ask who administers the cluster.');
  }
  const full = group === '' ? (resource ?? path) : resource?.replace(/(?=\/|$)/, `.${group}`);
  const rule = resource === undefined ? `--non-resource-url=${path}` : `--resource=${full}`;
  return new Fault(
    'refused.right',
    `The right to ${verb} ${full} is missing (user ${user}).`,
    `kubectl create clusterrole quarterdeck-${verb}-${(full ?? '').replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')} --verb=${verb} ${rule}, and bind it to the user.`,
  );
}

const ofAnother = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY|GET)_\w+|CERT_SIGNATURE_FAILURE)$/;

function certificateWords(code: string): string | undefined {
  if (code === 'CERT_HAS_EXPIRED') return "the API server's certificate has ended";
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'its certificate is for another name (tls-server-name in the kubeconfig can say which)';
  return ofAnother.test(code) ? 'its certificate is not of the authority that the kubeconfig names' : undefined;
}

export function notReached(shown: string, thrown: unknown, limitMs?: number): Fault {
  if (thrown instanceof Fault && thrown.kind !== 'unreachable') return thrown;
  const code = String((thrown as { code?: unknown } | undefined)?.code ?? '');
  const slow = (thrown as { name?: string } | undefined)?.name === 'TimeoutError';
  const certificate = certificateWords(code);
  const why = slow
    ? `no answer came within ${Math.round((limitMs ?? 0) / 1000)} s`
    : (certificate ??
      (/ALERT|ERR_SSL/.test(code) ? 'it takes neither our certificate nor our TLS' : cleanLine(messageOf(thrown)).replace(/\.$/, '')));
  return new Fault(
    'unreachable.cluster',
    `The cluster at ${shown} does not answer: ${why}.`,
    certificate
      ? 'Look at the certificates on a control-plane node: kubeadm certs check-expiration'
      : 'Check that its API server runs, and that it is reached from this host; --host names another one.',
    { cause: thrown },
  );
}
