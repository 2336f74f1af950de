import http from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { foreignShare } from '../../../test/doubles/vault-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import type { Question } from '../../session/session.ts';

const id = 'secrets-manager-path';
let fixture: PracticeFixture;
let shares: readonly string[];
let token: string;

/** Sends a request directly to the server, like another holder at another console. */
function aside(method: string, path: string, json?: unknown): Promise<Record<string, unknown>> {
  const { address = '' } = fixture.access.facts.products[id] ?? {};
  const request = { socketPath: address.replace('unix://', ''), method, path: `/v1/${path}`, headers: { 'X-Vault-Token': token } };
  return new Promise((resolve, reject) => {
    const sending = http.request(request, async (response) => {
      const body = Buffer.concat(await response.toArray()).toString();
      resolve(body === '' ? {} : (JSON.parse(body) as Record<string, unknown>));
    });
    sending.on('error', reject);
    sending.end(json === undefined ? undefined : JSON.stringify(json));
  });
}
const sealStatus = () => aside('GET', 'sys/seal-status');

/** Enters these shares in turn; a function is called instead of an answer. */
class Holder extends OperatorDouble {
  readonly #shares: (string | (() => Promise<string>))[];
  constructor(given: readonly (string | (() => Promise<string>))[], kind: OperatorDouble['kind'] = 'terminal') {
    super(kind);
    this.#shares = [...given];
  }
  override async ask(question: Question): Promise<string | readonly string[]> {
    if (question.id !== 'share') return super.ask(question);
    this.asked.push(question);
    const next = this.#shares.shift();
    if (next === undefined) {
      const code = this.kind === 'unattended' ? 'usage.unanswered' : 'interrupted.cancelled';
      throw new Fault(code, 'Left.', 'Come back.');
    }
    return typeof next === 'string' ? next : next();
  }
}

const give = (...given: (string | (() => Promise<string>))[]) => fixture.run('unseal', id, {}, { operator: new Holder(given) });
const share = (at: number) => shares[at] as string;
const wrong = () => foreignShare(shares);

beforeAll(async () => {
  fixture = await PracticeFixture.open();
  ({ shares, rootToken: token } = fixture.access.facts);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  const { sealed } = await sealStatus();
  await (sealed ? aside('PUT', 'sys/unseal', { reset: true }) : aside('PUT', 'sys/seal'));
});

describe('unsealing (R59, R75)', () => {
  test('three of five shares, in any order and notation, open it; the count is told with each', async () => {
    const asBase64 = Buffer.from(share(4), 'hex').toString('base64');
    const { message, data } = await give(share(2), `  ${asBase64} `, share(0));
    expect(message).toBe(`${id} is unsealed.`);
    expect(data).toMatchObject({ sealed: false, threshold: 3, shares: 5 });
    expect(fixture.operator.asked.map(({ label }) => label)).toEqual(['Key share 1 of 3', 'Key share 2 of 3', 'Key share 3 of 3']);
    expect(fixture.operator.asked.every(({ kind }) => kind === 'secret')).toBe(true);
    expect(fixture.operator.steps.map(({ label }) => label)).toEqual([0, 1, 2, 3].map((given) => `${given} of 3 key shares accepted`));
    expect(await sealStatus()).toMatchObject({ sealed: false });
    const again = await give();
    expect(again.message).toBe(`${id} is already unsealed.`);
  });

  test('who holds one share gives it and leaves; the next one goes on', async () => {
    await expect(give(share(0))).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: expect.stringContaining('1 of 3 shares entered'),
    });
    const next = new Holder([share(1), share(3)]);
    next.answers = { attempt: ['continue'] };
    const { message } = await fixture.run('unseal', id, {}, { operator: next });
    expect(message).toBe(`${id} is unsealed.`);
    expect(next.asked[0]?.label).toMatch(/^1 of 3 shares were already entered/);
  });

  test('an attempt that nobody knows is dropped when the operator says so', async () => {
    await aside('PUT', 'sys/unseal', { key: wrong() });
    const operator = new Holder([share(0), share(1), share(2)]);
    operator.answers = { attempt: ['reset'] };
    await fixture.run('unseal', id, {}, { operator });
    expect(await sealStatus()).toMatchObject({ sealed: false });
  });

  test('a wrong share shows only at the end: all are dropped, that is said, and the round starts anew', async () => {
    const { message } = await give(share(0), wrong(), share(1), share(0), share(1), share(2));
    expect(message).toBe(`${id} is unsealed.`);
    expect(fixture.operator.texts().join(' ')).toMatch(/at least one is wrong.*discarded them all.*cannot tell which/);
    expect(fixture.operator.texts().join(' ')).not.toMatch(/correct/);
    expect(fixture.operator.asked.map(({ label }) => label)).toEqual([1, 2, 3, 1, 2, 3].map((number) => `Key share ${number} of 3`));
  });

  test('unattended a wrong share is a failure', async () => {
    const operator = new Holder([share(0), wrong(), share(1)], 'unattended');
    await expect(fixture.run('unseal', id, {}, { operator })).rejects.toMatchObject({ code: 'failed.shares' });
    expect(await sealStatus()).toMatchObject({ sealed: true, progress: 0 });
  });

  test('shares that the server rejected are recorded as failed, with host, project and container', async () => {
    const operator = new Holder([share(0), wrong(), share(1)], 'unattended');
    await expect(fixture.run('unseal', id, {}, { operator })).rejects.toMatchObject({ code: 'failed.shares' });
    const ends = (await fixture.audited()).filter(({ phase }) => phase === 'after').slice(-3);
    expect(ends.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'failed']);
    expect(ends.at(-1)?.message).toMatch(/^the server rejected all 3 shares: /);
    const { project, services } = fixture.component(id) ?? {};
    expect(ends.at(-1)).toMatchObject({ host: 'practice', project, containers: services?.map(({ containerName }) => containerName) });
    expect(JSON.stringify(ends)).not.toContain(share(0));
  });

  test('unattended one share alone is a contribution, and no failure', async () => {
    const operator = new Holder([share(3)], 'unattended');
    const { message, data } = await fixture.run('unseal', id, {}, { operator });
    expect(message).toBe(`${id} is still sealed (1 of 3 key shares entered).`);
    expect(data).toMatchObject({ sealed: true, progress: 1, threshold: 3 });
  });

  test.each([
    ['nothing', '', /Type a key share/],
    ['too short', 'ab'.repeat(20), /too short: it must have 66 characters in hex, or 44 in base64/],
    ['neither hex nor base64', 'not a share at all!', /neither hex nor base64/],
    ['encrypted with PGP', Buffer.alloc(300, 7).toString('base64'), /encrypted with PGP for its holder/],
    ['PGP in armour', '-----BEGIN PGP MESSAGE-----', /encrypted with PGP for its holder/],
  ])('%s is caught before it is sent', async (_, text, why) => {
    await expect(give(text)).rejects.toMatchObject({ code: 'usage.answer', message: expect.stringMatching(why) });
    expect(await sealStatus()).toMatchObject({ progress: 0 });
  });

  test('the same share twice is caught here, and one that another console gave is told', async () => {
    await expect(give(share(0), share(0))).rejects.toMatchObject({
      message: expect.stringMatching(/already entered\. Each share counts only once/),
    });
    await aside('PUT', 'sys/unseal', { reset: true });
    const givenElsewhere = async () => {
      await aside('PUT', 'sys/unseal', { key: share(1) });
      return share(1);
    };
    const { message } = await give(share(0), givenElsewhere, share(2));
    expect(message).toBe(`${id} is unsealed.`);
    expect(fixture.operator.texts().join(' ')).toMatch(/already entered, here or elsewhere/);
  });

  test('somebody drops the attempt in the middle: it is noticed by its nonce, and the count starts over', async () => {
    const dropped = async () => {
      await aside('PUT', 'sys/unseal', { reset: true });
      return share(1);
    };
    const droppedAndBegun = async () => {
      await aside('PUT', 'sys/unseal', { reset: true });
      await aside('PUT', 'sys/unseal', { key: share(4) });
      return share(0);
    };
    const { message } = await give(share(0), dropped, droppedAndBegun, share(2));
    expect(message).toBe(`${id} is unsealed.`);
    expect(fixture.operator.texts().filter((text) => text.includes('were discarded'))).toHaveLength(2);
  });

  test('somebody else gives the last share first: ours is not sent', async () => {
    const opened = async () => {
      for (const at of [1, 2]) await aside('PUT', 'sys/unseal', { key: share(at) });
      return share(3);
    };
    const { message } = await give(share(0), opened);
    expect(message).toBe(`${id} is unsealed.`);
    expect(fixture.operator.texts().join(' ')).toMatch(/your share was not sent/);
  });

  test('it restarts in the middle: the shares are gone, and that is said', async () => {
    const restarted = async () => {
      await fixture.run('restart', id, {}, { operator: new OperatorDouble() });
      return share(1);
    };
    const { message } = await give(share(0), restarted, share(0), share(2));
    expect(message).toBe(`${id} is unsealed.`);
  });
});

describe('sealing', () => {
  test('with a token that may, after a confirmation that names what it takes to open it again', async () => {
    await give(share(0), share(1), share(2));
    const operator = new OperatorDouble();
    operator.answers = { token: [token] };
    const { message } = await fixture.run('seal', id, {}, { operator });
    expect(message).toBe(`Sealed ${id}.`);
    expect(operator.confirmations[0]?.consequences.join(' ')).toContain('3 of the 5 key shares');
    expect(await sealStatus()).toMatchObject({ sealed: true });
  });

  test('a token that may not is refused in a sentence that does not hold it', async () => {
    await give(share(0), share(1), share(2));
    const operator = new OperatorDouble();
    operator.answers = { token: ['s.not-a-token'] };
    const fault = (await fixture.run('seal', id, {}, { operator }).catch((thrown: unknown) => thrown)) as Fault;
    expect(fault).toMatchObject({ code: 'failed.seal', message: expect.stringMatching(/not permitted/) });
    expect(`${fault.message}${fault.remedy}`).not.toContain('s.not-a-token');
    expect(await sealStatus()).toMatchObject({ sealed: false });
  });
});
