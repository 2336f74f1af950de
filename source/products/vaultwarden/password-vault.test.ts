import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { askProduct } from '../../../test/doubles/ask-product.ts';
import { answering, Leaver } from '../../../test/doubles/cancelling-operator.ts';
import { disturbed, Watch } from '../../../test/doubles/disturbed-flow.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { tracesBelow } from '../../../test/doubles/secret-traces.ts';
import { HttpClient } from '../../calls/http-client.ts';
import { HttpAnswer, type HttpRequest } from '../../calls/http-exchange.ts';

const id = 'password-vault';
let fixture: PracticeFixture;

const isOpen = async () =>
  !(
    JSON.parse((await askProduct(fixture, id, { method: 'GET', path: '/api/config' })).text) as {
      settings: { disableUserRegistration: boolean };
    }
  ).settings.disableUserRegistration;
const logIn = async (token: string) =>
  (await askProduct(fixture, id, { method: 'POST', path: '/admin', body: new URLSearchParams({ token }).toString() })).status;

/** Returns a variable in the environment of its container. */
async function variable(name: string): Promise<string | undefined> {
  const { vault = '' } = await fixture.containers(id);
  const detail = await fixture.app.context.engineOf('practice').inspect(vault, AbortSignal.timeout(20_000));
  return new Map(detail?.env).get(name);
}

beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture.close());

describe('the first account (R20)', () => {
  test('its page is named, and it goes from the list by itself', async () => {
    const { message, data } = await fixture.run('first-admin', id);
    expect(message).toMatch(
      /^Still to do at http:\/\/127\.0\.0\.1:8180\/#\/signup: Create the first account, then disable sign-ups\. Quarterdeck detects/,
    );
    expect(data).toMatchObject({ done: false });
  });
});

describe('signups (R20)', () => {
  test('stay open for who walks away, or has no account yet', async () => {
    for (const asked of [new Leaver('account', {}), answering({ account: ['no'] })]) {
      await expect(fixture.run('close-signups', id, {}, { operator: asked })).rejects.toMatchObject({
        code: 'interrupted.cancelled',
        message: expect.stringContaining('still enabled'),
      });
    }
    const no = answering({ account: ['yes'] });
    no.takes = { signups: ['cancel'] };
    await expect(fixture.run('close-signups', id, {}, { operator: no })).rejects.toMatchObject({ code: 'interrupted.cancelled' });
    expect(await isOpen()).toBe(true);
  });

  test('dry-run: the change is shown, and nothing is done', async () => {
    const { message } = await fixture.run('close-signups', id, {}, { dryRun: true });
    expect(message).toMatch(/^Dry run/);
    expect(await isOpen()).toBe(true);
  });

  test('are closed as any other change, and the running vault is asked', async () => {
    const { message } = await fixture.run('close-signups', id, {}, { operator: answering({ account: ['yes'] }) });
    expect(message).toMatch(/^Disabled sign-ups for .*, which now rejects new accounts/);
    expect(await isOpen()).toBe(false);
    expect(await fixture.text('password-vault/.env')).toMatch(/^SIGNUPS_ALLOWED=["']?false["']?$/m);
    const again = await fixture.run('close-signups', id);
    expect(again.message).toBe(`Sign-ups for ${id} are already disabled.`);
  });
});

describe('signups of a server without mail, which reports them as open in any case (1.34.3 and later)', () => {
  /** Vaultwarden's answers to an uninvited address: `closed` if SIGNUPS_ALLOWED is "false". */
  const answers = {
    open: [200, 'eyJ0eXAi'],
    closed: [400, { message: 'Registration not allowed or user already exists' }],
    limited: [429, { message: 'Too many requests' }],
    mail: [400, { message: 'Address' }],
    older: [404, ''],
  } as const;
  const answered = ([statusCode, json]: readonly [number, unknown]) =>
    new HttpAnswer({ statusCode, headers: {} }, Buffer.from(JSON.stringify(json)), true);
  const tried: HttpRequest[] = [];
  const answerWith = (closed: keyof typeof answers) => {
    const { send } = HttpClient.prototype;
    vi.spyOn(HttpClient.prototype, 'send').mockImplementation(async function (this: HttpClient, request, signal, limits) {
      const config = await send.call(this, { method: 'GET', path: '/api/config' }, signal, limits);
      if (request.method === 'GET') return answered([200, { settings: { disableUserRegistration: false } }]);
      tried.push(request);
      const isClosed = (config.json as { settings: { disableUserRegistration: boolean } }).settings.disableUserRegistration;
      return answered(answers[isClosed ? closed : 'open']);
    });
  };
  afterEach(() => vi.restoreAllMocks());

  test('already closed: an address that was not invited is refused, and nothing is left open by that', async () => {
    answerWith('closed');
    const { message, data } = await fixture.run('close-signups', id);
    expect(message).toMatch(/^Sign-ups for password-vault are already disabled\. Its sign-up link stays visible/);
    expect(data).toEqual({ closed: true });
    // No mail can be sent to it.
    expect(tried).toEqual([expect.objectContaining({ path: expect.stringContaining('/register/'), json: { email: 'quarterdeck' } })]);
  });

  test.each([
    ['open', /still reports that sign-ups are enabled/],
    ['older', /still reports that sign-ups are enabled/],
    ['limited', /it is unknown whether password-vault rejects new accounts/],
    ['mail', /it is unknown whether password-vault rejects new accounts/],
  ] as const)('set to closed, and the answer is "%s": a fault', async (answer, message) => {
    answerWith(answer);
    await expect(fixture.run('close-signups', id)).rejects.toMatchObject({
      code: 'failed.signups',
      message: expect.stringMatching(message),
    });
  });

  test('are closed, and that is tried', async () => {
    const open = (await fixture.text(`${id}/.env`)).replace(/^SIGNUPS_ALLOWED=.*$/m, 'SIGNUPS_ALLOWED=true');
    await fixture.run('edit', id, { words: ['.env'], stdin: Buffer.from(open) });
    expect(await isOpen()).toBe(true);
    answerWith('closed');
    const { message } = await fixture.run('close-signups', id, {}, { operator: answering({ account: ['yes'] }) });
    expect(message).toMatch(/^Disabled sign-ups for .*, which now rejects new accounts\..*Its sign-up link stays visible/);
  });
});

describe('the admin token (R19)', () => {
  let token = '';

  test('is replaced: shown once, its hash alone is given to the vault, the new one works', async () => {
    const asked = answering({ 'old-token': [''], kept: ['yes'] });
    const { message } = await fixture.run('admin-token', id, {}, { operator: asked });
    token = asked.asked.find(({ id: step }) => step === 'kept')?.reveals?.value ?? '';
    expect(Buffer.from(token, 'base64')).toHaveLength(48);
    expect(message).toContain('only its hash is stored');
    const given = await variable('ADMIN_TOKEN');
    // Exact match: neither compose nor a file has expanded a dollar sign.
    expect(given).toMatch(/^\$argon2id\$v=19\$m=65540,t=3,p=4\$[A-Za-z0-9+/]{43}\$[A-Za-z0-9+/]{43}$/);
    expect(await fixture.text('password-vault/.env')).not.toContain('argon2');
    expect(JSON.stringify([asked.shown, asked.asked.filter(({ reveals }) => !reveals)])).not.toContain(token);
  });

  test('the old one is seen dead', async () => {
    const asked = answering({ 'old-token': [token], kept: ['yes'] });
    const { message } = await fixture.run('admin-token', id, {}, { operator: asked });
    expect(message).toContain('Verified: the new value works, and the old one does not.');
    expect(await logIn(token)).toBe(401);
  });

  test.each([
    ['old-token', {}],
    ['kept', { 'old-token': [''] }],
  ])('leaving at %s leaves the old one in force', async (at, answers) => {
    const before = await variable('ADMIN_TOKEN');
    await expect(fixture.run('admin-token', id, {}, { operator: new Leaver(at, answers) })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: expect.stringContaining('its current admin token'),
    });
    expect(await variable('ADMIN_TOKEN')).toBe(before);
  });

  test('killed when its hash was kept and nothing else was done: the old one opens still, and the next run hands out another', async () => {
    const before = await variable('ADMIN_TOKEN');
    const flow = fixture.app.flows.find((one) => one.id === 'admin-token');
    if (!flow) throw new Error('no flow');
    const watch = new Watch();
    const first = answering({ 'old-token': [''], kept: ['yes'] });
    const killed = disturbed(flow, watch, { kind: 'kill', at: 0, moment: 'after' });
    fixture.run('admin-token', id, {}, { operator: first, as: () => killed }).catch(() => undefined);
    await watch.killed;
    expect(watch.ran).toEqual([expect.stringMatching(/^keep: /)]);
    expect(await variable('ADMIN_TOKEN')).toBe(before);
    const second = answering({ 'old-token': [''], kept: ['yes'] });
    const { message } = await fixture.run('admin-token', id, {}, { operator: second });
    expect(message).toContain('Replaced the admin token of');
    const tokens = [first, second].map(({ asked }) => asked.find(({ id: step }) => step === 'kept')?.reveals?.value ?? '');
    expect(await Promise.all(tokens.map(logIn))).toEqual([401, 303]);
    expect(await tracesBelow([fixture.home, fixture.access.folder], [...tokens, ...watch.secrets])).toEqual([]);
  });

  test('nobody is there to see it: refused', async () => {
    await expect(fixture.run('admin-token', id, {}, { operator: answering({}, 'unattended') })).rejects.toMatchObject({
      code: 'refused.unattended',
    });
  });
});
