import type { SendGate } from '../paced-connection.ts';

/** A line that is filled for longer than this holds up whatever else goes over it. */
const fullMs = 400;
/** Below it there is certainly room for more. */
const roomyMs = 100;
/** Where even the least seems too much, more is tried now and then. */
const trialMs = 20_000;
const leastBytes = 16 * 1024;
const mostBytes = 16 * 1024 * 1024;
const mostPieceBytes = 64 * 1024;
/** More under way has to bring so much more through, or the line is full. */
const worthIt = 1.3;
const noSooner = 0.8;

interface Waiting {
  sizeBytes: number;
  go: () => void;
}

/**
 * How much of what we send over one connection may be under way. ssh takes two megabytes for each stream without looking at the line: on a narrow one every
 * question would wait behind them for the better part of a minute, and so would the answer that tells a slow line from a dead one. So a question goes along
 * with what is sent, and by the time that its answer takes the room grows to what the line carries, and no further.
 */
export class SendWindow implements SendGate {
  /** Over this connection, of what is large or lasts. */
  receivedBytes = 0;
  readonly #roundTrip: () => Promise<unknown>;
  #roomBytes = leastBytes;
  /** Let go, known to have arrived, and behind how much the last question was asked: bytes since the beginning. */
  #sent = 0;
  #arrived = 0;
  #marked = 0;
  #arrivedMs = 0;
  /** Of a line with nothing on it. */
  #idleMs = Number.POSITIVE_INFINITY;
  /** How it was before the room was last changed: bytes, bytes a millisecond, milliseconds to an answer. And how much was sent then. */
  #roomBefore = leastBytes;
  #paceBefore = 0;
  #tookBefore = 0;
  #longestMs = 0;
  #changed = 0;
  #nextTrialMs = 0;
  #waiting: Waiting[] = [];
  #isOver = false;

  /** @param roundTrip asks for something over the same connection; what was sent before it has arrived when it is answered */
  constructor(roundTrip: () => Promise<unknown>) {
    this.#roundTrip = roundTrip;
  }

  /** In how large pieces it is best to ask for room. */
  get pieceBytes(): number {
    return Math.min(mostPieceBytes, this.#roomBytes / 4);
  }

  /** Calls `go` when there is room for so much, in the order of the calls. */
  admit(sizeBytes: number, go: () => void): void {
    this.#waiting.push({ sizeBytes, go });
    this.#letGo();
  }

  received(sizeBytes: number): void {
    this.receivedBytes += sizeBytes;
  }

  /** Tells how long an answer takes, whatever else is under way. */
  heard(roundTripMs: number): void {
    this.#idleMs = Math.min(this.#idleMs, roundTripMs);
  }

  /** Nothing is held back any more: it has nowhere to go. */
  close(): void {
    this.#isOver = true;
    this.#letGo();
  }

  #letGo(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const underWay = this.#sent - this.#arrived;
      if (!this.#isOver && underWay > 0 && underWay + next.sizeBytes > this.#roomBytes) {
        if (this.#marked === this.#arrived) void this.#mark();
        return;
      }
      this.#waiting.shift();
      this.#sent += next.sizeBytes;
      next.go();
      if (!this.#isOver && this.#sent - this.#marked >= this.#roomBytes / 2) void this.#mark();
    }
  }

  async #mark(): Promise<void> {
    const startedMs = performance.now();
    const mark = this.#sent;
    const from = { arrived: this.#arrived, atMs: this.#marked === this.#arrived ? startedMs : this.#arrivedMs };
    this.#marked = mark;
    // One that gets no answer in time tells nothing about how much fits.
    const isAnswered = await this.#roundTrip().then(
      () => true,
      () => false,
    );
    const nowMs = performance.now();
    this.#arrived = Math.max(this.#arrived, mark);
    this.#arrivedMs = nowMs;
    if (isAnswered) this.#learn(nowMs - startedMs, { since: from.arrived, pace: (mark - from.arrived) / Math.max(1, nowMs - from.atMs) });
    this.#letGo();
  }

  /**
   * @param since how much had arrived when it was asked
   * @param pace bytes a millisecond from then on
   */
  #learn(tookMs: number, { since, pace }: { since: number; pace: number }): void {
    this.heard(tookMs);
    this.#longestMs = Math.max(this.#longestMs, tookMs);
    // A change shows in what was sent after it; then the slowest answer of the whole round counts.
    if (since < this.#changed) return;
    const longestMs = this.#longestMs;
    const filledMs = longestMs - this.#idleMs;
    const before = this.#roomBefore;
    // Where nobody sends as much as there is room for, nothing is learnt about more.
    const isWanted = this.#waiting.length > 0;
    if (filledMs <= fullMs) {
      const pays = filledMs < roomyMs || (before < this.#roomBytes && pace > worthIt * this.#paceBefore);
      this.#change(isWanted && pays ? this.#roomBytes * 2 : this.#roomBytes, { pace, longestMs });
    } else if (before > this.#roomBytes && tookMs > this.#tookBefore * noSooner) {
      // With half as much under way a full line would answer sooner: it is the machine there that takes so long.
      this.#idleMs = tookMs;
      this.#change(before, { pace, longestMs });
    } else if (before < this.#roomBytes && pace > worthIt * this.#paceBefore) this.#change(this.#roomBytes * 2, { pace, longestMs });
    else if (this.#roomBytes > leastBytes) this.#change(Math.min(pace * fullMs, this.#roomBytes / 2), { pace, longestMs });
    else if (isWanted && performance.now() >= this.#nextTrialMs) {
      this.#nextTrialMs = performance.now() + trialMs;
      this.#change(this.#roomBytes * 2, { pace, longestMs });
    } else this.#change(this.#roomBytes, { pace, longestMs });
  }

  #change(roomBytes: number, { pace, longestMs }: { pace: number; longestMs: number }): void {
    this.#roomBefore = this.#roomBytes;
    this.#tookBefore = longestMs;
    // A moment in which little was sent must not look like a line that carries little.
    this.#paceBefore = Math.max(pace, this.#paceBefore * 0.9);
    this.#changed = this.#sent;
    this.#longestMs = 0;
    this.#roomBytes = Math.min(mostBytes, Math.max(leastBytes, roomBytes));
  }
}
