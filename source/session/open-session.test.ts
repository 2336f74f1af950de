import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { SecretStoreDouble } from '../../test/doubles/secret-store-double.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { type Audit, openAudit } from './audit.ts';
import { openJournal, readRunJournals } from './journal.ts';
import { openSession, type SessionPolicy } from './open-session.ts';
import type { Act } from './session.ts';

let folder: string;
let audit: Audit;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-session-'));
  audit = openAudit({
    path: join(folder, 'audit.jsonl'),
    stores: [new SecretStoreDouble()],
    identity: { user: 'ada', sudoUser: 'grace', from: '192.0.2.9', machine: 'nas' },
  });
});
afterEach(() => rm(folder, { recursive: true }));

async function sessionWith({
  operator = new OperatorDouble(),
  policy = {},
  signal = new AbortController().signal,
  resume,
}: {
  operator?: OperatorDouble;
  policy?: Partial<SessionPolicy>;
  signal?: AbortSignal;
  resume?: string;
} = {}) {
  const journal = await openJournal({
    folder: join(folder, 'runs'),
    flow: 'stop',
    engineName: 'local',
    component: 'local/media/server',
    resume,
  });
  const { session, end } = openSession({
    about: { right: 'operate', host: 'local', component: 'local/media/server' },
    subjectOf: () => ({ project: 'media', containers: ['media-server-1'] }),
    flow: 'stop',
    operator,
    policy: { readOnly: false, dryRun: false, productionHosts: new Set(), ...policy },
    journal,
    audit,
    signal,
  });
  return { session, end, operator, journal };
}

function actOf<T>(run: (grant: Grant) => Promise<T>, more: Partial<Act<T>> = {}): Act<T> {
  return {
    id: 'stop',
    right: 'operate',
    request: 'POST /containers/server/stop',
    target: { host: 'local', component: 'media-server' },
    run,
    ...more,
  };
}

async function audited() {
  const entries = [];
  for await (const entry of audit.entries()) entries.push(entry);
  return entries;
}

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Fault)) throw new Error(`no fault but ${String(thrown)}`);
  return thrown;
}

describe('the door for changes', () => {
  test('is written down before it runs and after', async () => {
    const { session } = await sessionWith();
    let before: unknown[] = [];
    const result = await session.act(
      actOf(async () => {
        before = await audited();
        return 42;
      }),
    );
    expect(result).toBe(42);
    expect(before).toMatchObject([{ n: 1, phase: 'before' }]);
    expect(await audited()).toMatchObject([
      {
        n: 1,
        phase: 'before',
        flow: 'stop',
        act: 'stop',
        host: 'local',
        component: 'media-server',
        request: 'POST /containers/server/stop',
        who: { user: 'ada', sudoUser: 'grace', from: '192.0.2.9', machine: 'nas' },
      },
      { n: 2, phase: 'after', outcome: 'done' },
    ]);
  });

  test('without a target it is about the host and the component of the run', async () => {
    const { session } = await sessionWith();
    await session.act(actOf(async () => 1, { target: undefined }));
    expect(await audited()).toMatchObject([
      { phase: 'before', host: 'local', component: 'local/media/server' },
      { phase: 'after', host: 'local', component: 'local/media/server' },
    ]);
  });

  test('gives a grant that is good inside the act and dead behind it', async () => {
    const { session } = await sessionWith();
    let kept: Grant | undefined;
    await session.act(
      actOf(async (grant) => {
        kept = grant;
        expect(grant.signal.aborted).toBe(false);
      }),
    );
    expect(kept?.signal.aborted).toBe(true);
    expect(kept?.signal.reason).toMatchObject({ code: 'refused.grantEnded' });
  });

  test('a failure is written down, and the grant is dead then too', async () => {
    const { session } = await sessionWith();
    let kept: Grant | undefined;
    const failing = session.act(
      actOf(async (grant) => {
        kept = grant;
        throw new Fault('engine.refused', 'The engine said no.', 'Ask it why.');
      }),
    );
    expect((await faultOf(failing)).code).toBe('engine.refused');
    expect(kept?.signal.aborted).toBe(true);
    expect(await audited()).toMatchObject([{ phase: 'before' }, { phase: 'after', outcome: 'failed', message: 'The engine said no.' }]);
  });

  test('what came of it can be a failure although nothing was thrown', async () => {
    const { session } = await sessionWith();
    const act = actOf(async () => 3, { failure: (code) => (code === 0 ? undefined : `exit code ${code}`) });
    expect(await session.act(act)).toBe(3);
    expect(await session.act({ ...act, id: 'again', run: async () => 0 })).toBe(0);
    expect((await audited()).filter(({ phase }) => phase === 'after')).toMatchObject([
      { act: 'stop', outcome: 'failed', message: 'exit code 3' },
      { act: 'again', outcome: 'done' },
    ]);
    expect((await readRunJournals(join(folder, 'runs'))).open[0]?.acts).toEqual(['again']);
  });

  test('each entry names project and container', async () => {
    const { session } = await sessionWith();
    await session.act(actOf(async () => {}));
    for (const entry of await audited()) expect(entry).toMatchObject({ host: 'local', project: 'media', containers: ['media-server-1'] });
  });

  test('what a flow refuses before its first act is recorded, once, and what it only failed in is not', async () => {
    const refusal = new Fault('refused.lockOut', 'That is your own address.', 'Ban another one.');
    const { end } = await sessionWith();
    await end('failed', refusal);
    const other = await sessionWith();
    await other.end('failed', new Fault('failed.ban', 'No.', 'Again.'));
    const readOnly = await sessionWith({ policy: { readOnly: true } });
    const thrown = await faultOf(readOnly.session.act(actOf(async () => {})));
    await readOnly.end('failed', thrown);
    const declined = await sessionWith();
    declined.operator.confirms = false;
    await declined.end('failed', await faultOf(declined.session.act(actOf(async () => {}, { right: 'destroy', consequences: ['all'] }))));
    expect(await audited()).toMatchObject([
      { phase: 'after', outcome: 'refused', component: 'local/media/server', message: 'That is your own address.', project: 'media' },
      { outcome: 'refused', message: expect.stringContaining('Read-only') },
      { outcome: 'refused', message: 'not confirmed' },
    ]);
  });

  test('a bug inside an act is written down as well', async () => {
    const { session } = await sessionWith();
    await expect(session.act(actOf(() => Promise.reject(new TypeError('x is undefined'))))).rejects.toThrow('x is undefined');
    expect((await audited()).at(-1)).toMatchObject({ outcome: 'failed', message: 'x is undefined' });
  });

  test('stays shut when the audit cannot be written', async () => {
    const { session } = await sessionWith();
    vi.spyOn(audit, 'record').mockRejectedValue(new Fault('failed.audit', 'Disk full.', 'Free some.'));
    const run = vi.fn(async () => {});
    expect((await faultOf(session.act(actOf(run)))).code).toBe('failed.audit');
    expect(run).not.toHaveBeenCalled();
  });

  test('read-only refuses, runs nothing, not even the look whether it is needed, and writes that down', async () => {
    const { session, operator } = await sessionWith({ policy: { readOnly: true } });
    const run = vi.fn(async () => {});
    const done = vi.fn(async () => true);
    const fault = await faultOf(session.act(actOf(run, { right: 'destroy', consequences: ['all of it'], done })));
    expect(fault.code).toBe('refused.readOnly');
    expect(run).not.toHaveBeenCalled();
    expect(done).not.toHaveBeenCalled();
    expect(operator.confirmations).toEqual([]);
    expect(await audited()).toMatchObject([{ phase: 'after', outcome: 'refused' }]);
  });

  test('a dry run shows what would be sent and sends nothing, asks for no confirmation and leaves no trace', async () => {
    const { session, operator } = await sessionWith({ policy: { dryRun: true } });
    const run = vi.fn(async () => 1);
    expect(await session.act(actOf(run, { right: 'destroy', consequences: ['the data of server'] }))).toBeUndefined();
    expect(run).not.toHaveBeenCalled();
    expect(operator.confirmations).toEqual([]);
    expect(operator.texts()).toEqual(['Would do: POST /containers/server/stop\n  the data of server']);
    expect(await audited()).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  test('what the world says has happened is not done again, and not confirmed', async () => {
    const { session, operator } = await sessionWith();
    const run = vi.fn(async () => {});
    await session.act(actOf(run, { right: 'destroy', consequences: ['it'], done: async () => true }));
    expect(run).not.toHaveBeenCalled();
    expect(operator.confirmations).toEqual([]);
    expect(await audited()).toMatchObject([{ phase: 'after', outcome: 'already' }]);
  });

  test('destroy asks first, with what will be lost', async () => {
    const { session, operator } = await sessionWith();
    const run = vi.fn(async () => {});
    await session.act(actOf(run, { right: 'destroy', title: 'Remove server', consequences: ['its files'] }));
    expect(operator.confirmations).toEqual([
      { id: 'stop', title: 'Remove server', request: 'POST /containers/server/stop', consequences: ['its files'] },
    ]);
    expect(run).toHaveBeenCalledOnce();
  });

  test('destroy on a production host wants its name typed', async () => {
    const { session, operator } = await sessionWith({ policy: { productionHosts: new Set(['local']) } });
    await session.act(actOf(async () => {}, { right: 'destroy', consequences: ['its files'] }));
    expect(operator.confirmations[0]?.typed).toBe('local');
  });

  test('what an operator typed is confirmed on a production host alone, with its name', async () => {
    const typed = actOf(async () => {}, { confirmOnProduction: true });
    const elsewhere = await sessionWith();
    await elsewhere.session.act(typed);
    expect(elsewhere.operator.confirmations).toEqual([]);
    const { session, operator } = await sessionWith({ policy: { productionHosts: new Set(['local']) } });
    operator.confirms = false;
    await expect(session.act(typed)).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(operator.confirmations).toMatchObject([{ typed: 'local', consequences: [expect.stringContaining('not known')] }]);
  });

  test('operate asks for no confirmation', async () => {
    const { session, operator } = await sessionWith({ policy: { productionHosts: new Set(['local']) } });
    await session.act(actOf(async () => {}));
    expect(operator.confirmations).toEqual([]);
  });

  test('not confirmed: refused, nothing runs, written down', async () => {
    const operator = new OperatorDouble();
    operator.confirms = false;
    const { session } = await sessionWith({ operator });
    const run = vi.fn(async () => {});
    expect((await faultOf(session.act(actOf(run, { right: 'destroy', consequences: ['it'] })))).code).toBe('refused.notConfirmed');
    expect(run).not.toHaveBeenCalled();
    expect(await audited()).toMatchObject([{ phase: 'after', outcome: 'refused' }]);
  });

  test('walking away from the confirmation is written down as cancelled', async () => {
    const operator = new OperatorDouble();
    operator.confirms = () => Promise.reject(new Fault('interrupted.cancelled', 'Cancelled.', 'Again.'));
    const { session } = await sessionWith({ operator });
    const run = vi.fn(async () => {});
    expect((await faultOf(session.act(actOf(run, { right: 'destroy', consequences: ['it'] })))).code).toBe('interrupted.cancelled');
    expect(run).not.toHaveBeenCalled();
    expect(await audited()).toMatchObject([{ outcome: 'cancelled' }]);
  });

  test('a destroy that does not say what is lost is a bug, not a confirmation', async () => {
    const { session } = await sessionWith();
    await expect(session.act(actOf(async () => {}, { right: 'destroy' }))).rejects.toThrow('lists no consequences');
  });

  test('ends at its limit, also when what it runs never looks at the signal', async () => {
    const { session } = await sessionWith();
    const fault = await faultOf(session.act(actOf(() => new Promise(() => {}), { limitMs: 30 })));
    expect(fault.code).toBe('failed.overdue');
    expect(fault.message).toContain('POST /containers/server/stop');
    expect((await audited()).at(-1)).toMatchObject({ outcome: 'failed' });
  });

  test('a shorter limit within it is not said to be its own', async () => {
    const late = () => Promise.reject(new DOMException('no answer within 10 ms', 'TimeoutError'));
    for (const limitMs of [60_000, Number.POSITIVE_INFINITY]) {
      const { session } = await sessionWith();
      const fault = await faultOf(session.act(actOf(late, { limitMs })));
      expect(fault).toMatchObject({ code: 'failed.overdue', message: 'Not finished in time: POST /containers/server/stop' });
    }
  });

  test('an interrupt ends it and is written down as cancelled', async () => {
    const control = new AbortController();
    const { session } = await sessionWith({ signal: control.signal });
    const fault = await faultOf(
      session.act(
        actOf(() => {
          control.abort(new Fault('interrupted.signal', 'Interrupted.', 'Again.'));
          return new Promise(() => {});
        }),
      ),
    );
    expect(fault.kind).toBe('interrupted');
    expect((await audited()).at(-1)).toMatchObject({ outcome: 'cancelled' });
  });

  test('nothing starts behind an interrupt', async () => {
    const { session } = await sessionWith({ signal: AbortSignal.abort(new Error('gone')) });
    const run = vi.fn(async () => {});
    await expect(session.act(actOf(run))).rejects.toThrow('gone');
    expect(run).not.toHaveBeenCalled();
    expect(await audited()).toEqual([]);
  });
});

describe('questions', () => {
  test('a secret is in no file of ours, also when a server quotes it', async () => {
    const operator = new OperatorDouble();
    operator.answers = { share: ['kX9-share-one'], note: ['for ada'] };
    const { session, end } = await sessionWith({ operator });
    const share = await session.ask.secret({ id: 'share', label: 'Key share' });
    await session.ask.text({ id: 'note', label: 'Note' });
    await session.act(actOf(() => Promise.reject(new Error(`invalid share ${share}`)))).catch(() => {});
    await end('failed');

    const written = await filesBelow(folder);
    expect(written).toContain('for ada');
    expect(written).toContain('(secret)');
    expect(written).not.toContain(share);
    expect((await audited()).at(-1)).toMatchObject({
      message: 'invalid share (secret)',
      answers: { share: ['(secret)'], note: ['for ada'] },
    });
  });

  test('a secret that a server quotes is in no fault either, nor in what caused it', async () => {
    const operator = new OperatorDouble();
    operator.answers = { share: ['kX9-share-one'] };
    const { session } = await sessionWith({ operator });
    const share = await session.ask.secret({ id: 'share', label: 'Key share' });
    const quoting = new Fault('failed.unseal', `Refused: "${share}" is no share.`, `Look at ${share}.`, {
      cause: new Error(`400 {"share":"${share}"}`),
    });
    const fault = await faultOf(session.act(actOf(() => Promise.reject(quoting))));
    expect(fault).toMatchObject({ code: 'failed.unseal', message: 'Refused: "(secret)" is no share.', remedy: 'Look at (secret).' });
    expect(fault.cause).toBeUndefined();
    const mistake = await session
      .act(actOf(() => Promise.reject(new TypeError(`no such ${share}`)), { id: 'again' }))
      .catch((thrown: Error) => thrown);
    expect(mistake).toMatchObject({ name: 'TypeError', message: 'no such (secret)' });
    expect((mistake as Error).stack).not.toContain(share);
    expect((mistake as Error).stack).toContain('open-session.test.ts');
  });

  test('plain answers come from the journal of the run that is gone on with, secrets are asked again', async () => {
    const first = new OperatorDouble();
    first.answers = { name: ['a', 'b'], pass: ['geheim'] };
    const earlier = await sessionWith({ operator: first });
    await earlier.session.ask.text({ id: 'name', label: 'Name' });
    await earlier.session.ask.text({ id: 'name', label: 'Name' });
    await earlier.session.ask.secret({ id: 'pass', label: 'Password' });
    await earlier.session.act(actOf(async () => {}));
    const [open] = (await readRunJournals(join(folder, 'runs'))).open;
    expect(open).toMatchObject({ run: earlier.journal.run, flow: 'stop', component: 'local/media/server', acts: ['stop'] });

    const second = new OperatorDouble();
    second.answers = { pass: ['geheim2'], name: ['c'] };
    const later = await sessionWith({ operator: second, resume: earlier.journal.run });
    expect(await later.session.ask.text({ id: 'name', label: 'Name' })).toBe('a');
    expect(await later.session.ask.text({ id: 'name', label: 'Name' })).toBe('b');
    expect(await later.session.ask.secret({ id: 'pass', label: 'Password' })).toBe('geheim2');
    expect(await later.session.ask.text({ id: 'name', label: 'Name' })).toBe('c');
    expect(second.asked.map(({ id }) => id)).toEqual(['pass', 'name']);
    await later.end('done');
    expect((await readRunJournals(join(folder, 'runs'))).open).toEqual([]);
  });

  test('an answer that does not pass is refused, whoever gave it', async () => {
    const operator = new OperatorDouble('unattended');
    operator.answers = { age: ['12'], kind: ['volumes'], until: ['soon'], source: ['10.1'] };
    const { session } = await sessionWith({ operator });
    expect((await faultOf(session.ask.number({ id: 'age', label: 'Age', least: 18 }))).message).toContain('at least 18');
    const kind = session.ask.choice({ id: 'kind', label: 'Kind', choices: [{ value: 'images', label: 'Images' }] });
    expect((await faultOf(kind)).code).toBe('usage.answer');
    expect((await faultOf(session.ask.duration({ id: 'until', label: 'Until' }))).message).toContain('4h');
    expect((await faultOf(session.ask.address({ id: 'source', label: 'Source' }))).code).toBe('usage.answer');
  });

  test('a duration is seconds', async () => {
    const operator = new OperatorDouble();
    operator.answers = { until: ['1h30m', '7d', '90'] };
    const { session } = await sessionWith({ operator });
    const ask = () => session.ask.duration({ id: 'until', label: 'Until' });
    expect([await ask(), await ask(), await ask()]).toEqual([5_400, 604_800, 90]);
  });

  test('a refused secret is not repeated', async () => {
    const operator = new OperatorDouble();
    operator.answers = { pass: ['hunter2'] };
    const { session } = await sessionWith({ operator });
    const fault = await faultOf(session.ask.secret({ id: 'pass', label: 'Password', check: () => 'Too short.' }));
    expect(JSON.stringify(fault)).not.toContain('hunter2');
  });
});

async function filesBelow(path: string): Promise<string> {
  let text = '';
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) text += await readFile(join(entry.parentPath, entry.name), 'utf8');
  }
  return text;
}
