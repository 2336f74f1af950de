import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import type { EngineAddress } from './engine.ts';

/** `/var/run/docker.sock (default Docker socket)`, and on which machine where that is not this one. */
export function placeOf({ url, origin, machine }: EngineAddress): string {
  const on = machine === undefined ? '' : ` on ${cleanLine(machine)}`;
  return `${cleanLine(url.replace(/^unix:\/\//, ''))}${on} (${cleanLine(origin)})`;
}

function unreachable(message: string, remedy: string, cause?: unknown): Fault {
  return new Fault({ code: 'unreachable.engine', message, remedy, cause });
}

const startRemedy =
  'Start it: systemctl start docker, or for Podman systemctl --user start podman.socket. One that listens elsewhere is named by DOCKER_HOST.';

/** It took the connection and then said nothing. */
export function hangingFault(address: EngineAddress, limitMs: number): Fault {
  return unreachable(
    `The engine at ${placeOf(address)} gave no answer within ${limitMs / 1000} s.`,
    'It may be starting, overloaded or stuck: look at its log (journalctl -u docker), and restart it if it stays so.',
  );
}

/** Something listens there, but it is no container engine. */
export function rubbishFault(address: EngineAddress, saying: string, cause?: unknown): Fault {
  return unreachable(
    `What answers at ${placeOf(address)} is no container engine: ${saying}.`,
    'Check the address: DOCKER_HOST, CONTAINER_HOST or the Docker context names it.',
    cause,
  );
}

export function brokenFault(address: EngineAddress, cause?: unknown): Fault {
  return unreachable(`The connection to the engine at ${placeOf(address)} broke.`, 'Check that the engine still runs.', cause);
}

/** Error codes of the host's connection, TLS and HTTP layers, wherever in the chain of causes they stand. */
function codesOf(thrown: unknown): string[] {
  const codes: string[] = [];
  for (
    let one = thrown as (NodeJS.ErrnoException & { cause?: unknown }) | undefined;
    one && codes.length < 8;
    one = one.cause as typeof one
  ) {
    if (typeof one.code === 'string') codes.push(one.code);
  }
  return codes;
}

/** What a failed connection means, each reason in its own words. Faults that already say it pass through. */
export function connectionFault(address: EngineAddress, thrown: unknown): Fault {
  const codes = codesOf(thrown);
  const has = (...wanted: string[]) => wanted.some((code) => codes.includes(code));
  const place = placeOf(address);
  const isSocket = address.url.startsWith('unix://');

  if (has('ENOENT')) return unreachable(`No engine runs at ${place}: there is no such socket.`, startRemedy, thrown);
  if (has('ECONNREFUSED')) {
    return isSocket
      ? unreachable(`No engine runs at ${place}: its socket is there, but nobody listens on it.`, startRemedy, thrown)
      : unreachable(
          `No engine runs at ${place}: the connection was refused.`,
          'Start the engine there, or check the address and port.',
          thrown,
        );
  }
  if (has('EACCES', 'EPERM')) {
    return unreachable(
      `You may not use the engine at ${place}: permission denied.`,
      `Join the group that owns the socket (sudo usermod -aG docker $USER, then log in again), ${
        address.machine === undefined
          ? 'or use a rootless engine: systemctl --user start podman.socket.'
          : `or have it reached through sudo: sudo: true for ${cleanLine(address.machine)} in config.yaml.`
      }`,
      thrown,
    );
  }
  if (has('ENOTSOCK')) return unreachable(`No engine runs at ${place}: that file is no socket.`, startRemedy, thrown);
  if (has('ENOTFOUND', 'EAI_AGAIN'))
    return unreachable(
      `The engine at ${place} cannot be found: the name is not known.`,
      'Check the name in the address, and the DNS of this machine.',
      thrown,
    );
  if (has('EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT')) {
    return unreachable(
      `The engine at ${place} cannot be reached over the network.`,
      'Check the address, the network and the firewall between.',
      thrown,
    );
  }
  const tls = tlsReason(codes);
  if (tls) return unreachable(`The engine at ${place} cannot be trusted: ${tls[0]}.`, tls[1], thrown);
  if (codes.some((code) => code.startsWith('HPE_'))) return rubbishFault(address, 'its answer is not HTTP', thrown);
  if (thrown instanceof Fault) return thrown.code === 'unreachable.engine' ? thrown : unreachable(thrown.message, thrown.remedy, thrown);
  return brokenFault(address, thrown);
}

function tlsReason(codes: readonly string[]): [reason: string, remedy: string] | undefined {
  const has = (pattern: RegExp) => codes.some((code) => pattern.test(code));
  if (has(/CERT_HAS_EXPIRED/)) return ['its certificate has expired', 'Renew the certificate of the engine.'];
  if (has(/ALTNAME_INVALID/)) return ['its certificate is for another name', 'Use the name or address that the certificate holds.'];
  if (has(/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_UNTRUSTED|CERT_SIGNATURE/)) {
    return [
      'its certificate is not signed by the authority in ca.pem',
      'Put the authority that signed it into ca.pem of DOCKER_CERT_PATH or of the context.',
    ];
  }
  if (has(/ALERT_(BAD_CERTIFICATE|CERTIFICATE_REQUIRED|UNKNOWN_CA|HANDSHAKE_FAILURE|CERTIFICATE_UNKNOWN|ACCESS_DENIED)/)) {
    return ['it refuses our certificate', 'Put cert.pem and key.pem that the engine trusts into DOCKER_CERT_PATH or the context.'];
  }
  if (has(/WRONG_VERSION_NUMBER|EPROTO|PACKET_LENGTH_TOO_LONG|UNEXPECTED_MESSAGE/)) {
    return ['it does not speak TLS', 'Unset DOCKER_TLS_VERIFY, or use the port that speaks TLS (usually 2376).'];
  }
  if (has(/^ERR_(SSL|TLS|OSSL)/))
    return ['the TLS handshake failed', 'Check ca.pem, cert.pem and key.pem of DOCKER_CERT_PATH or of the context.'];
  return undefined;
}

/** An answer that dockerode refused: the status, and the engine's own sentence. */
export interface EngineRefusal {
  statusCode: number;
  sentence: string;
}

export function refusalOf(thrown: unknown): EngineRefusal | undefined {
  const error = thrown as { statusCode?: unknown; message?: unknown } | undefined;
  if (typeof error?.statusCode !== 'number') return undefined;
  // dockerode wraps it: `(HTTP code 404) no such container - No such container: nope `.
  const sentence = String(error.message ?? '')
    .replace(/^\(HTTP code \d+\) .*? - /s, '')
    .trim();
  return { statusCode: error.statusCode, sentence: cleanLine(plainWords(sentence)) };
}

/** For requests whose answer has no content: Podman says 200 or 201 here and there where Docker says 204, and dockerode expects Docker's. */
export async function acknowledged(asking: Promise<unknown>): Promise<void> {
  try {
    await asking;
  } catch (thrown) {
    const statusCode = refusalOf(thrown)?.statusCode ?? 0;
    if (statusCode < 200 || statusCode > 299) throw thrown;
  }
}

const noSuchContainer = /no such container|no container with (name or )?id/i;
/** Podman answers 500 where Docker answers 409. */
const wrongState =
  /container state improper|is not running|is already (in use|paused)|is not paused|is being used|in use by|cannot remove a running|has active endpoints|volume is in use/i;

/**
 * What an engine's refusal means: `engine.noContainer`, `engine.nameTaken`, `engine.conflict` (the container is in no state for it, or
 * something is in use), `engine.logDriver`, `engine.forbidden`, `engine.notSupported`, `engine.missing`, `engine.failed`.
 */
export function refusalFault(address: EngineAddress, { statusCode, sentence }: EngineRefusal, cause?: unknown): Fault {
  const said = plainWords(sentence).replace(/\.$/, '') || `status ${statusCode}`;
  const fault = (code: `engine.${string}`, message: string, remedy: string) => new Fault({ code, message, remedy, cause });

  if (/client version .* is too (old|new)/i.test(sentence)) {
    const old = /too old/i.test(sentence);
    return unreachable(
      `The engine at ${placeOf(address)} refuses to talk to us: ${said}.`,
      old
        ? 'The engine is newer than this console knows: update Quarterdeck.'
        : 'The engine is too old for this console: update the engine.',
      cause,
    );
  }
  if (/HTTP request to an HTTPS server/i.test(sentence)) {
    return unreachable(
      `The engine at ${placeOf(address)} speaks TLS only.`,
      'Set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH, or use a context with its certificates.',
      cause,
    );
  }
  if (/log(ging)? driver|not logging output/i.test(sentence)) {
    return fault(
      'engine.logDriver',
      `The log cannot be read: ${said}.`,
      'Its log driver keeps nothing here: look where it sends the log, or use the driver local or json-file and make the container anew.',
    );
  }
  if (/name .*already in use|already in use by container|network .*already (exists|used)/i.test(sentence))
    return fault('engine.nameTaken', `The name is taken: ${said}.`, 'Choose another name, or remove what has it.');
  if (noSuchContainer.test(sentence))
    return fault(
      'engine.noContainer',
      `There is no such container: ${said}.`,
      'It may have been removed or made anew: look at the list again.',
    );
  if (statusCode === 401 || statusCode === 403)
    return fault(
      'engine.forbidden',
      `The engine does not allow this: ${said}.`,
      'A socket proxy or an authorisation plugin stands before the engine: allow the request there.',
    );
  if (statusCode === 409 || wrongState.test(sentence))
    return fault('engine.conflict', `The engine refuses: ${said}.`, 'Look at the state of the container, and what uses it.');
  if (statusCode === 501 || statusCode === 405 || (statusCode === 404 && /^(page )?not found$/i.test(said)))
    return fault('engine.notSupported', `The engine cannot do this: ${said}.`, 'Use an engine that can.');
  const missingFile = /^Could not find the file (.+) in container \S+$|^no such file or directory$/.exec(said);
  if (statusCode === 404 && missingFile)
    return fault(
      'engine.missing',
      `There is no ${missingFile[1] ?? 'such file'} in the container.`,
      'Check the path: it begins at the root of the container.',
    );
  if (statusCode === 404)
    return fault('engine.missing', `The engine does not find it: ${said}.`, 'It may be gone: look at the list again.');
  return fault('engine.failed', `The engine failed: ${said}.`, "The engine's own log says more (journalctl -u docker, or -u podman).");
}

/** Anything that a request threw, as a Fault: a refusal, or a connection that failed. */
export function requestFault(address: EngineAddress, thrown: unknown): Fault {
  if (thrown instanceof Fault && !thrown.code.startsWith('unreachable.')) return thrown;
  const refusal = refusalOf(thrown);
  return refusal ? refusalFault(address, refusal, thrown) : connectionFault(address, thrown);
}

/** For the few places where an answer makes no sense. */
export function senselessFault(address: EngineAddress, what: string, { cause }: { cause?: unknown } = {}): Fault {
  return rubbishFault(address, `${what} is not what an engine says`, cause);
}

/** Undefined for what is gone. */
export async function unlessMissing<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (thrown) {
    if (thrown instanceof Fault && (thrown.code === 'engine.noContainer' || thrown.code === 'engine.missing')) return undefined;
    throw thrown;
  }
}
