import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { listen } from '../../../test/contract/listening.ts';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';
import { createSecretsManager, type SecretsManagerOptions } from './simulator/secrets-manager.ts';

type Trouble = (asked: IncomingMessage) => 'answer is lost' | 'nobody answers' | { status: number; body: string } | undefined;

let fixture: VaultFixture;
let trouble: Trouble = () => undefined;
afterEach(() => fixture.close());

/** Starts a practice server behind an unreliable connection. */
async function open(options: SecretsManagerOptions = {}): Promise<void> {
  trouble = () => undefined;
  const practice = await createSecretsManager(options);
  const there = await listen(practice.product, 8200);
  const line = createServer(async (asked, answer) => {
    const wrong = trouble(asked);
    const body = await buffer(asked);
    if (wrong === 'nobody answers') return void answer.socket?.destroy();
    if (typeof wrong === 'object') return void answer.writeHead(wrong.status).end(wrong.body);
    const { method = 'GET', url = '/', headers } = asked;
    const passed = request(new URL(url, there.url), { method, headers }, async (answered) => {
      const bytes = await buffer(answered);
      if (wrong === 'answer is lost') answer.socket?.destroy();
      else answer.writeHead(answered.statusCode ?? 500, answered.headers).end(bytes);
    });
    passed.end(body);
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    line.closeAllConnections();
    await new Promise((resolve) => line.close(resolve));
    await there.close();
  };
  const url = `http://127.0.0.1:${(line.address() as AddressInfo).port}`;
  fixture = await VaultFixture.over({ url, restart: () => there.restart(), close }, practice);
}

/** Fails requests to this path that many times. */
function times(count: number, path: string, what: ReturnType<Trouble>): void {
  let left = count;
  trouble = ({ url }) => (url?.endsWith(path) && left-- > 0 ? what : undefined);
}
const share = (at: number) => fixture.shares[at] as string;

test('the answer to initialising is lost: nobody has the keys, and that is said with the way on', async () => {
  await open({ uninitialised: true });
  trouble = ({ url, method }) => (url === '/v1/sys/init' && method === 'PUT' ? 'answer is lost' : undefined);
  await expect(fixture.run('initialise', new Holders(), {}, 'not initialised')).rejects.toMatchObject({
    code: 'failed.handout',
    message: expect.stringMatching(/its keys are lost/),
    remedy: expect.stringContaining('quarterdeck remove vault --data'),
  });
});

test('initialising never arrived: it is as new as before, and can be tried again', async () => {
  await open({ uninitialised: true });
  times(1, '/v1/sys/init', 'nobody answers');
  await expect(fixture.run('initialise', new Holders(), {}, 'not initialised')).rejects.toMatchObject({ kind: 'unreachable' });
  expect((await fixture.run('initialise', new Holders(), {}, 'not initialised')).message).toContain('Initialised ');
});

test('the answer to a share is lost, and it counted all the same: the count goes on from there', async () => {
  await open();
  times(1, '/v1/sys/unseal', 'answer is lost');
  const holders = new Holders({ share: [share(0), share(1), share(2)] });
  expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
  expect(holders.texts().join(' ')).toMatch(/connection was lost while the share was being sent\. The server now has 1 of 3 shares/);
  expect(holders.asked.map(({ label }) => label)).toEqual([1, 2, 3].map((number) => `Key share ${number} of 3`));
});

test('a first share that never arrives is not said to be lost in a restart', async () => {
  await open();
  times(1, '/v1/sys/unseal', 'nobody answers');
  const holders = new Holders({ share: [share(0), share(0), share(1), share(2)] });
  expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
  expect(holders.texts().join(' ')).toMatch(/The server now has 0 of 3 shares\.$/);
});

test('shares that are sealed with PGP are said to be saved, not to be with their holders', async () => {
  await open({ uninitialised: true });
  const body = JSON.stringify({ keys: ['c0ffee'], root_token: 's.root' });
  trouble = ({ url, method }) => (url === '/v1/sys/init' && method === 'PUT' ? { status: 200, body } : undefined);
  const [key, folder] = ['holder.pgp', 'sealed'].map((name) => join(fixture.fixture.folder, name)) as [string, string];
  await writeFile(key, Buffer.of(0x99, 0, 0));
  const holders = new Holders({ shares: '1', ready: 'pgp', 'pgp-1': key, folder, 'share-1-proof': '' });
  const { message } = await fixture.run('initialise', holders, {}, 'not initialised');
  expect(message).toMatch(new RegExp(`^Initialised vault and saved the encrypted shares in ${folder}\\.`));
});

test('it does not respond for a while: its holders wait with it', async () => {
  await open();
  const holders = new Holders({
    share: [
      async () => {
        times(2, '/v1/sys/seal-status', 'nobody answers');
        return share(0);
      },
      share(1),
      share(2),
    ],
  });
  expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
  expect(holders.steps.map(({ label }) => label)).toContain('The server is not responding; waiting');
});

test.each([
  ['a page of a proxy', { status: 502, body: '<html>Bad gateway</html>' }],
  ['JSON of another kind', { status: 200, body: '[1, 2]' }],
  ['control characters', { status: 500, body: '{"errors":["\\u001b[2Jx\\u202e"]}' }],
])('%s instead of an answer is a sentence', async (_, answer) => {
  await open();
  await fixture.unseal();
  for (const [path, flow, input] of [
    ['/v1/auth/token/lookup-self', 'vault-login', { options: { method: 'token' } }],
    ['/v1/secret/data/apps/file-sync', 'vault-read', { words: ['secret/apps/file-sync'] }],
    ['/v1/sys/storage/raft/snapshot', 'vault-snapshot', { words: ['/nowhere/x.snap'] }],
    ['/v1/sys/seal-status', 'unseal', {}],
  ] as const) {
    times(9, path, answer);
    const outcome = await fixture
      .run(flow, new Holders({ token: fixture.token, keep: 'no', field: '' }), input)
      .catch((thrown: unknown) => thrown);
    const reported = String(outcome);
    expect(outcome, path).toMatchObject({ code: expect.stringMatching(/^(?:failed|usage|unreachable)\./) });
    expect(reported).not.toMatch(/[\u001b\u202e]/);
  }
});
