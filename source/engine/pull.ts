import { Fault, type FaultCode } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import { bytesText } from '../text/quantities.ts';
import type { EngineKind, PullProgress } from './engine.ts';
import { refusalOf } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { imageNameParts, wholeImageName } from './image-name.ts';
import { jsonLinesOf } from './json-lines.ts';

/** Before its first line, an engine queries the registry, and each mirror before it. */
const registryLimitMs = 3 * 60_000;
const digestLimitMs = 60_000;
/** Between two lines: a large layer is verified and unpacked without output. */
const silenceLimitMs = 15 * 60_000;

type PullAnswerLine = PullLine & { error?: unknown; errorDetail?: { message?: unknown } | null };

/** A failure comes as a status or, once the engine has begun to report, as a line: Fault `engine.pull`; `unreachable.engine`. */
export async function pullImage(
  link: EngineLink,
  reference: string,
  { kind, signal, reported }: { kind: EngineKind; signal: AbortSignal; reported: (progress: PullProgress) => void },
): Promise<void> {
  const { name, choice } = imageNameParts(reference);
  const answer = await link
    .open('/images/create', { method: 'POST', query: { fromImage: name, tag: choice }, signal, limitMs: registryLimitMs })
    .catch((thrown: unknown) => {
      const refusal = thrown instanceof Fault && thrown.code.startsWith('engine.') ? refusalOf(thrown.cause) : undefined;
      throw refusal ? pullFault(reference, refusal.sentence, thrown) : thrown;
    });
  const sum = new PullSum(kind);
  let last: string | undefined;
  const tell = (progress: PullProgress) => {
    const shown = `${progress.fraction?.toFixed(2)} ${progress.text}`;
    if (shown === last) return;
    last = shown;
    reported(progress);
  };
  using silence = setTimeout(() => answer.destroy(silentFault(reference)), silenceLimitMs);
  try {
    for await (const line of jsonLinesOf(answer) as AsyncIterable<PullAnswerLine>) {
      silence.refresh();
      const failure = line.errorDetail?.message ?? line.error;
      if (failure) throw pullFault(reference, String(failure));
      const progress = sum.take(line);
      if (progress) tell(progress);
    }
    tell(sum.end());
  } catch (thrown) {
    throw await link.faultOf(thrown, signal);
  }
}

const unreachable =
  /no such host|lookup |dial tcp|i\/o timeout|connection (refused|reset)|network is unreachable|deadline exceeded|TLS handshake timeout|Client\.Timeout/i;

const remedies: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [/no space left/i, 'Free space on the disk of the engine (quarterdeck prune), then pull again.'],
  [/toomanyrequests|rate limit/i, 'The registry limits pulls: wait, or pull it by hand with your own account.'],
  [
    /no matching manifest|no image found in (manifest list|image index)|does not match the (specified|expected) platform/i,
    'The image is not available for this architecture: choose another tag.',
  ],
  [/server gave HTTP response to HTTPS/i, 'The registry has no TLS: enable it there, or allow the registry as insecure in the engine.'],
  [/x509|certificate/i, 'Check the certificate of the registry, and the clock of the machine.'],
  [unreachable, 'Check that the host can reach the registry: network, DNS, proxy.'],
  [
    /unauthorized|denied|authentication required|requires? .*login/i,
    'Check the name. A private image must be pulled by hand, by a user who is logged in to the registry.',
  ],
  [/manifest unknown|not found|unknown: |name unknown|invalid reference/i, 'Check the name and the tag in the registry.'],
];

function pullFault(reference: string, said: string, cause?: unknown): Fault {
  const reason = cleanLine(plainWords(said)).trim().replace(/\.$/, '') || 'the engine reports no reason';
  return registryFault('engine.pull', `${cleanLine(wholeImageName(reference))} cannot be pulled: ${reason}.`, reason, cause);
}

function registryAnswerFault(reference: string, said: string, cause?: unknown): Fault {
  const reason = cleanLine(said).trim().replace(/\.$/, '') || 'the engine reports no reason';
  const message = `Cannot query the registry for ${cleanLine(wholeImageName(reference))}: ${reason}.`;
  return registryFault(unreachable.test(reason) ? 'unreachable.registry' : 'engine.registry', message, reason, cause);
}

function registryFault(code: FaultCode, message: string, reason: string, cause: unknown): Fault {
  const remedy = remedies.find(([pattern]) => pattern.test(reason))?.[1] ?? 'Check the log of the engine.';
  return new Fault(code, message, remedy, { cause });
}

function silentFault(reference: string): Fault {
  const message = `${cleanLine(wholeImageName(reference))} cannot be pulled: the engine reported no progress for ${silenceLimitMs / 60_000} minutes.`;
  const remedy = 'Check the network and the disk of the engine, then pull again: finished layers are not downloaded again.';
  return new Fault('engine.pull', message, remedy);
}

/**
 * The digest of a name in the registry now; undefined if a socket proxy forbids the query, or if it requires a login.
 * @throws Fault `engine.registry` with the registry's own reason, `unreachable.registry` if the engine cannot reach it
 */
export async function registryDigestOf(link: EngineLink, reference: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const path = `/distribution/${encodeURIComponent(reference)}/json`;
    const answer = await link.get<{ Descriptor?: { digest?: unknown } | null }>(path, { signal, limitMs: digestLimitMs });
    const digest = answer.Descriptor?.digest;
    return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || !thrown.code.startsWith('engine.')) throw thrown;
    if (thrown.code === 'engine.forbidden' || thrown.code === 'engine.notSupported') return undefined;
    throw registryAnswerFault(reference, refusalOf(thrown.cause)?.sentence ?? thrown.message, thrown);
  }
}

export interface PullLine {
  id?: unknown;
  status?: unknown;
  progressDetail?: { current?: unknown; total?: unknown; units?: unknown } | null;
}

interface Layer {
  state: 'known' | 'coming' | 'fetched' | 'unpacking' | 'done';
  currentBytes: number;
  totalBytes: number;
  /** Progress of the unpacking; some engines count seconds here without a total. */
  unpacked: number;
}

/** An estimate that fits the disks and lines of home servers. */
const fetchingShare = 0.8;

/** Lines that are not about a layer (`Digest: …`, `Pulling from …`) are skipped. */
export class PullSum {
  readonly #layers = new Map<string, Layer>();
  readonly #unpackingIsReported: boolean;
  #most = 0;

  /** Podman reports no unpacking, often no sizes, and counts the image's configuration as a layer. */
  constructor(kind: EngineKind) {
    this.#unpackingIsReported = kind === 'docker';
  }

  /** Returns the total after this line, undefined if it changes nothing. */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each state of a layer has its own counters, and engines leave out values
  take({ id, status, progressDetail }: PullLine): PullProgress | undefined {
    if (typeof id !== 'string' || typeof status !== 'string') return undefined;
    const said = stateOf(status);
    // The very first line has the tag in place of a layer's id.
    if (said === undefined) return undefined;
    const state = said === 'fetched' && !this.#unpackingIsReported ? 'done' : said;
    const layer = this.#layers.get(id) ?? { state: 'known', currentBytes: 0, totalBytes: 0, unpacked: 0 };
    this.#layers.set(id, layer);
    // A layer whose download was interrupted starts again.
    layer.state = state;
    const current = Number(progressDetail?.current ?? 0);
    const total = Number(progressDetail?.total ?? 0);
    if (state === 'coming') {
      if (total > 0) layer.totalBytes = total;
      layer.currentBytes = layer.totalBytes > 0 ? Math.min(current, layer.totalBytes) : current;
    } else if (state !== 'known') {
      if (layer.totalBytes === 0) layer.totalBytes = layer.currentBytes;
      layer.currentBytes = layer.totalBytes;
      layer.unpacked = state === 'done' ? 1 : total > 0 ? Math.min(1, current / total) : 0;
    }
    return this.#now();
  }

  end(): PullProgress {
    if (this.#layers.size === 0) return { fraction: 1, text: 'already present' };
    for (const layer of this.#layers.values()) {
      layer.state = 'done';
      if (layer.totalBytes > 0) layer.currentBytes = layer.totalBytes;
    }
    return { ...this.#now(), fraction: 1 };
  }

  #now(): PullProgress {
    const layers = [...this.#layers.values()];
    const done = layers.filter(({ state }) => state === 'done').length;
    const reported = layers.filter(({ totalBytes }) => totalBytes > 0);
    const totalBytes = reported.reduce((sum, layer) => sum + layer.totalBytes, 0);
    const currentBytes = layers.reduce((sum, layer) => sum + layer.currentBytes, 0);
    const counted = `${done} of ${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}`;
    const fetched =
      totalBytes > 0 ? `${bytesText(currentBytes)} of ${bytesText(Math.max(totalBytes, currentBytes))}` : bytesText(currentBytes);
    return { fraction: this.#fraction(layers, reported, totalBytes), text: currentBytes > 0 ? `${counted}, ${fetched}` : counted };
  }

  /** Layers whose size is not reported yet have the average weight of the known ones. */
  #fraction(layers: readonly Layer[], reported: readonly Layer[], totalBytes: number): number | undefined {
    if (reported.length === 0) return undefined;
    const average = totalBytes / reported.length;
    const here = layers.filter(({ state, totalBytes: size }) => state === 'done' && size === 0);
    const weighed = layers.length - here.length;
    const fetched = reported.reduce((sum, layer) => sum + layer.currentBytes, 0);
    const unpacked = reported.reduce((sum, layer) => sum + layer.unpacked * layer.totalBytes, 0);
    const share = (fetchingShare * fetched + (1 - fetchingShare) * unpacked) / (average * weighed);
    // A layer that is larger than estimated must not move the bar back.
    this.#most = Math.max(this.#most, Math.min(0.99, share));
    return this.#most;
  }
}

function stateOf(status: string): Layer['state'] | undefined {
  if (/^(pulling fs layer|waiting|retrying)/i.test(status)) return 'known';
  if (/^downloading/i.test(status)) return 'coming';
  if (/^(download complete|verifying checksum)/i.test(status)) return 'fetched';
  if (/^extracting/i.test(status)) return 'unpacking';
  if (/^(pull complete|already exists)/i.test(status)) return 'done';
  return undefined;
}
