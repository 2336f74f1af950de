import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UnattendedOperator } from '../../../source/app/unattended-operator.ts';
import { Fault } from '../../../source/faults/fault.ts';
import type { Flow, FlowInput, FlowOutcome } from '../../../source/flows/flow.ts';
import type { AuditEntry } from '../../../source/session/audit-chain.ts';
import type { Operator } from '../../../source/session/session.ts';
import { cleanLine } from '../../../source/text/clean.ts';
import { commandsIn, refusedOf } from '../../docs/named-commands.ts';
import {
  breakOffs,
  crashTraces,
  type Ground,
  type Killed,
  type Mode,
  momentsOf,
  namedMoments,
  type Otherwise,
  type Run,
  runOn,
  tracesOf,
} from '../../doubles/break-offs.ts';
import type { OperatorDouble } from '../../doubles/operator-double.ts';
import { type Answers, Person } from './person.ts';
import { flowOf } from './registry.ts';

/** What a flow is run on: the practice stack, or a double of what practice lacks. */
export interface Fixture {
  play(flow: Flow, about: string | undefined, input: Pick<FlowInput, 'words' | 'options' | 'stdin'>, how: Playing): Promise<FlowOutcome>;
  audited(): Promise<AuditEntry[]>;
  /** Folder of the runs. */
  readonly journal: string;
  /** Everything that this installation writes to. */
  readonly folders: readonly string[];
  close(): Promise<void>;
}

export interface Playing {
  operator: OperatorDouble;
  mode: Mode | undefined;
  resume: string | undefined;
}

/** One flow, run once: what is said, and what becomes of it. */
export interface FlowRow<Kind extends Fixture> {
  /** Its id in the registry. */
  flow: string;
  /** Tells rows of one flow apart. */
  title?: string;
  /** Id of the component that it is about, where it is not the one of the family. */
  component?: string;
  words?: readonly string[] | ((fixture: Kind) => readonly string[]);
  options?: FlowInput['options'] | ((fixture: Kind) => FlowInput['options']);
  stdin?: string;
  /** By step. A list answers in turn, and its last one from then on; where several things may be chosen it is one answer. */
  answers?: (fixture: Kind, killed: (Killed & { revealed: readonly string[] }) | undefined) => Answers;
  /** What is typed into forms, by their ids; other fields stay as they are. */
  forms?: (fixture: Kind) => Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What comes back from an editor that is lent the terminal. */
  edited?: (fixture: Kind) => unknown;
  /** Another stage than that of the family. */
  open?: () => Promise<Kind>;
  /** Makes the stage what the flow expects; before each run. */
  first?: (fixture: Kind) => Promise<unknown>;
  /** What it changes, as it is now, without times and without what is new each time. */
  end?: (fixture: Kind) => Promise<unknown>;
  /** Ids of its actions, in order. None for a flow that only reads. */
  acts: readonly string[];
  /** By `action/before` and `action/after`: what has to be said where a killed run cannot be resumed as if nothing had happened. */
  otherwise?: Readonly<Record<string, Otherwise>>;
  /** Ids of actions that do no harm when they run again. */
  again?: readonly string[];
  /** How many secrets it handles at least. */
  secrets?: number;
  belongs?: Ground['belongs'];
  /** Actions that a run which is cancelled in the middle undoes its work with. */
  undoes?: readonly string[];
  /** The fault of a cancel that loses what an action before it made. */
  cancelled?: string;
  /** The fault that it ends with where nobody attends it, though all answers are given: it needs a person to see something. */
  unattended?: string;
  /** The fault of a flow that reads what `--read-only` does not let it read; `null` where one with actions does without them. */
  readOnly?: string | null;
  /** A dry run asks for secrets: what it shows depends on them. */
  dryRunAsks?: true;
  /**
   * What a dry run shows where it cannot show the request of every action of the run, since later ones depend on secrets, on an answer, or on what an action
   * returns: the requests that it shows, and a text that says the rest.
   */
  dryRunShows?: { requests?: readonly string[]; text: RegExp };
  /** The fault of a dry run that cannot tell what it would do. */
  dryRun?: string;
  /** Why it cannot run here; under QUARTERDECK_REQUIRE_REAL that is a failure. */
  skip?: string;
  /** A run takes seconds, and what an action returns is long: secrets are searched for in an undisturbed run and in one crash alone. */
  slow?: true;
}

export interface Family<Kind extends Fixture> {
  name: string;
  /** Id of the component that its flows are about. */
  component?: string;
  open(): Promise<Kind>;
  /** One stage for all runs: `first` makes it what it was. Otherwise each run has one of its own. */
  shared?: true;
  rows: readonly FlowRow<Kind>[];
}

/** Proves what every flow owes, for each row: see the titles of the tests. */
export function describeFlows<Kind extends Fixture>(family: Family<Kind>): void {
  describe(`flows of ${family.name}`, () => {
    let shared: Kind | undefined;
    if (family.shared) {
      beforeAll(async () => {
        shared = await family.open();
      });
      afterAll(() => shared?.close());
    }
    for (const row of family.rows) {
      const title = [row.flow, row.title, row.skip].filter(Boolean).join(': ');
      describe.skipIf(row.skip !== undefined && !process.env['QUARTERDECK_REQUIRE_REAL'])(title, { timeout: 120_000 }, () => {
        describeRow(row, () => openGround(family, row, shared));
      });
    }
  });
}

interface RowGround extends Ground {
  audited(): Promise<AuditEntry[]>;
}

async function openGround<Kind extends Fixture>(family: Family<Kind>, row: FlowRow<Kind>, shared: Kind | undefined): Promise<RowGround> {
  const fixture = shared ?? (await (row.open ?? family.open)());
  const flow = flowOf(row.flow);
  await row.first?.(fixture);
  const { stdin } = row;
  const words = typeof row.words === 'function' ? row.words(fixture) : (row.words ?? []);
  const options = typeof row.options === 'function' ? row.options(fixture) : (row.options ?? {});
  const revealed: string[] = [];
  return {
    flow,
    operator: (killed) =>
      new Person({
        answers: row.answers?.(fixture, killed && { ...killed, revealed }),
        forms: row.forms?.(fixture),
        edited: () => row.edited?.(fixture),
        reveal: (secret) => revealed.push(secret),
      }),
    run: (watched, operator, left, mode) =>
      fixture.play(
        watched,
        (row.component ?? family.component) || undefined,
        {
          ...{ words: left?.words ?? words, options: left?.options ?? options },
          ...(stdin !== undefined && { stdin: new TextEncoder().encode(stdin) }),
        },
        { operator: operator as OperatorDouble, mode, resume: left?.run },
      ),
    journal: fixture.journal,
    end: async () => row.end?.(fixture),
    folders: fixture.folders,
    ...(row.belongs && { belongs: row.belongs }),
    audited: () => fixture.audited(),
    close: async () => {
      if (!shared) await fixture.close();
    },
  };
}

function describeRow<Kind extends Fixture>(row: FlowRow<Kind>, open: () => Promise<RowGround>): void {
  const texts: string[] = [];
  let whole: Awaited<ReturnType<typeof undisturbed>>;

  const on = async <Result>(use: (ground: RowGround) => Promise<Result>): Promise<Result> => {
    const ground = await open();
    try {
      return await use(ground);
    } finally {
      await ground.close();
    }
  };
  const run = async (ground: RowGround, how: Parameters<typeof runOn>[1] = {}): Promise<Run> => {
    const seen = await runOn(ground, how);
    seen.outcome?.lasts?.close();
    texts.push(...seen.heard.flatMap((heard) => stringsIn(JSON.parse(heard))), seen.outcome?.message ?? faultText(seen.thrown));
    return seen;
  };
  /** Before, after, and how far it was at each prompt. */
  const undisturbed = () =>
    on(async (ground) => {
      const before = JSON.stringify(await ground.end());
      const recorded = (await ground.audited()).length;
      const prompts: number[] = [];
      const seen = await run(ground, { operator: (operator, watch) => counting(operator, () => prompts.push(watch.ran.length)) });
      if (seen.thrown) throw seen.thrown;
      const audit = (await ground.audited()).slice(recorded);
      const found = await tracesOf(ground, seen, '');
      const { ran, secrets } = seen.watch;
      const after = JSON.stringify(await ground.end());
      return {
        before,
        after,
        audit,
        prompts,
        found,
        secrets: secrets.size,
        watched: ran,
        ran: idsOf(ran),
        requests: requestsOf(ran, ground),
        outcome: seen.outcome,
      };
    });
  beforeAll(async () => {
    whole = await undisturbed();
  });

  test('runs, and every action is recorded', () => {
    expect(whole.ran).toEqual(row.acts);
    expect(whole.outcome?.message).toMatch(/\w/);
    expect(whole.audit.filter(({ phase }) => phase === 'before').map(({ flow, act }) => [flow, masked(act)])).toEqual(
      row.acts.map((act) => [expect.any(String), act]),
    );
    for (const act of row.acts) {
      const ends = whole.audit.filter((entry) => masked(entry.act) === act && entry.phase === 'after');
      expect(ends.map(({ outcome }) => outcome)).toEqual(['done']);
    }
  });

  test('a dry run shows what would be done, and does nothing', () =>
    on(async (ground) => {
      const recorded = (await ground.audited()).length;
      const seen = await run(ground, { mode: 'dry-run' });
      expect(codeOf(seen)).toBe(row.dryRun);
      expect(seen.watch.ran).toEqual([]);
      if (row.dryRun === undefined)
        expect(requestsShown(seen, ground)).toEqual(row.dryRunShows ? (row.dryRunShows.requests ?? []) : whole.requests);
      if (row.dryRunShows) expect(textOf(seen), textOf(seen)).toMatch(row.dryRunShows.text);
      if (ground.flow.right !== 'read' && !row.dryRunAsks)
        expect(seen.heard.filter((heard) => heard.includes('"kind":"secret"'))).toEqual([]);
      expect(JSON.stringify(await ground.end())).toBe(whole.before);
      expect((await ground.audited()).slice(recorded).filter(({ flow }) => flow === row.flow)).toEqual([]);
      if (row.acts.length > 0 && ground.flow.right !== 'read') expect(seen.outcome?.message).not.toBe(whole.outcome?.message);
    }));

  test('read-only nothing is changed, and the refusal is recorded', () =>
    on(async (ground) => {
      const recorded = (await ground.audited()).length;
      const seen = await run(ground, { mode: 'read-only' });
      expect(seen.watch.ran).toEqual([]);
      expect(JSON.stringify(await ground.end())).toBe(whole.before);
      const refusal = row.readOnly === undefined && row.acts.length > 0 ? 'refused.readOnly' : (row.readOnly ?? undefined);
      expect(codeOf(seen)).toBe(refusal);
      if (row.acts.length > 0 && row.readOnly !== null)
        expect((await ground.audited()).slice(recorded)).toMatchObject([{ outcome: 'refused' }]);
    }));

  test('cancelled at each prompt, nothing is done from there on', async () => {
    for (const [at, ran] of whole.prompts.entries()) {
      await on(async (ground) => {
        const seen = await run(ground, { operator: (operator) => leavingAt(operator, at) });
        const done = idsOf(seen.watch.ran);
        expect(done.slice(0, ran), `prompt ${at}`).toEqual(whole.ran.slice(0, ran));
        expect(
          done.slice(ran).filter((act) => !row.undoes?.includes(act)),
          `prompt ${at}`,
        ).toEqual([]);
        const code = codeOf(seen) ?? 'interrupted.';
        if (ran === 0 || code !== row.cancelled)
          expect(code, `prompt ${at}: ${faultText(seen.thrown)}`).toMatch(/^(?:interrupted|refused)\./);
        if (ran === 0) expect(JSON.stringify(await ground.end()), `prompt ${at}`).toBe(whole.before);
      });
    }
  });

  test('unattended, it is done with the answers that are given; without them it is refused and nothing is done', async () => {
    await on(async (ground) => {
      const seen = await run(ground, { operator: (operator) => unattended(ground.flow, operator as Person) });
      expect(codeOf(seen)).toBe(row.unattended);
      if (row.unattended === undefined) expect(JSON.stringify(await ground.end())).toBe(whole.after);
    });
    await on(async (ground) => {
      const seen = await run(ground, { operator: () => unattended(ground.flow, undefined) });
      if (seen.thrown === undefined) return expect(JSON.stringify(await ground.end())).toBe(whole.after);
      expect(codeOf(seen), faultText(seen.thrown)).toMatch(/^(?:usage|refused)\./);
      expect((seen.thrown as Fault).remedy).not.toBe('');
      // The terminal is asked for within the action.
      if (codeOf(seen) !== 'refused.noTerminal') expect(seen.watch.ran).toEqual([]);
      return expect(JSON.stringify(await ground.end())).toBe(whole.before);
    });
  });

  test.runIf(row.acts.length > 0)('killed before or after each action and run again, it comes to the same end', async () => {
    const { tries } = await breakOffs(open, row.otherwise, row.again, { ran: whole.watched, end: whole.after });
    texts.push(...tries.map(({ said }) => said));
    const problems = tries.filter(({ problem }) => problem !== undefined);
    expect(problems, lines(problems.map(({ act, moment, problem, said }) => `${act}/${moment}: ${problem}. It says: ${said}`))).toEqual([]);
    const kills = row.acts.flatMap((act, at) => momentsOf(at, namedMoments(act, row.otherwise)));
    expect(tries.map(({ moment }) => moment)).toEqual(kills);
    expect(new Set(tries.map(({ act }) => act))).toEqual(new Set(row.acts));
  });

  test('no secret is left anywhere, not by a crash either', async () => {
    const crashed = await crashTraces(open, row.slow ? Math.min(1, row.acts.length) : row.acts.length, row.slow ? ['before'] : undefined);
    const found = [...whole.found, ...crashed.found];
    expect(found, lines(found.map(({ where, form, secret }) => `${where}: ${secret} ${form}`))).toEqual([]);
    expect(whole.secrets).toBeGreaterThanOrEqual(row.secrets ?? 0);
  });

  test('every command that it named is accepted by the program', async () => {
    const refused = await refusedOf(texts.flatMap((text) => commandsIn({ where: row.flow, text })));
    expect(refused, lines(refused)).toEqual([]);
  });
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
/** An assertion cuts lists short, and shows a message whole. */
const lines = (all: readonly string[]) => all.join('\n');
const masked = (act: string) => act.replaceAll(/\b\d{8}T\d{9}-[0-9a-f]{6}\b/g, 'RUN');
const idsOf = (ran: readonly string[]) => ran.map((one) => masked(one.slice(0, one.indexOf(': '))));
/** Without what is new each time: folders, ids and prefixes of keys. */
const steady = (request: string, { folders }: Ground) =>
  folders
    .reduce((text, folder) => text.replaceAll(folder, 'FOLDER'), masked(cleanLine(request)))
    .replaceAll(/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g, 'ID')
    .replaceAll(/\b(hskey-\w+)-[\w-]{12}-/g, '$1-PREFIX-');
const requestsOf = (ran: readonly string[], ground: Ground) => ran.map((one) => steady(one.slice(one.indexOf(': ') + 2), ground));
/** Of the actions that a dry run says it would do. */
const requestsShown = ({ heard }: Run, ground: Ground) =>
  heard
    .flatMap((each) => stringsIn(JSON.parse(each)))
    .flatMap((text) => {
      const request = /^(?:Would do|Already done): (.*)/.exec(text)?.[1];
      return request === undefined ? [] : [steady(request, ground)];
    });
/** All that a run showed and said. */
const textOf = ({ heard, outcome }: Run) => lines([...heard.flatMap((each) => stringsIn(JSON.parse(each))), outcome?.message ?? '']);
const codeOf = ({ thrown }: Run): string | undefined => {
  if (thrown === undefined || thrown instanceof Fault) return thrown?.code;
  throw thrown;
};
const faultText = (thrown: unknown) =>
  thrown instanceof Fault ? `${thrown.message}\n${thrown.remedy}` : thrown instanceof Error ? String(thrown.stack) : '';

/** Calls `prompted` at whatever waits for the operator. */
function counting(operator: Operator, prompted: (kind: 'ask' | 'confirm' | 'fill' | 'review') => void): Operator {
  const counted =
    <Args extends unknown[], Result>(kind: Parameters<typeof prompted>[0], put: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      prompted(kind);
      return put(...args);
    };
  return {
    kind: operator.kind,
    ask: counted('ask', operator.ask.bind(operator)),
    confirm: counted('confirm', operator.confirm.bind(operator)),
    fill: counted('fill', operator.fill.bind(operator)),
    review: counted('review', operator.review.bind(operator)),
    show: (shown) => operator.show(shown),
    progress: (progress) => operator.progress(progress),
    lend: (use) => operator.lend(use),
  };
}

/** Cancels at prompt number `at`, as the console and a terminal do. */
function leavingAt(operator: Operator, at: number): Operator {
  let prompt = -1;
  const counted = counting(operator, () => {
    prompt += 1;
  });
  // Some flows ask whether that is meant: it is.
  const isHere = () => prompt >= at;
  const left = () => new Fault('interrupted.cancelled', 'Cancelled.', 'Run the command again.');
  return {
    ...counted,
    ask: async (question, signal) => {
      if (isHere() && 'choices' in question && question.choices.some(({ value }) => value === 'leave')) return 'leave';
      const answer = await counted.ask(question, signal);
      if (isHere()) throw left();
      return answer;
    },
    fill: async (form, signal) => {
      const values = await counted.fill(form, signal);
      if (isHere()) throw left();
      return values;
    },
    confirm: async (confirmation, signal) => (await counted.confirm(confirmation, signal)) && !isHere(),
    review: async (review, signal) => {
      const taken = await counted.review(review, signal);
      return isHere() ? 'cancel' : taken;
    },
  };
}

/** Nobody: what `--answers -` and `--yes` say, and the refusals of the command line for the rest. */
function unattended({ flags }: Flow, person: Person | undefined): Operator {
  const nobody = new UnattendedOperator({ sink: { show: () => {} }, yes: true, flags });
  return {
    kind: 'unattended',
    ask: async (question) => (question.reveals ? undefined : person?.written(question)) ?? nobody.ask(question),
    confirm: (confirmation) => nobody.confirm(confirmation),
    fill: async (form) => nobody.fill(person ? person.writtenInto(form) : form),
    review: (review) => nobody.review(review),
    show: (shown) => nobody.show(shown),
    progress: (progress) => nobody.progress(progress),
    lend: (use) => nobody.lend(use),
  };
}
