import { describe, expect, test } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Fault } from '../faults/fault.ts';
import type { Audit } from './audit.ts';
import type { AuditEvent } from './audit-chain.ts';
import type { Journal } from './journal.ts';
import { openSession } from './open-session.ts';
import type { Form, Review } from './session.ts';

const form: Form = {
  id: 'settings',
  title: 'Settings of password-vault',
  fields: [
    {
      id: 'WEB_PORT',
      label: 'Port of the page',
      kind: 'text',
      value: '8180',
      required: true,
      section: 'Ports',
      check: (value) => (/^\d+$/.test(value) && Number(value) < 65_536 ? undefined : 'The port must be a number up to 65535.'),
    },
    {
      id: 'WEB_BIND',
      label: 'Who reaches it',
      kind: 'choice',
      value: '127.0.0.1',
      required: true,
      section: 'Ports',
      choices: [
        { value: '127.0.0.1', label: 'this host' },
        { value: '0.0.0.0', label: 'everybody' },
      ],
    },
    { id: 'MAIL_FROM', label: 'Sender', kind: 'text', value: '', required: false, section: 'Mail' },
    { id: 'ADMIN_TOKEN', label: 'Admin token', kind: 'secret', value: '', required: true, generated: true, section: 'Secrets' },
    { id: 'MAIL_PASSWORD', label: 'Mail password', kind: 'secret', value: '', required: true, kept: true, section: 'Mail' },
  ],
  check: ({ WEB_BIND, MAIL_FROM }) =>
    WEB_BIND === '0.0.0.0' && MAIL_FROM === '' ? { MAIL_FROM: 'Who is reached by everybody must be able to send mail.' } : {},
};

const plan: Review = {
  id: 'plan',
  title: 'Deploy password-vault',
  sections: [{ title: '.env', lines: [{ mark: 'added', text: "WEB_PORT='8180'" }] }],
  findings: [
    { id: 'taken', level: 'blocking', message: 'Port 8180 is taken.', advice: 'Take another.', remedy: 'Use 8181' },
    { id: 'disk', level: 'warning', message: 'Little room.', advice: 'Make room.' },
  ],
  actions: [
    { id: 'apply', label: 'Apply', blocked: 'a port is taken' },
    { id: 'edit', label: 'Edit' },
  ],
};

function fixture(options: { dryRun?: boolean; earlier?: Record<string, string[]> } = {}) {
  const operator = new OperatorDouble();
  const journaled: [string, string | readonly string[]][] = [];
  const audited: AuditEvent[] = [];
  const journal: Journal = {
    run: 'r',
    replay: (step) => options.earlier?.[step]?.shift(),
    answered: async (step, value) => void journaled.push([step, value]),
    note: async () => {},
    noted: () => [],
    begins: async () => {},
    acted: async () => {},
    end: async () => {},
  };
  const audit: Audit = {
    record: async (event) => void audited.push(event),
    async *entries() {},
    damaged: async () => undefined,
    verify: () => Promise.reject(new Error('not here')),
  };
  const { session } = openSession({
    flow: 'deploy',
    operator,
    journal,
    audit,
    policy: { readOnly: false, dryRun: options.dryRun ?? false, productionHosts: new Set() },
    signal: new AbortController().signal,
  });
  const act = (run: () => Promise<void>, request = 'docker compose up') =>
    session.act({ id: 'apply', right: 'operate', request, target: { host: 'nas' }, run });
  return { session, operator, journaled, audited, act };
}

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Fault)) throw new Error(`no fault but ${String(thrown)}`);
  return thrown;
}

describe('a form', () => {
  test('plain answers are in journal and audit, secret ones in neither, nor in what fails afterwards', async () => {
    const { session, operator, journaled, audited, act } = fixture();
    operator.typed = { settings: [{ WEB_PORT: '9000', ADMIN_TOKEN: 'hunter2-hunter2' }] };
    expect(await session.fill(form)).toEqual({
      WEB_PORT: '9000',
      WEB_BIND: '127.0.0.1',
      MAIL_FROM: '',
      ADMIN_TOKEN: 'hunter2-hunter2',
      MAIL_PASSWORD: '',
    });
    const failed = await faultOf(
      act(async () => {
        throw new Fault('engine.refused', 'bad token hunter2-hunter2', 'not hunter2-hunter2');
      }, 'up with hunter2-hunter2'),
    );
    expect(failed).toMatchObject({ message: 'bad token (secret)', remedy: 'not (secret)' });
    expect(journaled).toEqual([
      ['settings.WEB_PORT', '9000'],
      ['settings.WEB_BIND', '127.0.0.1'],
      ['settings.MAIL_FROM', ''],
    ]);
    expect(audited[0]?.answers).toEqual({
      'settings.WEB_PORT': ['9000'],
      'settings.WEB_BIND': ['127.0.0.1'],
      'settings.ADMIN_TOKEN': ['(secret)'],
      'settings.MAIL_PASSWORD': ['(kept)'],
    });
    expect(JSON.stringify([journaled, audited])).not.toContain('hunter2');
  });

  test('filled again, the audit tells the newest answers', async () => {
    const { session, operator, audited, act } = fixture();
    operator.typed = { settings: [{ MAIL_FROM: 'ada@lan' }, { WEB_PORT: '9001' }] };
    await session.fill(form);
    await session.fill(form);
    await act(async () => {});
    expect(audited[0]?.answers).toMatchObject({ 'settings.WEB_PORT': ['9001'], 'settings.ADMIN_TOKEN': ['(generated)'] });
    expect(audited[0]?.answers).not.toHaveProperty('settings.MAIL_FROM');
  });

  test.each([
    [{ WEB_PORT: '99999' }, 'Port of the page (WEB_PORT): "99999" is not accepted. The port must be a number up to 65535.'],
    [{ WEB_PORT: '' }, 'Port of the page (WEB_PORT): missing value. A value is required.'],
    [{ WEB_BIND: '10.0.0.1' }, 'Choose one of 127.0.0.1, 0.0.0.0.'],
    [{ WEB_BIND: '0.0.0.0' }, 'Sender (MAIL_FROM): missing value. Who is reached by everybody'],
  ])('%j is refused, whoever answered it', async (typed, sentence) => {
    const { session, operator, journaled } = fixture();
    operator.typed = { settings: [typed] };
    const fault = await faultOf(session.fill(form));
    expect(fault.code).toBe('usage.answer');
    expect(fault.message).toContain(sentence);
    expect(journaled).toEqual([]);
  });

  test('a refused secret is not repeated, not even by its check', async () => {
    const { session, operator } = fixture();
    operator.typed = { other: [{ PASS: 'hunter2' }] };
    const fields = [
      {
        id: 'PASS',
        label: 'Password',
        kind: 'secret' as const,
        value: '',
        required: true,
        section: '',
        check: (value: string) => `"${value}" is short.`,
      },
    ];
    const fault = await faultOf(session.fill({ id: 'other', title: 'x', fields }));
    expect(fault.message).toContain('PASS');
    expect(JSON.stringify(fault)).not.toContain('hunter2');
  });

  test('what a run that is gone on with knew stands in the fields, in its newest form; secrets are asked again', async () => {
    const { session, operator } = fixture({ earlier: { 'settings.WEB_PORT': ['9000', '9001'], 'settings.MAIL_FROM': ['ada@lan'] } });
    operator.typed = { settings: [{ ADMIN_TOKEN: 'typed-again' }] };
    expect(await session.fill(form)).toMatchObject({ WEB_PORT: '9001', MAIL_FROM: 'ada@lan', ADMIN_TOKEN: 'typed-again' });
    expect(operator.forms[0]?.fields.map(({ value }) => value)).toEqual(['9001', '127.0.0.1', 'ada@lan', '', '']);
  });

  test('without secrets, and answered before, it is not asked again', async () => {
    const plain = { ...form, fields: form.fields.filter(({ kind }) => kind !== 'secret') };
    const earlier = { 'settings.WEB_PORT': ['9000'], 'settings.WEB_BIND': ['127.0.0.1'], 'settings.MAIL_FROM': [''] };
    const { session, operator, journaled } = fixture({ earlier });
    expect(await session.fill(plain)).toEqual({ WEB_PORT: '9000', WEB_BIND: '127.0.0.1', MAIL_FROM: '' });
    expect(operator.forms).toEqual([]);
    await session.fill(plain);
    expect(operator.forms).toHaveLength(1);
    expect(journaled).toHaveLength(3);
  });
});

describe('a review', () => {
  test('a remedy or an action is answered, and is in the audit', async () => {
    const { session, operator, audited, act } = fixture();
    operator.takes = { plan: ['remedy:taken', 'edit', 'cancel'] };
    expect([await session.review(plan), await session.review(plan), await session.review(plan)]).toEqual([
      'remedy:taken',
      'edit',
      'cancel',
    ]);
    await act(async () => {});
    expect(audited[0]?.answers).toEqual({ plan: ['remedy:taken', 'edit', 'cancel'] });
  });

  test.each([
    ['apply', 'refused.blocked', '"Apply" is blocked: a port is taken'],
    ['delete', 'usage.answer', 'Unknown action "delete" for'],
    ['remedy:disk', 'usage.answer', 'Unknown action "remedy:disk" for'],
  ])('%s is refused', async (answer, code, sentence) => {
    const { session, operator } = fixture();
    operator.takes = { plan: [answer] };
    const fault = await faultOf(session.review(plan));
    expect(fault.code).toBe(code);
    expect(fault.message).toContain(sentence);
  });

  test('in a dry run it is shown, nobody is asked, and the answer is cancel', async () => {
    const { session, operator } = fixture({ dryRun: true });
    expect(await session.review(plan)).toBe('cancel');
    expect(operator.reviews).toEqual([]);
    expect(operator.shown).toEqual([{ kind: 'review', review: plan }]);
  });
});

describe('what the flow hides', () => {
  test('is masked wherever it is shown; a longer secret is hidden whole', async () => {
    const { session, operator } = fixture();
    session.hide('geheim');
    session.hide('geheim-und-mehr');
    session.show({ kind: 'text', text: 'a\ngeheim-und-mehr' });
    session.show({ kind: 'table', title: 'geheim', columns: ['X'], rows: [['=geheim=']] });
    session.show({ kind: 'item', id: 'i', title: 'geheim', state: 'ok', evidence: 'geheim' });
    session.progress({ id: 'p', label: 'geheim' });
    operator.takes = { plan: ['edit'] };
    await session.review({ ...plan, sections: [{ title: 'geheim', lines: [{ text: 'X=geheim' }] }] });
    expect(operator.texts()).toEqual(['a\n(secret)']);
    expect(JSON.stringify([operator.shown, operator.steps, operator.reviews])).not.toContain('geheim');
  });

  test('a secret that is shown is seen once, and hidden in everything else', () => {
    const { session, operator } = fixture();
    session.show({ kind: 'secret', label: 'Admin token', value: 'geheim', secondsLeft: 15 });
    session.show({ kind: 'text', text: 'it is geheim' });
    expect(operator.shown).toEqual([
      { kind: 'secret', label: 'Admin token', value: 'geheim', secondsLeft: 15 },
      { kind: 'text', text: 'it is (secret)' },
    ]);
  });
});
