import { bytesText } from '../text/quantities.ts';
import type { EngineKind, PullProgress } from './engine.ts';

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
    if (this.#layers.size === 0) return { fraction: 1, text: 'already here' };
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
