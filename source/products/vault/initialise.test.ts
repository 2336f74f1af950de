import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Listening, listen } from '../../../test/contract/listening.ts';
import { catalogEntry, composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentView, stateOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Fault } from '../../faults/fault.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import type { Question } from '../../session/session.ts';
import { createSecretsManager } from './simulator/secrets-manager.ts';

const id = 'vault';
let fixture: FlowFixture;
let server: Listening;

/** Holders who write down the shares they see and enter them again; `wayward` overrides the answer to a step. */
class Holders extends OperatorDouble {
  readonly seen: Record<string, string> = {};
  wayward: Record<string, () => string> = {};
  #last = '';

  override async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    if (question.reveals) {
      this.#last = question.reveals.value;
      this.seen[question.reveals.label] = question.reveals.value;
    }
    const otherwise = this.wayward[question.id];
    if (otherwise) return otherwise();
    if (question.id.includes('-proof')) return this.#last;
    if (question.kind === 'choice') return question.initial ?? '';
    return 'initial' in question && typeof question.initial === 'string' ? question.initial : '';
  }
}

const walkAway = (): never => {
  throw new Fault('interrupted.cancelled', 'Left.', 'Come back.');
};
const component = componentView(id, { project: id, speaks: 'vault', state: stateOf('not initialised') });
const status = async () => (await fetch(`${server.url}/v1/sys/seal-status`)).json() as Promise<Record<string, unknown>>;

async function run(holders: Holders) {
  fixture.operator = holders;
  return fixture.run('initialise', component);
}

beforeEach(async () => {
  fixture = await FlowFixture.open();
  const { product } = await createSecretsManager({ uninitialised: true });
  server = await listen(product, 8200);
  fixture.host = openLocalHost();
  const entry = catalogEntry(
    id,
    { openbao: { image: 'openbao/openbao', main: true } },
    {
      api: { name: 'vault', port: 'api' },
      ports: [
        {
          name: 'api',
          role: 'API',
          exposure: 'loopback',
          fixed: false,
          web: true,
          tls: false,
          service: 'openbao',
          host: 8200,
          container: 8200,
          protocol: 'tcp',
        },
      ],
    },
  );
  fixture.catalog = { entries: [entry], get: (wanted) => (wanted === id ? entry : undefined), problems: [] };
  fixture.engine.add('openbao', {
    labels: composeLabels(id, 'openbao'),
    ports: [{ address: '127.0.0.1', hostPort: Number(new URL(server.url).port), containerPort: 8200, protocol: 'tcp' }],
  });
});
afterEach(async () => {
  await server.close();
  await fixture.host?.close();
  await fixture.close();
});

describe('initialising (R59, R75)', () => {
  test('five shares and the root token, each seen once by one person and typed again; three of them open it', async () => {
    const holders = new Holders();
    const { message, todo } = await run(holders);
    expect(message).toMatch(/Initialised vault.*sealed: unseal it with 3 of the 5 shares/);
    expect(todo?.items.map((item) => item.id)).toEqual(['unseal', 'second-admin']);
    expect(Object.keys(holders.seen)).toEqual([...[1, 2, 3, 4, 5].map((number) => `Key share ${number} of 5`), 'Root token']);
    expect(await status()).toMatchObject({ initialized: true, sealed: true, t: 3, n: 5 });
    for (const share of Object.values(holders.seen).slice(1, 4))
      await fetch(`${server.url}/v1/sys/unseal`, { method: 'PUT', body: JSON.stringify({ key: share }) });
    expect(await status()).toMatchObject({ sealed: false });
    const self = await fetch(`${server.url}/v1/auth/token/lookup-self`, { headers: { 'X-Vault-Token': holders.seen['Root token'] ?? '' } });
    expect(self.status).toBe(200);
    expect((await run(new Holders())).message).toBe('vault is already initialised.');
  });

  test('other numbers; one share alone', async () => {
    const holders = new Holders();
    holders.wayward = { shares: () => '1' };
    await run(holders);
    expect(await status()).toMatchObject({ t: 1, n: 1 });
    expect(holders.asked.some((question) => question.id === 'threshold')).toBe(false);
  });

  test.each([
    ['shares', '0'],
    ['shares', '256'],
    ['threshold', '1'],
    ['threshold', '6'],
  ])('%s cannot be %s', async (step, answer) => {
    const holders = new Holders();
    holders.wayward = { [step]: () => answer };
    await expect(run(holders)).rejects.toMatchObject({ code: 'usage.answer' });
    expect(await status()).toMatchObject({ initialized: false });
  });

  test('what was written down wrong is not taken; an empty line shows it once more', async () => {
    const holders = new Holders();
    holders.wayward = { 'share-2-proof': () => 'beef' };
    await expect(run(holders)).rejects.toMatchObject({ code: 'usage.answer', message: expect.stringContaining('No match') });
  });

  test('who has not written it down sees it again', async () => {
    const holders = new Holders();
    holders.wayward = { 'share-2-proof': () => '' };
    await run(holders);
    expect(holders.asked.filter(({ reveals }) => reveals?.label === 'Key share 2 of 5')).toHaveLength(2);
  });

  test('leaving in the middle is asked about, and going on is what happens by itself', async () => {
    const holders = new Holders();
    holders.wayward = { 'share-3-shown': walkAway, 'leave-share-3': walkAway };
    const { message } = await run(holders);
    expect(message).toContain('Initialised ');
    const question = holders.asked.find(({ id: step }) => step === 'leave-share-3');
    expect(question?.help).toContain('Key share 3 of 5, Key share 4 of 5, Key share 5 of 5, Root token');
  });

  test('who leaves all the same is told what is lost and how to begin anew', async () => {
    const holders = new Holders();
    holders.wayward = { 'share-5-proof': walkAway, 'leave-share-5': () => 'leave' };
    await expect(run(holders)).rejects.toMatchObject({
      code: 'failed.handout',
      message: expect.stringMatching(/were not delivered and are lost: Key share 5 of 5, Root token/),
      remedy: expect.stringContaining('quarterdeck remove vault --data'),
    });
  });

  test('not now: nothing is made; nobody there: nothing is made', async () => {
    const holders = new Holders();
    holders.wayward = { ready: () => 'no' };
    await expect(run(holders)).rejects.toMatchObject({ kind: 'interrupted' });
    await expect(run(new Holders('unattended'))).rejects.toMatchObject({ code: 'refused.unattended' });
    expect(await status()).toMatchObject({ initialized: false });
  });

  test('somebody else was faster', async () => {
    const holders = new Holders();
    holders.wayward = { ready: () => 'yes' };
    const asking = holders.ask.bind(holders);
    holders.ask = async (question) => {
      if (question.id === 'ready')
        await fetch(`${server.url}/v1/sys/init`, { method: 'PUT', body: JSON.stringify({ secret_shares: 1, secret_threshold: 1 }) });
      return asking(question);
    };
    await expect(run(holders)).rejects.toMatchObject({ code: 'refused.initialised' });
  });
});
