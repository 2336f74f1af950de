import type { RequestListener } from 'node:http';
import { durationMs } from '../../text/quantities.ts';
import { type ExecAnswer, listenerOf, said } from '../answers.ts';
import type { PortBinding } from '../engine/container.ts';
import type { ContainerLog } from '../engine/container-log.ts';
import type { Machine } from '../engine/machine.ts';
import type { Program, Run } from '../engine/program.ts';
import type { PracticeProduct } from '../practice.ts';
import type { LogTemplates, PracticeService, Scenario } from './component-schema.ts';
import { linesOf, Random } from './log-templates.ts';
import { answerOf } from './pages.ts';

const usual = 'usual';
const idle: NonNullable<Scenario['figures']> = { cpuPercent: [0, 0], memoryMb: [1, 0] };
/** The log of the past is limited: it delays the start. */
const historyMs = 8 * 3_600_000;
const historyEntries = 700;

interface Past {
  log: ContainerLog;
  startedMs: number;
  untilMs: number;
}

interface Options {
  seed: string;
  product?: PracticeProduct | undefined;
  machine: Machine;
  opens?: readonly PortBinding[];
}

const isBegunBy = ([program = '', ...args]: readonly string[], [name = '', ...words]: readonly string[]): boolean =>
  (program === name || program.endsWith(`/${name}`)) && words.every((word, index) => word === args[index]);

/** A service of the catalog: its log, its pages, its figures, alone or with a simulator behind it, in scenarios. */
export class SimulatedProgram implements Program {
  readonly listeners: Readonly<Record<number, RequestListener>>;
  readonly processes: readonly string[] | undefined;
  readonly opens: readonly PortBinding[] | undefined;
  readonly healthcheck: readonly string[] | undefined;
  readonly #service: PracticeService;
  readonly #product: PracticeProduct | undefined;
  readonly #machine: Machine;
  readonly #random: Random;
  /** The scenario without incidents. */
  #base = usual;
  #incident: string | undefined;
  #run: Run | undefined;
  #isUp = false;
  #nextEntry = new AbortController();
  /** Until the first start, of a program that ran before the practice began. */
  #past: Past | undefined;

  constructor(service: PracticeService, { seed, product, machine, opens }: Options) {
    this.#service = service;
    this.opens = opens;
    this.healthcheck = service.health && ['CMD', '/healthcheck'];
    this.#product = product;
    this.#machine = machine;
    this.#random = new Random(seed);
    this.processes = service.processes;
    const ports = new Set([...Object.keys(service.pages ?? {}), ...Object.keys(product?.listeners ?? {})].map(Number));
    this.listeners = Object.fromEntries([...ports].map((port) => [port, this.#listener(port)]));
  }

  /** Closes connections while the program is not up. */
  #listener(port: number): RequestListener {
    const pageListener = listenerOf((asked) => {
      const pages = this.#setting('pages')?.[port] ?? {};
      const page = pages[asked.path] ?? pages['*'] ?? { status: 404, body: 'Not found' };
      return answerOf(page, asked, this.#run?.environment ?? {});
    });
    const listener = this.#product?.listeners[port] ?? pageListener;
    return (request, response) => (this.#isUp ? listener(request, response) : request.socket.destroy());
  }

  get #scenario(): string {
    return this.#incident ?? this.#base;
  }

  #setting<Key extends keyof Scenario>(key: Key): Scenario[Key] {
    return this.#service.scenarios?.[this.#scenario]?.[key] ?? this.#service[key];
  }

  /** Fills the log between two moments. Without an end the next start continues from there, and a product writes its log then. */
  remember(log: ContainerLog, { startedMs, endedMs }: { startedMs: number; endedMs?: number | undefined }): void {
    const past = { log, startedMs, untilMs: endedMs ?? Date.now() };
    this.#writeTemplates('start', past, startedMs);
    if (endedMs === undefined) this.#past = past;
    if (!this.#product || endedMs !== undefined) log.precede(() => this.#writePast(past));
  }

  /** The last hours before the practice began. */
  #writePast(past: Past): void {
    const { startedMs, untilMs } = past;
    const shortestMs = (Math.min(untilMs - startedMs, historyMs) || 1) / historyEntries;
    const { every } = this.#service.log ?? {};
    const everyMs = Math.max(every === undefined ? Number.POSITIVE_INFINITY : durationMs(every), shortestMs);
    for (let ms = Math.max(startedMs + 5_000, untilMs - historyMs); ms < untilMs - 50; ms += this.#about(everyMs))
      this.#writeTemplates('entries', past, Math.floor(ms));
  }

  #about(ms: number): number {
    return ms * (0.4 + this.#random.next() * 1.2);
  }

  #writeTemplates(when: 'start' | 'entries', past?: Past, ms = Date.now(), templates = this.#service.log): void {
    this.#write(linesOf(templates, when, ms, this.#random), templates?.stderr ? 'stderr' : 'stdout', past, ms);
  }

  #write(lines: readonly string[], stream: 'stdout' | 'stderr', past: Past | undefined, ms: number): void {
    for (const [index, line] of lines.entries()) {
      if (past) past.log.append(`${line}\n`, this.#service.tty ? 'stdout' : stream, ms + index * 3);
      else this.#run?.write(`${line}\n`, stream);
    }
  }

  start(run: Run): void {
    this.#run = run;
    const past = this.#past;
    this.#past = undefined;
    for (const [path, content] of Object.entries({ ...this.#service.files, ...this.#product?.files }))
      if (!run.files.file(path)) run.files.write(path, content, Date.now());
    this.#product?.start({
      log: (line, stream = 'stdout', ms = Date.now()) =>
        this.#write(line.split('\n'), stream, past && ms < past.untilMs ? past : undefined, ms),
      file: (path) => run.files.file(path),
      environment: run.environment,
      ...(past && { startedMs: past.startedMs }),
    });
    if (past && this.#product) past.log.precede(() => this.#writePast(past));
    run.signal.addEventListener('abort', () => {
      this.#isUp = false;
      this.#run = undefined;
      this.#product?.stop();
    });
    if (past) {
      this.#becomeUp(run);
      return;
    }
    this.#base = this.#service.restarted ?? usual;
    const dies = this.#setting('dies');
    if (!dies) this.#writeTemplates('start');
    const end = (exitCode: number) => {
      this.#writeTemplates('start', undefined, Date.now(), dies?.log);
      run.exit(exitCode);
    };
    if (dies) this.#machine.later(durationMs(dies.after), () => end(dies.exitCode), run.signal);
    else this.#machine.later(durationMs(this.#service.boot ?? '500ms'), () => this.#becomeUp(run), run.signal);
  }

  #becomeUp({ startedMs, signal }: Run): void {
    this.#isUp = true;
    this.#applyScenario();
    const { settles } = this.#service;
    if (!settles) return;
    const settle = () => {
      this.#base = settles.scenario;
      this.#applyScenario();
    };
    this.#machine.later(Math.max(0, startedMs + durationMs(settles.after) - Date.now()), settle, signal);
  }

  #applyScenario(): void {
    if (!this.#isUp) return;
    const { status, output } = this.#setting('health') ?? { status: 'healthy', output: '' };
    this.#run?.health(status, output);
    this.#nextEntry.abort();
    this.#nextEntry = new AbortController();
    this.#writeLater(this.#setting('log'));
  }

  #writeLater(templates: LogTemplates | undefined): void {
    if (!this.#run || templates?.every === undefined) return;
    const write = () => {
      this.#writeTemplates('entries', undefined, Date.now(), templates);
      this.#writeLater(templates);
    };
    this.#machine.later(this.#about(durationMs(templates.every)), write, AbortSignal.any([this.#run.signal, this.#nextEntry.signal]));
  }

  /** Begins an incident, or ends it if undefined. An incident without a scenario changes nothing. */
  play(incident: string | undefined): void {
    this.#incident = incident;
    this.#product?.play?.(incident);
    this.#applyScenario();
  }

  onTerminate(): { exitCode: number; afterMs: number } {
    // Now, while its last lines still reach the log.
    this.#product?.stop();
    return { exitCode: 0, afterMs: 200 };
  }

  exec(argv: readonly string[], stdin: string): Promise<ExecAnswer> | undefined {
    const answer = this.#product?.exec?.(argv, stdin);
    if (answer) return answer;
    const printed = { ...this.#service.exec, ...this.#service.scenarios?.[this.#scenario]?.exec };
    const command = Object.keys(printed).find((words) => isBegunBy(argv, words.split(' ')));
    return command === undefined ? undefined : Promise.resolve(said(`${printed[command]}\n`));
  }

  figures(runMs: number): { cpuPercent: number; memoryBytes: number } {
    const { cpuPercent, memoryMb } = this.#setting('figures') ?? idle;
    // Slow waves of several lengths look alive, and need no memory.
    const seconds = runMs / 1000;
    const wave = (Math.sin(seconds / 7) + Math.sin(seconds / 23 + 1) + Math.sin(seconds / 3 + 2)) / 3;
    const memory = memoryMb[0] + memoryMb[1] * Math.sin(seconds / 211);
    return {
      cpuPercent: Math.max(0.01, cpuPercent[0] + cpuPercent[1] * wave),
      memoryBytes: Math.round(Math.max(0.5, memory) * 1024 * 1024),
    };
  }
}
