import { bytesText } from '../text/quantities.ts';
import type { EngineKind, PullProgress } from './engine.ts';

/** One line of a pull. */
export interface PullLine {
  id?: unknown;
  status?: unknown;
  progressDetail?: { current?: unknown; total?: unknown; units?: unknown } | null;
}

interface Layer {
  state: 'known' | 'coming' | 'fetched' | 'unpacking' | 'done';
  currentBytes: number;
  totalBytes: number;
  /** Of the unpacking; some engines count seconds here and know no end. */
  unpacked: number;
}

/** What fetching weighs against unpacking: a guess that holds on the disks and lines that people have at home. */
const fetchingShare = 0.8;

/** Adds up what an engine says of single layers. What says nothing of a layer (`Digest: …`, `Pulling from …`) is passed over. */
export class PullSum {
  readonly #layers = new Map<string, Layer>();
  readonly #unpackingIsTold: boolean;
  #most = 0;

  /** @param kind Podman says nothing of unpacking, often nothing of sizes, and counts the image's configuration as a layer. */
  constructor(kind: EngineKind) {
    this.#unpackingIsTold = kind === 'docker';
  }

  /** The sum after this line, undefined where it changes nothing. */
  take({ id, status, progressDetail }: PullLine): PullProgress | undefined {
    if (typeof id !== 'string' || typeof status !== 'string') return undefined;
    const said = stateOf(status);
    // The first line of all has the tag where others have a layer's id.
    if (said === undefined) return undefined;
    const state = said === 'fetched' && !this.#unpackingIsTold ? 'done' : said;
    const layer = this.#layers.get(id) ?? { state: 'known', currentBytes: 0, totalBytes: 0, unpacked: 0 };
    this.#layers.set(id, layer);
    // A layer whose fetching broke off begins anew.
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

  /** The engine is done, and has not failed. */
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
    const told = layers.filter(({ totalBytes }) => totalBytes > 0);
    const totalBytes = told.reduce((sum, layer) => sum + layer.totalBytes, 0);
    const currentBytes = layers.reduce((sum, layer) => sum + layer.currentBytes, 0);
    const counted = `${done} of ${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}`;
    const fetched =
      totalBytes > 0 ? `${bytesText(currentBytes)} of ${bytesText(Math.max(totalBytes, currentBytes))}` : bytesText(currentBytes);
    return { fraction: this.#fraction(layers, told, totalBytes), text: currentBytes > 0 ? `${counted}, ${fetched}` : counted };
  }

  /** Engines fetch a few layers at a time and tell the size of the others later: until then those weigh what the known ones do on average. */
  #fraction(layers: readonly Layer[], told: readonly Layer[], totalBytes: number): number | undefined {
    if (told.length === 0) return undefined;
    const average = totalBytes / told.length;
    const here = layers.filter(({ state, totalBytes: size }) => state === 'done' && size === 0);
    const weighed = layers.length - here.length;
    const fetched = told.reduce((sum, layer) => sum + layer.currentBytes, 0);
    const unpacked = told.reduce((sum, layer) => sum + layer.unpacked * layer.totalBytes, 0);
    const share = (fetchingShare * fetched + (1 - fetchingShare) * unpacked) / (average * weighed);
    // A layer that turns out larger than guessed must not send the bar back.
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
