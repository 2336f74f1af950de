import { generateKeyPairSync } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { ExecOutcome, Host } from '../hosts/host.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { listOf, objectOf, parseJson, textOf } from '../text/json-value.ts';

const limitMs = 20_000;
const keyBytes = 32;

/** What a certificate of the overlay mesh says. */
export interface OverlayCertificate {
  name: string;
  isAuthority: boolean;
  /** With prefix: `10.1.0.2/24`. */
  networks: readonly string[];
  groups: readonly string[];
  /** Networks behind the node. */
  subnets: readonly string[];
  fromMs: number;
  untilMs: number;
  /** Of the authority's certificate; empty for an authority. */
  issuer: string;
  fingerprint: string;
}

export interface AuthorityWanted {
  name: string;
  seconds: number;
}

export interface NodeWanted {
  name: string;
  network: string;
  groups: readonly string[];
  subnets: readonly string[];
  /** Undefined: as long as the authority's. */
  seconds: number | undefined;
}

/**
 * `nebula-cert` of Nebula, run on this machine. Private keys of nodes are made here and never given to it; the authority's goes to it through a pipe.
 * Throws `refused.noProgram` and `failed.overlay`.
 */
export class OverlayCertificates {
  readonly #host: Host;

  /** `host` is this machine, wherever the mesh is: the authority's key does not travel. */
  constructor(host: Host) {
    this.#host = host;
  }

  /** A new authority: its certificate, and its private key, which rests in memory only while the program runs. */
  async makeAuthority(grant: Grant, { name, seconds }: AuthorityWanted): Promise<{ certificate: string; key: string }> {
    const script = `${inMemory}
nebula-cert ca -name "$1" -duration "$2" -out-crt "$d/ca.crt" -out-key "$d/ca.key" >&2 && cat "$d/ca.crt" "$d/ca.key"`;
    const text = await this.#run(grant, script, [name, `${seconds}s`], {});
    const [certificate, key] = [blockOf(text, 'CERTIFICATE'), blockOf(text, 'ED25519 PRIVATE KEY')];
    if (certificate === undefined || key === undefined) throw failed('make the authority', text.includes('PRIVATE') ? '' : text);
    return { certificate, key };
  }

  /** A certificate for a key that is made here. */
  async sign(
    grant: Grant,
    authority: { certificate: string; key: string },
    { name, network, groups, subnets, seconds }: NodeWanted,
  ): Promise<{ certificate: string; key: string }> {
    const pair = makeNodeKey();
    const script = `${inMemory}
printf '%s\\n' "$OVERLAY_CA" >"$d/ca.crt" && printf '%s\\n' "$OVERLAY_PUBLIC" >"$d/host.pub" || exit
cat | nebula-cert sign -ca-key /dev/stdin -ca-crt "$d/ca.crt" -in-pub "$d/host.pub" -out-crt "$d/host.crt" "$@" >&2 && cat "$d/host.crt"`;
    const argv = [
      ...['-name', name, '-ip', network],
      ...(groups.length > 0 ? ['-groups', groups.join(',')] : []),
      ...(subnets.length > 0 ? ['-subnets', subnets.join(',')] : []),
      ...(seconds === undefined ? [] : ['-duration', `${seconds}s`]),
    ];
    const text = await this.#run(grant, script, argv, {
      stdin: `${authority.key}\n`,
      env: { OVERLAY_CA: authority.certificate, OVERLAY_PUBLIC: pair.publicKey },
    });
    const certificate = blockOf(text, 'CERTIFICATE');
    if (certificate === undefined) throw failed('sign the certificate', text);
    return { certificate, key: pair.privateKey };
  }

  /** All certificates of a PEM text. */
  async inspect(pem: string, signal: AbortSignal): Promise<OverlayCertificate[]> {
    const outcome = await this.#program(() => this.#host.exec(['sh', '-c', readingScript], { signal, limitMs, stdin: pem }));
    if (outcome.exitCode === 127) throw missing();
    if (outcome.exitCode !== 0) throw failed('read the certificate', wordsOf(outcome));
    return certificatesOf(new TextDecoder().decode(outcome.stdout));
  }

  /** Was it signed by this authority, and is it good now? A sentence where not. */
  async verify(authority: string, certificate: string, signal: AbortSignal): Promise<string | undefined> {
    const script = `${inMemory}
printf '%s\\n' "$OVERLAY_CA" >"$d/ca.crt" && printf '%s\\n' "$OVERLAY_NODE" >"$d/host.crt" && nebula-cert verify -ca "$d/ca.crt" -crt "$d/host.crt"`;
    const outcome = await this.#program(() =>
      this.#host.exec(['sh', '-c', script, 'sh'], { signal, limitMs, env: { OVERLAY_CA: authority, OVERLAY_NODE: certificate } }),
    );
    if (outcome.exitCode === 127) throw missing();
    return outcome.exitCode === 0 ? undefined : wordsOf(outcome) || 'it is not good';
  }

  async #run(
    grant: Grant,
    script: string,
    words: readonly string[],
    given: { stdin?: string; env?: Record<string, string> },
  ): Promise<string> {
    const outcome = await this.#program(() =>
      this.#host.run(grant, ['sh', '-c', script, 'sh', ...words], { signal: grant.signal, limitMs, ...given }),
    );
    if (outcome.exitCode === 127) throw missing();
    if (outcome.exitCode !== 0) throw failed('do it', wordsOf(outcome));
    return new TextDecoder().decode(outcome.stdout);
  }

  async #program(run: () => Promise<ExecOutcome>): Promise<ExecOutcome> {
    try {
      return await run();
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'unreachable') throw missing(thrown);
      throw thrown;
    }
  }
}

/** What comes to a program that we start is a socket, which cannot be opened by its name in /dev: a pipe can. */
const readingScript = 'cat | nebula-cert print -json -path /dev/stdin';

/** A folder in memory that only we may read, and that is gone when the script is, whatever ends it. */
const inMemory = `umask 077
for base in "$XDG_RUNTIME_DIR" /dev/shm "\${TMPDIR:-/tmp}"; do
  [ -n "$base" ] && d=$(mktemp -d "$base/quarterdeck-overlay.XXXXXX" 2>/dev/null) && break
done
[ -n "$d" ] || exit 1
trap 'rm -rf "$d"' EXIT
trap 'exit 1' HUP INT TERM`;

/** X25519, in the PEM of nebula. */
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
export function certificatesOf(printed: string): OverlayCertificate[] {
  const texts = printed.trim().startsWith('[') ? [printed] : printed.split('\n');
  const found = texts.flatMap((text) => {
    if (text.trim() === '') return [];
    try {
      const json = parseJson(text) as unknown;
      return Array.isArray(json) ? (json as unknown[]) : [json];
    } catch {
      return [];
    }
  });
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
        networks: list('ips', 'networks'),
        groups: list('groups'),
        subnets: list('subnets', 'unsafeNetworks'),
        fromMs: time('notBefore'),
        untilMs: time('notAfter'),
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
  return new Fault({
    code: 'refused.noProgram',
    message: 'There is no nebula-cert on this machine.',
    remedy: 'Install nebula here (apt install nebula): the key of the authority does not travel.',
    cause,
  });
}

function failed(what: string, words: string): Fault {
  return new Fault({
    code: 'failed.overlay',
    message: `nebula-cert could not ${what}${words === '' ? '' : `: ${cleanLine(words)}`}.`,
    remedy: 'Nothing was kept.',
  });
}
