import { Fault } from '../faults/fault.ts';
import { unlessCode } from '../faults/unless-fault.ts';
import { cleanLine } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import type { EngineAddress } from './engine.ts';

/** `/var/run/docker.sock (default Docker socket)` */
export function engineNameOf({ url, origin, machine }: EngineAddress): string {
  const on = machine === undefined ? '' : ` on ${cleanLine(machine)}`;
  return `${cleanLine(url.replace(/^unix:\/\//, ''))}${on} (${cleanLine(origin)})`;
}

function unreachable(message: string, remedy: string, cause?: unknown): Fault {
  return new Fault('unreachable.engine', message, remedy, { cause });
}

/** By the origin of its address; other addresses may be those of any engine. */
const starts: Readonly<Record<string, string>> = {
  'rootless Docker socket': 'systemctl --user start docker',
  'Docker Desktop': 'open Docker Desktop',
  Colima: 'colima start',
  'Podman socket': 'systemctl start podman.socket',
  'Podman machine': 'podman machine start',
};
const startText = ({ origin }: EngineAddress): string =>
  `Start it: ${starts[origin] ?? 'systemctl start docker, or for Podman systemctl --user start podman.socket'}. If it listens elsewhere, set DOCKER_HOST.`;

export function hangingFault(address: EngineAddress, limitMs: number): Fault {
  const remedy =
    'The engine may be starting, overloaded, stuck or waiting for a registry. Check its log, for example with journalctl -u docker.';
  return unreachable(`The engine at ${engineNameOf(address)} did not respond within ${limitMs / 1000} s.`, remedy);
}

export function rubbishFault(address: EngineAddress, saying: string, cause?: unknown): Fault {
  const remedy = 'Check the address in DOCKER_HOST, CONTAINER_HOST or the Docker context.';
  return unreachable(`The server at ${engineNameOf(address)} is not a container engine: ${saying}.`, remedy, cause);
}

export function brokenFault(address: EngineAddress, cause?: unknown): Fault {
  return unreachable(`The connection to the engine at ${engineNameOf(address)} was lost.`, 'Check that it is still running.', cause);
}

function codesOf(thrown: unknown): string[] {
  const codes: string[] = [];
  for (let one = thrown as NodeJS.ErrnoException | undefined; one && codes.length < 8; one = one.cause as typeof one)
    if (typeof one.code === 'string') codes.push(one.code);
  return codes;
}

function connectionFault(address: EngineAddress, thrown: unknown): Fault {
  const codes = codesOf(thrown);
  const engineName = engineNameOf(address);
  const [noEngine, startRemedy] = [`No engine is running at ${engineName}:`, startText(address)];
  const use =
    address.machine === undefined
      ? 'use a rootless engine: systemctl --user start podman.socket.'
      : `use sudo: set sudo: true for ${cleanLine(address.machine)} in config.yaml.`;
  const refused: [message: string, remedy: string] = address.url.startsWith('unix://')
    ? [`${noEngine} its socket exists, but nothing is listening on it.`, startRemedy]
    : [`${noEngine} connection refused.`, 'Start the engine, or check the address and port.'];
  const reasons: readonly (readonly [code: RegExp, message: string, remedy: string])[] = [
    [/^ENOENT$/, `${noEngine} socket not found.`, startRemedy],
    [/^ECONNREFUSED$/, ...refused],
    [
      /^(EACCES|EPERM)$/,
      `Permission denied for the engine at ${engineName}.`,
      `Join the group that owns the socket (sudo usermod -aG docker $USER, then log in again), or ${use}`,
    ],
    [/^ENOTSOCK$/, `${noEngine} the file is not a socket.`, 'Correct the address in DOCKER_HOST, CONTAINER_HOST or the Docker context.'],
    [
      /^(ENOTFOUND|EAI_AGAIN)$/,
      `The engine at ${engineName} cannot be found: host name not found.`,
      'Check the name in the address, and the DNS of this machine.',
    ],
    [
      /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/,
      `The engine at ${engineName} cannot be reached over the network.`,
      'Check the address, the network and the firewall.',
    ],
    ...tlsReasons.map(([code, reason, remedy]) => [code, `No TLS connection to the engine at ${engineName}: ${reason}.`, remedy] as const),
  ];
  const [, message, remedy = ''] = reasons.find(([pattern]) => codes.some((code) => pattern.test(code))) ?? [];
  if (message !== undefined) return unreachable(message, remedy, thrown);
  if (codes.some((code) => code.startsWith('HPE_'))) return rubbishFault(address, 'its response is not HTTP', thrown);
  if (thrown instanceof Fault) return thrown.code === 'unreachable.engine' ? thrown : unreachable(thrown.message, thrown.remedy, thrown);
  return brokenFault(address, thrown);
}

const tlsReasons: readonly (readonly [code: RegExp, reason: string, remedy: string])[] = [
  [/CERT_HAS_EXPIRED/, 'its certificate has expired', 'Renew the certificate of the engine.'],
  [/ALTNAME_INVALID/, 'its certificate is for another name', 'Use the name or address in the certificate.'],
  [
    /SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_UNTRUSTED|CERT_SIGNATURE/,
    'its certificate is not signed by the authority in ca.pem',
    'Add the authority that signed it to ca.pem in DOCKER_CERT_PATH or the context.',
  ],
  [
    /ALERT_(BAD_CERTIFICATE|CERTIFICATE_REQUIRED|UNKNOWN_CA|HANDSHAKE_FAILURE|CERTIFICATE_UNKNOWN|ACCESS_DENIED)/,
    'it refuses the client certificate',
    'Put a cert.pem and key.pem that the engine trusts in DOCKER_CERT_PATH or the context.',
  ],
  [
    /WRONG_VERSION_NUMBER|EPROTO|PACKET_LENGTH_TOO_LONG|UNEXPECTED_MESSAGE/,
    'it does not use TLS',
    'Unset DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or use its TLS port (usually 2376).',
  ],
  [/^ERR_(SSL|TLS|OSSL)/, 'the TLS handshake failed', 'Check ca.pem, cert.pem and key.pem in DOCKER_CERT_PATH or the context.'],
];

export interface EngineRefusal {
  statusCode: number;
  sentence: string;
}

export function refusalOf(thrown: unknown): EngineRefusal | undefined {
  const error = thrown as { statusCode?: unknown; message?: unknown } | undefined;
  if (typeof error?.statusCode !== 'number') return undefined;
  // dockerode's wrapper: `(HTTP code 404) no such container - No such container: nope `.
  const sentence = String(error.message ?? '')
    .replace(/^\(HTTP code \d+\) .*? - /s, '')
    .trim();
  return { statusCode: error.statusCode, sentence: cleanLine(plainWords(sentence)) };
}

/** For requests whose response has no content: Podman sometimes sends 200 or 201 where Docker sends 204, and dockerode expects Docker's. */
export async function acknowledged(asking: Promise<unknown>): Promise<void> {
  try {
    await asking;
  } catch (thrown) {
    const statusCode = refusalOf(thrown)?.statusCode ?? 0;
    if (statusCode < 200 || statusCode > 299) throw thrown;
  }
}

const noSuchContainer = /no such container|no container with (name or )?id/i;
/** Podman sends 500 where Docker sends 409. */
const wrongState =
  /container state improper|is not running|is already (in use|paused)|is not paused|is being used|in use by|cannot remove a running|has active endpoints|volume is in use/i;

/** `engine.conflict`: the container's state does not allow it, or a resource is in use. */
export function refusalFault(address: EngineAddress, { statusCode, sentence }: EngineRefusal, cause?: unknown): Fault {
  const said = plainWords(sentence).replace(/\.$/, '') || `status ${statusCode}`;
  const fault = (code: `engine.${string}`, message: string, remedy: string) => new Fault(code, message, remedy, { cause });

  if (/client version .* is too (old|new)/i.test(sentence)) {
    const tooNew = 'The engine is too new for this version of Quarterdeck: update Quarterdeck.';
    const remedy = /too old/i.test(sentence) ? tooNew : 'The engine is too old for Quarterdeck: update the engine.';
    return unreachable(`The engine at ${engineNameOf(address)} does not support this API version: ${said}.`, remedy, cause);
  }
  if (/HTTP request to an HTTPS server/i.test(sentence)) {
    const remedy = 'Set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH, or use a context with its certificates.';
    return unreachable(`The engine at ${engineNameOf(address)} accepts only TLS.`, remedy, cause);
  }
  if (/log(ging)? driver|not logging output/i.test(sentence)) {
    const remedy =
      'The log driver stores nothing locally: check where it sends the log, or use the driver json-file and recreate the container.';
    return fault('engine.logDriver', `The log cannot be read: ${said}.`, remedy);
  }
  if (/name .*already in use|already in use by container|network .*already (exists|used)/i.test(sentence))
    return fault('engine.nameTaken', `The name is already in use: ${said}.`, 'Choose another name, or remove the other object.');
  if (noSuchContainer.test(sentence)) {
    const remedy = 'The container may have been removed or recreated: check the list again.';
    return fault('engine.noContainer', `Container not found: ${said}.`, remedy);
  }
  if (statusCode === 401 || statusCode === 403) {
    const remedy = 'A socket proxy or an authorisation plugin may block it: allow the request there.';
    return fault('engine.forbidden', `The engine does not allow this: ${said}.`, remedy);
  }
  if (statusCode === 409 || wrongState.test(sentence))
    return fault('engine.conflict', `The engine refused: ${said}.`, 'Check its state, and what uses it.');
  if (statusCode === 501 || statusCode === 405 || (statusCode === 404 && /^(page )?not found$/i.test(said)))
    return fault('engine.notSupported', `The engine does not support this: ${said}.`, 'Use an engine that supports it.');
  const missingFile = /^Could not find the file (.+) in container \S+$|^no such file or directory$/.exec(said);
  if (statusCode === 404 && missingFile) {
    const message = `${missingFile[1] ?? 'The file'} was not found in the container.`;
    return fault('engine.missing', message, 'Check the path: it must be absolute in the container.');
  }
  if (statusCode === 404) return fault('engine.missing', `Not found: ${said}.`, 'It may have been removed: check the list again.');
  return fault('engine.failed', `The engine failed: ${said}.`, 'Check the log of the engine (journalctl -u docker, or -u podman).');
}

export function requestFault(address: EngineAddress, thrown: unknown): Fault {
  if (thrown instanceof Fault && !thrown.code.startsWith('unreachable.')) return thrown;
  const refusal = refusalOf(thrown);
  return refusal ? refusalFault(address, refusal, thrown) : connectionFault(address, thrown);
}

export function senselessFault(address: EngineAddress, what: string, cause?: unknown): Fault {
  return rubbishFault(address, `${what} is not a response of an engine`, cause);
}

export const unlessMissing = <T>(asking: Promise<T>) => unlessCode(asking, ['engine.noContainer', 'engine.missing'], undefined);

/** Undefined if the engine refuses or fails, such as a socket proxy that allows only some requests: the value is then unknown. */
export const unlessRefused = <T>(asking: Promise<T>): Promise<T | undefined> =>
  asking.catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code.startsWith('engine.')) return undefined;
    throw thrown;
  });
