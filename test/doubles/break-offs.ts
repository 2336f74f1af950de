import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMistake } from '../../source/cli/run-command-line.ts';
import { ownPaths } from '../../source/config/paths.ts';
import type { Flow, FlowOutcome } from '../../source/flows/flow.ts';
import { type OpenRun, readRunJournals } from '../../source/session/journal.ts';
import type { Operator } from '../../source/session/session.ts';
import { isLong } from '../required.ts';
import { type Disturbance, disturbed, type Moment, overheard, Watch } from './disturbed-flow.ts';
import { type Trace, tracesBelow, tracesIn } from './secret-traces.ts';
import { OutputStream } from './streams.ts';

/**
 * Proves of a flow that it can be killed at each of its acts and gone on with, and that no secret of it stays anywhere.
 *
 * Say once how a fresh ground is made, on which the flow is to be run, and who operates it:
 *
 *     const ground = async (): Promise<Ground> => {
 *       const stage = await PracticeStage.open();
 *       return {
 *         flow: flowCalled('ban'),
 *         operator: () => answering({ duration: '4h' }),
 *         run: (flow, operator, left) => stage.run('ban', '', left ?? { words: ['198.51.100.7'] }, { operator, as: () => flow, resume: left?.run, signal }),
 *         journal: stage.journal,
 *         end: async () => decisionsOf(stage),
 *         folders: [stage.home, stage.access.folder],
 *         close: () => stage.close(),
 *       };
 *     };
 *     const { acts, tries } = await breakOffs(ground);     // each act, killed before or after, gone on with by `run --resume`
 *     expect(acts).toEqual(['ban']);
 *     expect(tries.filter(({ problem }) => problem)).toEqual([]);
 *     expect(await traces(ground)).toEqual([]);            // undisturbed, and crashing at each act with the secrets in hand
 */
export interface Ground {
  flow: Flow;
  /** Who answers. Of a run that is gone on with it is told how far the killed one came: secrets are asked for again. */
  operator(killed?: Killed): Operator;
  /** Runs it as its stage does. `left` is what `run --resume` gives to it: its run, words and flags. */
  run(flow: Flow, operator: Operator, left?: OpenRun, mode?: Mode): Promise<FlowOutcome>;
  /** Folder of the runs. */
  journal: string;
  /** What the world looks like afterwards, without times and without what is made up anew each time. */
  end(): Promise<unknown>;
  /** Where secrets are searched for: the home of the installation, and all else that is written to. */
  folders: readonly string[];
  /** Files in which a secret has to rest, each with its reason: `{ file: /\.env$/, why: 'the component reads it' }`. */
  belongs?: readonly { file: RegExp; why: string }[];
  close(): Promise<void>;
}

/** What a run may do: everything, nothing (`--read-only`), or only show what it would do (`--dry-run`). */
export type Mode = 'read-only' | 'dry-run';

export interface Killed {
  /** Number of acts that were done before. */
  done: number;
  act: string;
  moment: Moment;
}

export interface Try extends Killed {
  /** What was said at the end of the run that went on, or what it failed with. */
  said: string;
  /** What is not as it is without a disturbance; undefined where all is. */
  problem: string | undefined;
}

/** What cannot be gone on with as if nothing had happened: what has to be said then. */
export interface Otherwise {
  says: RegExp;
  end: 'same' | 'another';
}

export interface Run {
  watch: Watch;
  heard: string[];
  outcome?: FlowOutcome;
  thrown?: unknown;
}

/**
 * Returns when action number `at` is disturbed: in turn after and before it, since the end of one action and the start of the next are close together and each
 * try takes seconds; `named` moments always; under QUARTERDECK_TEST_LONG both.
 */
export function momentsOf(at: number, named: readonly Moment[] = []): readonly Moment[] {
  return (['before', 'after'] as const).filter(
    (moment) => isLong || named.includes(moment) || (named.length === 0 && (moment === 'after') === (at % 2 === 0)),
  );
}

/** Returns the moments of an action at which something else has to be said. */
export function namedMoments(act: string, otherwise: Readonly<Record<string, Otherwise>> = {}): readonly Moment[] {
  return (['before', 'after'] as const).filter((moment) => `${act}/${moment}` in otherwise);
}

/**
 * Runs it undisturbed, then kills it at each act, before or after it ran (see momentsOf), each time on a new ground, and resumes it, or runs it again where it cannot be resumed. A problem is an act that ran twice or never, another
 * end, and a failure. `otherwise` says for `act/moment` where it cannot be so, `again` which acts may run twice.
 */
export async function breakOffs(
  open: () => Promise<Ground>,
  otherwise: Readonly<Record<string, Otherwise>> = {},
  again: readonly string[] = [],
  known?: Undisturbed,
): Promise<{ acts: readonly string[]; tries: readonly Try[] }> {
  const undisturbed =
    known ??
    (await on(open, async (ground) => {
      const run = await runOn(ground);
      if (run.thrown) throw run.thrown;
      return { ran: run.watch.ran, end: JSON.stringify(await ground.end()) };
    }));
  const acts = undisturbed.ran.map(idOf);
  const tries: Try[] = [];
  for (const at of acts.keys()) {
    for (const moment of momentsOf(at, namedMoments(acts[at] ?? '', otherwise))) {
      tries.push(await on(open, (ground) => killAndGoOn(ground, { at, moment }, undisturbed, otherwise, again)));
    }
  }
  const unused = Object.keys(otherwise).filter((key) => !tries.some(({ act, moment }) => `${act}/${moment}` === key));
  if (unused.length > 0) throw new Error(`nothing is killed at ${unused.join(', ')}`);
  return { acts, tries };
}

async function killAndGoOn(
  ground: Ground,
  { at, moment }: { at: number; moment: Moment },
  undisturbed: Undisturbed,
  otherwise: Readonly<Record<string, Otherwise>>,
  again: readonly string[],
): Promise<Try> {
  const act = idOf(undisturbed.ran[at] ?? '');
  const killed = { done: moment === 'before' ? at : at + 1, act, moment };
  // Of tries before this one, where they share a ground.
  const before = new Set((await readRunJournals(ground.journal)).open.map(({ run }) => run));
  const first = await runOn(ground, { disturbance: { kind: 'kill', at, moment } });
  if (!first.watch.dead) return { ...killed, said: saidBy(first), problem: 'it was not killed: it came to its end' };
  // What cannot be resumed is run again.
  const left = ground.flow.resumes ? await leftRun(ground, before) : undefined;
  const second = await runOn(ground, { left, killed });
  const said = saidBy(second);
  const wanted = otherwise[`${act}/${moment}`];
  const problems: string[] = [];
  if (wanted && !wanted.says.test(said)) problems.push(`it says: ${said}`);
  if (!wanted && second.thrown) problems.push(`it fails: ${said}`);
  if (!wanted && ground.flow.resumes) problems.push(...notOnce(undisturbed.ran, [...first.watch.ran, ...second.watch.ran], again));
  if (wanted?.end === 'another') return { ...killed, said, problem: problems.join('; ') || undefined };
  const end = JSON.stringify(await ground.end());
  if (end !== undisturbed.end) problems.push(`another end: ${end} instead of ${undisturbed.end}`);
  if (!second.thrown && ground.flow.resumes && (await leftRun(ground, before)) !== undefined)
    problems.push('it is still listed as left in the middle');
  return { ...killed, said, problem: problems.join('; ') || undefined };
}

/**
 * Runs it undisturbed, and crashing at each act before or after it ran (see momentsOf), each time on a new ground, and searches for every secret that was typed, made or shown: below the folders, in what the operator was told, in what was thrown, in
 * what a terminal got of the crash, and in its report.
 */
export async function traces(open: () => Promise<Ground>): Promise<{ secrets: number; crashes: number; found: readonly Trace[] }> {
  const { found, acts, secrets } = await on(open, async (ground) => {
    const run = await runOn(ground);
    if (run.thrown) throw run.thrown;
    return { found: await tracesOf(ground, run, ''), acts: run.watch.ran.length, secrets: run.watch.secrets.size };
  });
  const crashed = await crashTraces(open, acts);
  return { secrets, crashes: crashed.crashes, found: [...found, ...crashed.found] };
}

/** The crashes alone, at the first so many acts. */
export async function crashTraces(
  open: () => Promise<Ground>,
  acts: number,
  moments?: readonly Moment[],
): Promise<{ crashes: number; found: readonly Trace[] }> {
  const found: Trace[] = [];
  let crashes = 0;
  for (let at = 0; at < acts; at++) {
    for (const moment of moments ?? momentsOf(at)) {
      await on(open, async (ground) => {
        const run = await runOn(ground, { disturbance: { kind: 'crash', at, moment } });
        if (run.thrown === undefined) throw new Error(`a crash ${moment} act ${at} did not end the run`);
        crashes += 1;
        found.push(...(await tracesOf(ground, run, `crash ${moment} act ${at}: `)));
      });
    }
  }
  return { crashes, found };
}

/**
 * The same for many flows on one ground that they share, which a crash behind an act would leave half done: crashing before each act alone, or `most` of them,
 * and undisturbed last.
 */
export async function tracesInTurn(
  ground: Ground,
  most = Number.POSITIVE_INFINITY,
): Promise<{ secrets: number; crashes: number; found: readonly Trace[] }> {
  const found: Trace[] = [];
  const secrets = new Set<string>();
  for (let at = 0; ; at++) {
    const run = await runOn(ground, at < most ? { disturbance: { kind: 'crash', at, moment: 'before' } } : {});
    const isWhole = run.outcome !== undefined;
    // A flow that fails otherwise proves nothing.
    if (!isWhole && !saidBy(run).includes('cannot read properties')) throw run.thrown ?? new Error(`it ran ${run.watch.ran.join('; ')}`);
    for (const secret of run.watch.secrets) secrets.add(secret);
    found.push(...(await tracesOf(ground, run, isWhole ? '' : `crash before act ${at}: `)));
    if (isWhole) return { secrets: secrets.size, crashes: at, found };
  }
}

export async function tracesOf(ground: Ground, run: Run, head: string): Promise<Trace[]> {
  const { secrets } = run.watch;
  const { outcome } = run;
  const found = [
    ...(await tracesBelow(ground.folders, secrets)).filter(({ where }) => !ground.belongs?.some(({ file }) => file.test(where))),
    ...tracesIn('what the operator was told', run.heard.join('\n'), secrets),
    ...tracesIn('the outcome', JSON.stringify(outcome ? { ...outcome, lasts: undefined } : ''), secrets),
    ...(await tracesOfThrown(run.thrown, secrets)),
  ];
  return found.map((trace) => ({ ...trace, where: `${head}${trace.where}` }));
}

/** As the program tells it: a sentence on the terminal, and a report for a mistake of ours. */
async function tracesOfThrown(thrown: unknown, secrets: ReadonlySet<string>): Promise<Trace[]> {
  if (thrown === undefined) return [];
  const home = await mkdtemp(join(tmpdir(), 'quarterdeck-report-'));
  try {
    const [stdout, stderr] = [new OutputStream(), new OutputStream({ columns: 80 })];
    const paths = ownPaths({ QUARTERDECK_HOME: home }, home);
    const around = { stdout, stderr, env: {}, paths, version: '0' } as unknown as Parameters<typeof reportMistake>[2];
    await reportMistake(thrown, ['flow'], around);
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    return [
      ...tracesIn('the terminal', `${stdout.text}${stderr.text}`, secrets),
      // What the console shows is the message as it is.
      ...tracesIn('the message', error.message, secrets),
      ...(await tracesBelow([home], secrets)).map((trace) => ({ ...trace, where: `report ${trace.where}` })),
    ];
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function on<Result>(open: () => Promise<Ground>, use: (ground: Ground) => Promise<Result>): Promise<Result> {
  const ground = await open();
  try {
    return await use(ground);
  } finally {
    await ground.close();
  }
}

/** What a run comes to that nothing disturbs. */
export interface Undisturbed {
  ran: readonly string[];
  end: string;
}

interface Running {
  disturbance?: Disturbance;
  left?: OpenRun | undefined;
  killed?: Killed;
  mode?: Mode;
  operator?: (operator: Operator, watch: Watch) => Operator;
}

/** Runs it once, watched. What `operator` returns answers in place of the ground's. */
export async function runOn(ground: Ground, how: Running = {}): Promise<Run> {
  const watch = new Watch();
  const heard: string[] = [];
  const answering = ground.operator(how.killed);
  const operator = overheard(how.operator?.(answering, watch) ?? answering, heard);
  const running = ground
    .run(disturbed(ground.flow, watch, how.disturbance), operator, how.left, how.mode)
    .then((outcome) => ({ watch, heard, outcome }))
    .catch((thrown: unknown) => ({ watch, heard, thrown }));
  return Promise.race([running, watch.killed.then(() => ({ watch, heard }))]);
}

/** The run that `quarterdeck run` lists for it, if its journal has one. */
async function leftRun({ journal, flow }: Ground, before: ReadonlySet<string>): Promise<OpenRun | undefined> {
  return (await readRunJournals(journal)).open.find((one) => one.flow === flow.id && !before.has(one.run));
}

const idOf = (ran: string) => plain(ran.slice(0, ran.indexOf(': ')));
/** Each change to a stack has a name of its own. */
const plain = (ran: string) => ran.replaceAll(/\b\d{8}T\d{9}-[0-9a-f]{6}\b/g, 'RUN');

/** What was not run as often as it is without a disturbance: neither by its id, which may count, nor by its request, which may name what is new each time. */
function notOnce(undisturbed: readonly string[], ran: readonly string[], again: readonly string[]): string[] {
  const by = (named: (one: string) => string) => {
    const times = (among: readonly string[], one: string) => among.filter((other) => named(other) === one).length;
    return [...new Set([...undisturbed, ...ran].map(named))].flatMap((one) => {
      const [wanted, seen] = [times(undisturbed, one), times(ran, one)];
      return wanted === seen || (again.includes(one) && seen > 0) ? [] : [`run ${seen} times instead of ${wanted}: ${one}`];
    });
  };
  const [ids, requests] = [by(idOf), by((one) => plain(one.slice(one.indexOf(': ') + 2)))];
  return requests.length === 0 ? [] : ids;
}

function saidBy({ outcome, thrown }: Run): string {
  if (outcome) return outcome.message;
  return thrown instanceof Error ? `${thrown.message}${'remedy' in thrown ? ` ${String(thrown.remedy)}` : ''}` : String(thrown);
}
