import { generateKeyPairSync } from 'node:crypto';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { ExecOptions, ExecOutcome } from '../../../hosts/host.ts';
import { runProgram } from '../../../hosts/program.ts';
import { cleanLine, cleanLines } from '../../../text/clean.ts';
import { listOf, objectOf, parsedJson, textOf } from '../../../text/json-value.ts';
import type { OverlayMesh } from './overlay-book.ts';

const limitMs = 20_000;
const keyBytes = 32;

export type OverlayCertificate = ReturnType<typeof certificatesOf>[number];

export interface NodeRequest extends Pick<OverlayMesh['nodes'][number], 'name' | 'network' | 'groups' | 'subnets'> {
  /** Lifetime; undefined for that of the authority. */
  seconds: number | undefined;
}

type SignedKey = Record<'certificate' | 'key', string>;

/* nebula-cert of Nebula runs on this machine, wherever the mesh is: the authority's key is not sent to another machine. */

/**
 * Creates an authority: its certificate and its private key, which is in a temporary folder only while the program runs. Throws
 * `refused.noProgram` and `failed.overlay`, as all of these do.
 */
export async function createCa({ signal }: Grant, { name, seconds }: { name: string; seconds: number }): Promise<SignedKey> {
  const script = `${inMemory}
nebula-cert ca -name "$1" -duration "$2" -out-crt "$d/ca.crt" -out-key "$d/ca.key" >&2 && cat "$d/ca.crt" "$d/ca.key"`;
  const text = await outputOf('create the CA', script, { signal }, [name, `${seconds}s`]);
  const [certificate, key] = [blockOf(text, 'CERTIFICATE'), blockOf(text, 'ED25519 PRIVATE KEY')];
  if (certificate === undefined || key === undefined) throw failed('create the CA', text.includes('PRIVATE') ? '' : text);
  return { certificate, key };
}

/** Signs a node, whose private key is created here and never passed to the program; that of the authority is passed through a pipe. */
export async function signNode({ signal }: Grant, authority: SignedKey, request: NodeRequest): Promise<SignedKey> {
  const { name, network, groups, subnets, seconds } = request;
  const pair = makeNodeKey();
  const script = `${inMemory}
printf '%s\\n' "$OVERLAY_CA" >"$d/ca.crt" && printf '%s\\n' "$OVERLAY_PUBLIC" >"$d/host.pub" || exit
cat | nebula-cert sign -ca-key /dev/stdin -ca-crt "$d/ca.crt" -in-pub "$d/host.pub" -out-crt "$d/host.crt" "$@" >&2 && cat "$d/host.crt"`;
  const words = [
    ...['-name', name, '-ip', network],
    ...(groups.length > 0 ? ['-groups', groups.join(',')] : []),
    ...(subnets.length > 0 ? ['-subnets', subnets.join(',')] : []),
    ...(seconds === undefined ? [] : ['-duration', `${seconds}s`]),
  ];
  const env = { OVERLAY_CA: authority.certificate, OVERLAY_PUBLIC: pair.publicKey };
  const text = await outputOf('sign the certificate', script, { signal, stdin: `${authority.key}\n`, env }, words);
  const certificate = blockOf(text, 'CERTIFICATE');
  if (certificate === undefined) throw failed('sign the certificate', text);
  return { certificate, key: pair.privateKey };
}

export async function inspectCertificates(pem: string, signal: AbortSignal): Promise<OverlayCertificate[]> {
  const outcome = await runScript(readingScript, { signal, stdin: pem });
  if (outcome.exitCode !== 0) throw failed('read the certificate', wordsOf(outcome), 'Check that it is a complete Nebula certificate.');
  return certificatesOf(new TextDecoder().decode(outcome.stdout));
}

/** Checks that the certificate was signed by this authority and is valid now. Returns a sentence if not. */
export async function verifyCertificate(authority: string, certificate: string, signal: AbortSignal): Promise<string | undefined> {
  const script = `${inMemory}
printf '%s\\n' "$OVERLAY_CA" >"$d/ca.crt" && printf '%s\\n' "$OVERLAY_NODE" >"$d/host.crt" && nebula-cert verify -ca "$d/ca.crt" -crt "$d/host.crt"`;
  const outcome = await runScript(script, { signal, env: { OVERLAY_CA: authority, OVERLAY_NODE: certificate } });
  return outcome.exitCode === 0 ? undefined : wordsOf(outcome) || 'the certificate is not valid';
}

type ScriptOptions = Pick<ExecOptions, 'signal' | 'stdin' | 'env'>;

async function outputOf(what: string, script: string, options: ScriptOptions, words?: readonly string[]): Promise<string> {
  const outcome = await runScript(script, options, words);
  if (outcome.exitCode !== 0) throw failed(what, wordsOf(outcome));
  return new TextDecoder().decode(outcome.stdout);
}

/** Throws `refused.noProgram` if the program or its shell is missing. */
async function runScript(script: string, options: ScriptOptions, words: readonly string[] = []): Promise<ExecOutcome> {
  const outcome = await runProgram(['sh', '-c', script, 'sh', ...words], { ...options, limitMs }).catch((thrown: unknown) => {
    throw thrown instanceof Fault && thrown.kind === 'unreachable' ? missing(thrown) : thrown;
  });
  if (outcome.exitCode === 127) throw missing();
  return outcome;
}

/** The stdin of a child process is a socket, which cannot be opened by its name in /dev; a pipe can. */
const readingScript = 'cat | nebula-cert print -json -path /dev/stdin';

/** A folder, in memory if the machine has one, readable only by the current user. It is deleted when the script ends for any reason. */
const inMemory = `umask 077
for base in "$XDG_RUNTIME_DIR" /dev/shm "\${TMPDIR:-/tmp}"; do
  [ -n "$base" ] && d=$(mktemp -d "$base/quarterdeck-overlay.XXXXXX" 2>/dev/null) && break
done
[ -n "$d" ] || exit 1
trap 'rm -rf "$d"' EXIT
trap 'exit 1' HUP INT TERM`;

function makeNodeKey(): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  const raw = (der: Buffer) => der.subarray(-keyBytes).toString('base64');
  return {
    privateKey: pemOf('X25519 PRIVATE KEY', raw(privateKey.export({ format: 'der', type: 'pkcs8' }))),
    publicKey: pemOf('X25519 PUBLIC KEY', raw(publicKey.export({ format: 'der', type: 'spki' }))),
  };
}

function pemOf(what: string, base64: string): string {
  return `-----BEGIN NEBULA ${what}-----\n${base64}\n-----END NEBULA ${what}-----`;
}

function blockOf(text: string, what: string): string | undefined {
  return new RegExp(`-----BEGIN NEBULA ${what}( V2)?-----[\\s\\S]*?-----END NEBULA ${what}( V2)?-----`).exec(text)?.[0];
}

/** Releases from 1.10 on call addresses networks, and print a list. */
function certificatesOf(printed: string) {
  const texts = printed.trim().startsWith('[') ? [printed] : printed.split('\n');
  const found = texts.flatMap((text) => parsedJson(text) ?? []);
  return found.flatMap((one) => {
    const certificate = objectOf(one);
    const details = objectOf(certificate?.['details']);
    if (!certificate || !details) return [];
    const list = (...names: string[]) =>
      names.flatMap((name) => listOf(details[name]).map((text) => cleanLine(textOf(text)))).filter(Boolean);
    const time = (name: string) => Date.parse(textOf(details[name]));
    return [
      {
        name: cleanLine(textOf(details['name'])),
        isAuthority: details['isCa'] === true,
        /** With prefix length: `10.1.0.2/24`. */
        networks: list('ips', 'networks'),
        groups: list('groups'),
        /** Networks that are routed through the node. */
        subnets: list('subnets', 'unsafeNetworks'),
        fromMs: time('notBefore'),
        untilMs: time('notAfter'),
        /** Fingerprint of the authority's certificate; empty for an authority. */
        issuer: cleanLine(textOf(details['issuer'])),
        fingerprint: cleanLine(textOf(certificate['fingerprint'])),
      },
    ];
  });
}

function wordsOf({ stdout, stderr }: ExecOutcome): string {
  const lines = [stderr, stdout]
    .flatMap((bytes) => cleanLines(new TextDecoder().decode(bytes).trim()))
    .filter((line) => line !== '' && !line.includes('PRIVATE'));
  return (lines.at(-1) ?? '')
    .replace(/^Error: /, '')
    .replace(/\.$/, '')
    .slice(0, 300);
}

function missing(cause?: unknown): Fault {
  const remedy =
    'Install nebula on this machine (Debian and Ubuntu: apt install nebula). Other machines cannot be used, because the CA key is not sent to them.';
  return new Fault('refused.noProgram', 'nebula-cert is not installed on this machine.', remedy, { cause });
}

function failed(what: string, words: string, remedy = 'Nothing was stored.'): Fault {
  return new Fault('failed.overlay', `nebula-cert could not ${what}${words === '' ? '' : `: ${cleanLine(words)}`}.`, remedy);
}
