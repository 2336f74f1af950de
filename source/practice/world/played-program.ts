import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PortBinding } from '../engine/container.ts';
import type { ContainerLog } from '../engine/container-log.ts';
import type { ExecAnswer, Program, Run } from '../engine/program.ts';
import type { PracticeProduct } from '../practice.ts';
import type { Mood, Play } from './part.ts';
import { Random } from './random.ts';
import type { Said } from './voice.ts';
import { answerFrom } from './web.ts';

const usual = 'usual';
/** No further back than this is a log written when the world begins: nobody reads days, and all of them wait for it. */
const historyMs = 8 * 3_600_000;
const historyHappenings = 700;

/** What a program has behind it, and where that is written. */
interface Past {
  log: ContainerLog;
  startedMs: number;
  untilMs: number;
  tty: boolean;
}

interface Surroundings {
  later(ms: number, call: () => void): NodeJS.Timeout;
  cancel(timer: NodeJS.Timeout | undefined): void;
}

/** A service of the catalog as it is played: its log, its pages, its figures, and its moods. */
export class PlayedProgram implements Program {
  readonly listeners: Readonly<Record<number, RequestListener>>;
  readonly raw: Readonly<Record<number, (connection: Duplex) => void>> | undefined;
  readonly processes: readonly string[] | undefined;
  readonly opens: readonly PortBinding[] | undefined;
  readonly healthcheck: readonly string[] | undefined;
  readonly #play: Play;
  readonly #product: PracticeProduct | undefined;
  readonly #around: Surroundings;
  readonly #random: Random;
  #mood = usual;
  /** The mood without incidents. */
  #base = usual;
  #run: Run | undefined;
  #inIncident = false;
  #up = false;
  #productRuns = false;
  #timer: NodeJS.Timeout | undefined;
  /** Of a program that ran already when the world began. */
  #past: Past | undefined;

  constructor(
    play: Play,
    {
      seed,
      product,
      around,
      opens,
    }: { seed: string; product?: PracticeProduct | undefined; around: Surroundings; opens?: readonly PortBinding[] },
  ) {
    this.#play = play;
    this.opens = opens;
    this.healthcheck = play.healthcheck;
    this.#product = product;
    this.#around = around;
    this.#random = new Random(seed);
    this.raw = product?.raw;
    this.processes = play.processes;
    const ports = new Set([...Object.keys(play.pages ?? {}), ...Object.keys(product?.listeners ?? {})].map(Number));
    this.listeners = Object.fromEntries([...ports].map((port) => [port, this.#listener(port)]));
  }

  /** A program that is not up yet takes no connections; neither does one that is closed. */
  #listener(port: number): RequestListener {
    const own = this.#product?.listeners[port];
    return (request, response) => {
      if (!this.#up) return void request.socket.destroy();
      try {
        if (own) own(request, response);
        else answerFrom(this.#now('pages')?.[port] ?? {}, request, response, this.#run?.environment ?? {});
      } catch {
        // A program that stumbles closes the connection; the console that it may live in goes on.
        request.socket.destroy();
      }
    };
  }

  /** What holds in this mood. */
  #now<Key extends keyof Mood>(key: Key): Play[Key] {
    return (this.#play.moods?.[this.#mood]?.[key] ?? this.#play[key]) as Play[Key];
  }

  /**
   * Fills the log with what would have been said between two moments. Without an end the next start goes on from there; what a product would have
   * said is written then.
   */
  remember(log: ContainerLog, { startedMs, endedMs, nowMs }: { startedMs: number; endedMs?: number | undefined; nowMs: number }): void {
    const past = { log, startedMs, untilMs: endedMs ?? nowMs, tty: this.#play.tty === true };
    write(past, this.#play.voice.begin?.(new Date(startedMs), this.#random) ?? [], startedMs);
    if (endedMs === undefined) this.#past = past;
    if (!this.#product || endedMs !== undefined) this.#tellDays(past);
    if (endedMs !== undefined) write(past, this.#play.voice.end?.(new Date(endedMs), this.#random) ?? [], endedMs - 40);
  }

  /** The last hours of a past. */
  #tellDays(past: Past): void {
    const { voice } = this.#play;
    const { startedMs, untilMs } = past;
    const everyMs = Math.max(voice.everyMs, (Math.min(untilMs - startedMs, historyMs) || 1) / historyHappenings);
    for (let ms = Math.max(startedMs + 5_000, untilMs - historyMs); ms < untilMs - 50; ms += everyMs * (0.4 + this.#random.next() * 1.2)) {
      write(past, voice.happen(new Date(ms), this.#random), Math.floor(ms));
    }
  }

  start(run: Run): void {
    this.#run = run;
    const past = this.#past;
    this.#past = undefined;
    for (const [path, content] of Object.entries(this.#play.files ?? {}))
      if (!run.files.file(path)) run.files.write(path, content, run.now());
    this.#productRuns = true;
    this.#product?.start({
      log: (line, stream, ms) => {
        const said = [stream === 'stderr' ? { err: line } : line];
        if (past && ms !== undefined && ms < past.untilMs) write(past, said, ms);
        else this.#say(said);
      },
      now: run.now,
      signal: run.signal,
      file: (path) => run.files.file(path),
      environment: run.environment,
      ...(past && { startedMs: past.startedMs }),
    });
    if (past && this.#product) this.#tellDays(past);
    run.signal.addEventListener(
      'abort',
      () => {
        this.#up = false;
        this.#around.cancel(this.#timer);
        this.#timer = undefined;
        this.#run = undefined;
        this.#stopProduct();
      },
      { once: true },
    );
    const beUp = () => {
      if (this.#run !== run) return;
      this.#up = true;
      this.#settleLater(run);
      this.#tellHealth();
      this.#waitForNext();
    };
    if (past) {
      beUp();
      return;
    }
    // A restart mends what it can, and whatever was loaded is loaded anew.
    this.#base = this.#play.restarted ?? usual;
    if (!this.#inIncident) this.#mood = this.#base;
    const dies = this.#now('dies');
    if (dies) {
      this.#around.later(dies.afterMs, () => {
        if (this.#run !== run) return;
        this.#say(dies.says(new Date(run.now()), this.#random));
        run.exit(dies.exitCode);
      });
      return;
    }
    this.#say(this.#play.voice.begin?.(new Date(run.now()), this.#random) ?? []);
    this.#around.later(this.#play.bootMs ?? 500, beUp);
  }

  #settleLater(run: Run): void {
    const { settles } = this.#play;
    if (!settles) return;
    const timer = this.#around.later(Math.max(0, run.startedMs + settles.afterMs - run.now()), () => {
      if (this.#run !== run) return;
      this.#base = settles.mood;
      if (!this.#inIncident) this.#be(settles.mood);
    });
    run.signal.addEventListener('abort', () => this.#around.cancel(timer), { once: true });
  }

  #stopProduct(): void {
    if (this.#productRuns) this.#product?.stop();
    this.#productRuns = false;
  }

  #tellHealth(): void {
    const health = this.#now('health');
    if (health) this.#run?.health(health.status, health.output);
  }

  #say(lines: readonly Said[]): void {
    for (const line of lines) {
      const text = typeof line === 'string' ? line : line.err;
      for (const part of text.split('\n')) this.#run?.log(part, typeof line === 'string' ? 'stdout' : 'stderr');
    }
  }

  #waitForNext(): void {
    const voice = this.#now('voice') ?? this.#play.voice;
    if (!this.#run || !Number.isFinite(voice.everyMs)) return;
    this.#around.cancel(this.#timer);
    this.#timer = this.#around.later(voice.everyMs * (0.4 + this.#random.next() * 1.2), () => {
      const run = this.#run;
      if (!run) return;
      this.#say(voice.happen(new Date(run.now()), this.#random));
      this.#waitForNext();
    });
  }

  /** From now on it is played like this; `usual` is as it would be by now without incidents. A mood that it does not have changes nothing. */
  feel(mood: string): void {
    this.#inIncident = mood !== usual;
    this.#be(this.#inIncident ? mood : this.#base);
  }

  #be(mood: string): void {
    this.#mood = mood;
    if (!this.#up) return;
    this.#tellHealth();
    this.#waitForNext();
  }

  /** Words of an incident. */
  say(lines: readonly Said[]): void {
    this.#say(lines);
  }

  onSignal(signal: string): { exitCode: number; afterMs: number } | undefined {
    if (signal === 'SIGHUP' || signal === 'SIGUSR1' || signal === 'SIGUSR2' || signal === 'SIGWINCH') return undefined;
    // While it can still be heard.
    if (this.#play.ends) this.#stopProduct();
    if (this.#play.ends) this.#say(this.#play.voice.end?.(new Date(this.#run?.now() ?? Date.now()), this.#random) ?? []);
    return this.#play.ends;
  }

  exec(argv: readonly string[], stdin: string): Promise<ExecAnswer> | undefined {
    const answer = this.#product?.exec?.(argv, stdin);
    if (answer) return answer;
    const own = this.#play.exec?.(argv, this.#mood);
    return own && Promise.resolve(own);
  }

  figures(runMs: number): { cpuPercent: number; memoryBytes: number; receivedPerSecond: number; sentPerSecond: number } {
    const { cpuPercent, memoryMb } = this.#now('figures') ?? this.#play.figures;
    // Slow waves of several lengths look alive, and need no memory.
    const seconds = runMs / 1000;
    const wave = (Math.sin(seconds / 7) + Math.sin(seconds / 23 + 1) + Math.sin(seconds / 3 + 2)) / 3;
    const slow = Math.sin(seconds / 211);
    const cpu = Math.max(0.01, cpuPercent[0] + cpuPercent[1] * wave);
    return {
      cpuPercent: cpu,
      memoryBytes: Math.round(Math.max(0.5, memoryMb[0] + memoryMb[1] * slow) * 1024 * 1024),
      receivedPerSecond: 400 + cpu * 900,
      sentPerSecond: 300 + cpu * 1_400,
    };
  }
}

function write({ log, tty }: Past, lines: readonly Said[], ms: number): void {
  for (const [index, line] of lines.entries()) {
    const text = typeof line === 'string' ? line : line.err;
    for (const part of text.split('\n')) log.append(`${part}\n`, typeof line === 'string' || tty ? 'stdout' : 'stderr', ms + index * 3);
  }
}
