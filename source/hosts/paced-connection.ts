import type { OnReadOpts, Socket } from 'node:net';
import { Duplex, type Writable } from 'node:stream';
import { areKeysFirst } from './key-priority.ts';

/** After a read that brought little: what is written meanwhile comes with the next one. */
export const usualRestMs = 1;
/** Whoever has so much to say at once is not kept waiting: a Unix socket holds 28 kB of lines of 100 characters. */
const muchBytes = 16 * 1024;
/**
 * Who brought so much within a second is a flood, such as a log of 100,000 lines/s, and not an answer that somebody waits for. While keys are pressed it is
 * read now and then: the engine keeps what waits, and two cores that are busy with it let a key wait for 40 to 80 ms instead of 20 (`npm run bench`).
 */
const floodBytes = 1024 * 1024;
const floodWindowMs = 1000;
const floodRestMs = 150;
/** All read into the same memory, one after the other, and copy out of it. */
const shared = Buffer.allocUnsafeSlow(64 * 1024);
/** Watches over a line that several share: lets what is sent go when there is room for it. */
export interface SendGate {
  /** How much to ask room for at once. */
  readonly pieceBytes: number;
  /** Calls `go` when there is room. */
  admit(sizeBytes: number, go: () => void): void;
  /** Told of what comes in. */
  received(sizeBytes: number): void;
}

/** Writes a piece when it is let go, and the next one when that was taken. */
export function writeInPieces(to: Writable, chunk: Buffer, gate: SendGate, done: (error?: Error | null) => void): void {
  const next = (from: number): void => {
    const piece = chunk.subarray(from, from + gate.pieceBytes);
    gate.admit(piece.length, () => {
      to.write(piece, (error) => {
        if (error || from + piece.length >= chunk.length) done(error);
        else next(from + piece.length);
      });
    });
  };
  next(0);
}

/**
 * A connection that is read in larger pieces. An engine sends a log line by line, and being woken for each costs both sides more than the line does: read a
 * thousand times a second, dockerd delivers half as much again (measured: 48,000 lines/s before, 77,000 after), for half of our work.
 */
export class PacedConnection extends Duplex {
  #socket: Socket | undefined;
  #rest: NodeJS.Timeout | undefined;
  #isWanted = true;
  readonly #gate: SendGate | undefined;
  #windowFromMs = 0;
  #windowBytes = 0;
  #isFlood = false;
  /** Between two reads; 0 reads all as it comes. */
  restMs: number;
  /** The other end is gone, or will say no more. */
  hasEnded = false;
  /** It said something. */
  hasSpoken = false;

  /** For `connect`. */
  readonly onread: OnReadOpts = {
    buffer: shared,
    callback: (sizeBytes) => this.#take(sizeBytes),
  };

  constructor({ restMs = usualRestMs, gate }: { restMs?: number; gate?: SendGate } = {}) {
    super({ allowHalfOpen: false });
    this.restMs = restMs;
    this.#gate = gate;
  }

  /** Takes the socket over that was connected with `onread`. */
  over(socket: Socket): this {
    this.#socket = socket;
    socket.on('error', (error) => this.destroy(error));
    let isWhole = false;
    socket.on('end', () => {
      isWhole = true;
      this.hasEnded = true;
      this.push(null);
    });
    // After its end there may still be something to take.
    socket.on('close', () => {
      this.hasEnded = true;
      if (!isWhole) this.destroy();
    });
    if (!this.#isWanted) socket.pause();
    return this;
  }

  #take(sizeBytes: number): boolean {
    const chunk = Buffer.allocUnsafe(sizeBytes);
    shared.copy(chunk, 0, 0, sizeBytes);
    this.hasSpoken = true;
    this.#gate?.received(sizeBytes);
    this.#isWanted = this.push(chunk);
    const giveWay = this.#floods(sizeBytes) && areKeysFirst();
    if (this.#isWanted && !giveWay && (sizeBytes >= muchBytes || this.restMs === 0)) return true;
    this.#rest ??= setTimeout(
      () => {
        this.#rest = undefined;
        if (this.#isWanted) this.#socket?.resume();
      },
      giveWay ? floodRestMs : this.restMs,
    );
    return false;
  }

  /** Once it floods it is taken for a flood until a second brings little though nothing held it up. */
  #floods(sizeBytes: number): boolean {
    this.#windowBytes += sizeBytes;
    if (this.#windowBytes >= floodBytes) this.#isFlood = true;
    const nowMs = performance.now();
    if (nowMs - this.#windowFromMs >= floodWindowMs) {
      if (this.#windowBytes < floodBytes && !areKeysFirst()) this.#isFlood = false;
      this.#windowFromMs = nowMs;
      this.#windowBytes = 0;
    }
    return this.#isFlood;
  }

  override _read(): void {
    this.#isWanted = true;
    if (!this.#rest) this.#socket?.resume();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const gate = this.#gate;
    if (!gate) {
      this.#socket?.write(chunk, encoding, done);
      return;
    }
    const socket = this.#socket;
    if (socket) writeInPieces(socket, chunk, gate, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (!this.#socket || this.#socket.destroyed) done();
    else this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#rest);
    this.#socket?.destroy();
    done(error);
  }
}
