import type { ExchangeAnswer } from '../calls/exchange.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';

/** A failure in the API's own words. */
export interface ApiStatus {
  message?: string;
  reason?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/** Undefined where the answer is none of the API's. */
export function statusOf({ body }: ExchangeAnswer): ApiStatus | undefined {
  try {
    const parsed = parseJson(body.toString('utf8')) as ApiStatus & { kind?: string };
    return parsed?.kind === 'Status' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const forbidden = /User "([^"]*)" cannot (\S+) (?:resource "([^"]+)" in API group "([^"]*)"|path "([^"]+)")/;

/** What an answer that is no success means. */
export function apiFault(answer: ExchangeAnswer, method: string, path: string): Fault {
  const status = statusOf(answer);
  const words = cleanLine(status?.message ?? answer.body.toString('utf8').slice(0, 200)).trim() || `HTTP ${answer.status}`;
  const what = `${method} ${cleanLine(path.replace(/\?.*$/, ''))}`;
  switch (answer.status) {
    case 401:
      return new Fault({
        code: 'refused.clusterLogin',
        message:
          'The cluster does not know who this is (401 Unauthorized): the token or certificate of this context is wrong or has ended.',
        remedy: 'Take the kubeconfig anew, or log in again with the program that makes its token.',
      });
    case 403:
      return missingRight(words);
    case 404:
      return status
        ? new Fault({
            code: 'failed.notFound',
            message: `The cluster has no such object: ${words}`,
            remedy: 'Look again: it may be gone meanwhile.',
          })
        : new Fault({
            code: 'failed.notServed',
            message: `The cluster does not serve ${what}.`,
            remedy: 'That part of the API may not be installed, or be of another release.',
          });
    case 410:
      return new Fault({ code: 'failed.expired', message: `The list changed while it was read: ${words}`, remedy: 'Read it again.' });
    case 503:
      return new Fault({
        code: 'unreachable.apiGroup',
        message: `That part of the API is away (503): ${what}.`,
        remedy: 'See which: kubectl get apiservices. What stands behind it is not ready.',
      });
    default:
      return new Fault({
        code: 'failed.cluster',
        message: `The cluster refuses ${what}: ${words} (${answer.status}).`,
        remedy: 'Look at the events and the log of its API server.',
      });
  }
}

/** Names the right, and how it is given. */
function missingRight(words: string): Fault {
  const [, user = '', verb = '', resource, group = '', path] = forbidden.exec(words) ?? [];
  if (resource === undefined && path === undefined) {
    return new Fault({ code: 'refused.right', message: `A right is missing: ${words}`, remedy: 'Ask who administers the cluster.' });
  }
  const full =
    resource === undefined
      ? path
      : group === ''
        ? resource
        : resource.includes('/')
          ? resource.replace('/', `.${group}/`)
          : `${resource}.${group}`;
  const rule = resource === undefined ? `--non-resource-url=${path}` : `--resource=${full}`;
  return new Fault({
    code: 'refused.right',
    message: `The right to ${verb} ${full} is missing (user ${user}).`,
    remedy: `kubectl create clusterrole quarterdeck-${verb}-${(full ?? '').replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')} --verb=${verb} ${rule}, and bind it to the user.`,
  });
}

const certificateWords: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "the API server's certificate has ended",
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not of the authority that the kubeconfig names',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not of the authority that the kubeconfig names',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not of the authority that the kubeconfig names',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not of the authority that the kubeconfig names',
  CERT_SIGNATURE_FAILURE: 'its certificate is not of the authority that the kubeconfig names',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name (tls-server-name in the kubeconfig can say which)',
};

/** What kept an answer from coming at all. */
export function notReached(shown: string, thrown: unknown, limitMs?: number): Fault {
  if (thrown instanceof Fault && thrown.kind !== 'unreachable') return thrown;
  const code = String((thrown as { code?: unknown } | undefined)?.code ?? '');
  const slow = (thrown as { name?: string } | undefined)?.name === 'TimeoutError';
  const certificate = certificateWords[code];
  const why = slow
    ? `no answer came within ${Math.round((limitMs ?? 0) / 1000)} s`
    : (certificate ??
      (/ALERT|ERR_SSL/.test(code)
        ? 'it takes neither our certificate nor our TLS'
        : code === 'ECONNRESET' || code === 'EPIPE'
          ? 'the connection was closed without an answer'
          : code.startsWith('HPE_')
            ? 'what answers there does not speak HTTP'
            : cleanLine(messageOf(thrown)).replace(/\.$/, '')));
  return new Fault({
    code: 'unreachable.cluster',
    message: `The cluster at ${shown} does not answer: ${why}.`,
    remedy: certificate
      ? 'Look at the certificates on a control-plane node: kubeadm certs check-expiration'
      : 'Check that its API server runs, and that it is reached from this host; --host names another one.',
    cause: thrown,
  });
}
