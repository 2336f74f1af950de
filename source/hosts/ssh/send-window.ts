import type { SendGate } from '../paced-connection.ts';

/** If responses take this much longer than on an idle line, the window is too large: all other traffic waits as long. */
const queueLimitMs = 400;
/** Below this delay, the window may always grow. */
const emptyQueueMs = 100;
/** At the minimum, a larger window is tried this often, although the line seems full. */
const trialIntervalMs = 20_000;
const minWindowBytes = 16 * 1024;
const maxWindowBytes = 16 * 1024 * 1024;
const maxPieceBytes = 64 * 1024;
/** A larger window has to raise the throughput by this factor; otherwise the line is full. */
const minGain = 1.3;
/** A smaller window has to shorten the response time to this share; otherwise the remote machine is slow, and not the line. */
const minSpeedUp = 0.8;

/**
 * Limits how much of our data may be in flight over one connection. ssh accepts two megabytes for each stream regardless of the line: on
 * a narrow line, every query would wait behind them for the better part of a minute, and so would the response that tells a slow line
 * from a dead one. So a query goes along with the data, and from its response time the window grows to what the line carries, and no
 * further.
 */
export class SendWindow implements SendGate {
  /** Bytes of large or long transfers over this connection. */
  receivedBytes = 0;
  #windowBytes = minWindowBytes;
  /** Bytes since the beginning: released, known to have arrived, and sent before the last query. */
  #sentBytes = 0;
  #ackedBytes = 0;
  #probedBytes = 0;
  #ackedAtMs = 0;
  /** Response time of an idle line: the shortest one measured. */
  #baseRttMs = Number.POSITIVE_INFINITY;
  /** The longest response time since the last adjustment. */
  #maxRttMs = 0;
  /** Before the last adjustment: the window, bytes a millisecond, the longest response time; and the bytes sent by then. */
  #previousWindowBytes = minWindowBytes;
  #previousRate = 0;
  #previousRttMs = 0;
  #adjustedAtBytes = 0;
  #nextTrialMs = 0;
  #waiting: { sizeBytes: number; go: () => void }[] = [];
  #isClosed = false;

  /** @param roundTrip sends a query over the same connection; data sent before it has arrived when it resolves */
  constructor(private readonly roundTrip: () => Promise<unknown>) {}

  get pieceBytes(): number {
    return Math.min(maxPieceBytes, this.#windowBytes / 4);
  }

  /** Calls `go` when the window has space for this many bytes, in the order of the calls. */
  admit(sizeBytes: number, go: () => void): void {
    this.#waiting.push({ sizeBytes, go });
    this.#release();
  }

  received(sizeBytes: number): void {
    this.receivedBytes += sizeBytes;
  }

  recordRoundTrip(roundTripMs: number): void {
    this.#baseRttMs = Math.min(this.#baseRttMs, roundTripMs);
  }

  /** Releases everything that is held back: the connection is gone. */
  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  #release(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const inFlight = this.#sentBytes - this.#ackedBytes;
      if (!this.#isClosed && inFlight > 0 && inFlight + next.sizeBytes > this.#windowBytes) {
        if (this.#probedBytes === this.#ackedBytes) void this.#probe();
        return;
      }
      this.#waiting.shift();
      this.#sentBytes += next.sizeBytes;
      next.go();
      if (!this.#isClosed && this.#sentBytes - this.#probedBytes >= this.#windowBytes / 2) void this.#probe();
    }
  }

  async #probe(): Promise<void> {
    const startedMs = performance.now();
    const sentBytes = this.#sentBytes;
    const from = { arrived: this.#ackedBytes, atMs: this.#probedBytes === this.#ackedBytes ? startedMs : this.#ackedAtMs };
    this.#probedBytes = sentBytes;
    // A query that times out says nothing about the window.
    const isAnswered = await this.roundTrip().then(
      () => true,
      () => false,
    );
    const nowMs = performance.now();
    this.#ackedBytes = Math.max(this.#ackedBytes, sentBytes);
    this.#ackedAtMs = nowMs;
    if (isAnswered)
      this.#adjust(nowMs - startedMs, { since: from.arrived, rate: (sentBytes - from.arrived) / Math.max(1, nowMs - from.atMs) });
    this.#release();
  }

  /**
   * @param since bytes that had arrived when the query was sent
   * @param rate bytes a millisecond from then on
   */
  #adjust(rttMs: number, { since, rate }: { since: number; rate: number }): void {
    this.recordRoundTrip(rttMs);
    this.#maxRttMs = Math.max(this.#maxRttMs, rttMs);
    // An adjustment affects only data sent after it.
    if (since < this.#adjustedAtBytes) return;
    const windowBytes = this.#nextWindowBytes(rttMs, rate);
    this.#previousWindowBytes = this.#windowBytes;
    this.#previousRttMs = this.#maxRttMs;
    // A moment with little data must not look like a line with low bandwidth.
    this.#previousRate = Math.max(rate, this.#previousRate * 0.9);
    this.#adjustedAtBytes = this.#sentBytes;
    this.#maxRttMs = 0;
    this.#windowBytes = Math.min(maxWindowBytes, Math.max(minWindowBytes, windowBytes));
  }

  #nextWindowBytes(rttMs: number, rate: number): number {
    const [current, previous] = [this.#windowBytes, this.#previousWindowBytes];
    const queueMs = this.#maxRttMs - this.#baseRttMs;
    // While the window is not used up, nothing is learnt about a larger one.
    const isUsedUp = this.#waiting.length > 0;
    const hasGained = previous < current && rate > minGain * this.#previousRate;
    if (queueMs <= queueLimitMs) return isUsedUp && (queueMs < emptyQueueMs || hasGained) ? current * 2 : current;
    if (previous > current && rttMs > this.#previousRttMs * minSpeedUp) {
      this.#baseRttMs = rttMs;
      return previous;
    }
    if (hasGained) return current * 2;
    if (current > minWindowBytes) return Math.min(rate * queueLimitMs, current / 2);
    if (!isUsedUp || performance.now() < this.#nextTrialMs) return current;
    this.#nextTrialMs = performance.now() + trialIntervalMs;
    return current * 2;
  }
}
