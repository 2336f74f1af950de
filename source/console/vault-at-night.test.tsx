import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FlowBody } from '../../test/doubles/console/fake-app.ts';
import { type Harness, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { stateOf } from '../../test/doubles/fleet-double.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { foreignShare, VaultFixture } from '../../test/doubles/vault-fixture.ts';
import type { FlowInput } from '../flows/flow.ts';
import type { SecretsManagerOptions } from '../products/vault/simulator/secrets-manager.ts';

vi.setConfig({ testTimeout: 120_000 });

const id = 'secrets-manager-path';
const small = { columns: 80, rows: 24 };
let fixture: VaultFixture;
const share = (at: number) => fixture.shares[at] as string;
const status = () => fixture.ask('GET', 'sys/seal-status');

const played =
  (flow: string, word: string, input: Partial<FlowInput> = {}): FlowBody =>
  async (operator, _input, signal) =>
    (await fixture.run(flow, operator as OperatorDouble, input, word, signal)).message;

/** Opens another console for another operator, on the same server. */
async function consoleOf(
  word = 'sealed 0/3',
  flows: Record<string, FlowBody> = {},
): Promise<Harness & { give(text: string): Promise<void>; seen(): string }> {
  const screen = await openHarness({
    size: small,
    start: { selected: `nas/${id}/${id}` },
    flows: { unseal: played('unseal', word), ...flows },
  });
  if (word !== 'sealed 0/3')
    screen.app.show(({ components }) => ({
      components: components.map((one) => (one.id === id ? { ...one, state: stateOf(word) } : one)),
    }));
  let seen = '';
  return Object.assign(screen, {
    give: async (text: string) => {
      await screen.type(text);
      seen += screen.raw();
      await screen.press('enter');
    },
    seen: () => seen + screen.raw(),
  });
}

async function openFixture(options: SecretsManagerOptions = {}): Promise<void> {
  await fixture?.close();
  fixture = await VaultFixture.open(options);
}
beforeEach(async () => {
  fixture = await VaultFixture.open();
});
afterEach(() => fixture.close());

test('a share that is too short, one given already, and a wrong one: each is said, and three right ones open it (R59)', async () => {
  const screen = await consoleOf();
  await screen.press('u');
  await screen.sees('Key share 1 of 3');
  await screen.give('ab'.repeat(20));
  await screen.sees('too short: it must have 66 characters in hex');
  await screen.press('ctrl+u');
  await screen.give(share(0));
  await screen.sees('Key share 2 of 3', '1 of 3 accepted');
  await screen.give(share(0));
  await screen.sees('already entered');
  expect(misfits(screen.frame(), small)).toEqual([]);
  await screen.press('ctrl+u');
  await screen.give(foreignShare(fixture.shares));
  await screen.sees('Key share 3 of 3');
  await screen.give(share(1));
  await screen.sees('Key share 1 of 3', 'at least one is wrong');
  expect(misfits(screen.frame(), small)).toEqual([]);
  for (const at of [0, 1, 2]) {
    await screen.sees(`Key share ${at + 1} of 3`);
    await screen.give(share(at));
  }
  await screen.sees('vault is unsealed.');
  for (const one of fixture.shares) expect(screen.seen()).not.toContain(one);
});

test.each([
  [0, 'no shares are entered'],
  [1, 'with 1 of 3 shares entered'],
  [2, 'with 2 of 3 shares entered'],
])('Esc with %i given says what remains, and they stay with the server', async (given, sentence) => {
  const screen = await consoleOf();
  await screen.press('u');
  for (let at = 0; at < given; at++) {
    await screen.sees(`Key share ${at + 1} of 3`);
    await screen.give(share(at));
  }
  await screen.sees(`Key share ${given + 1} of 3`);
  await screen.press('esc');
  await screen.sees(sentence, 'still sealed');
  expect(await status()).toMatchObject({ sealed: true, progress: given });
});

test('somebody drops the attempt from another place: the count starts over, and it is opened all the same', async () => {
  const screen = await consoleOf();
  await screen.press('u');
  await screen.sees('Key share 1 of 3');
  await screen.give(share(0));
  await screen.sees('Key share 2 of 3');
  await fixture.ask('PUT', 'sys/unseal', { reset: true });
  await screen.give(share(1));
  await screen.sees('The entered shares were discarded', 'Key share 2 of 3');
  for (const [at, count] of [
    [0, 2],
    [2, 3],
  ] as const) {
    await screen.sees(`Key share ${count} of 3`);
    await screen.give(share(at));
  }
  await screen.sees('vault is unsealed.');
});

test('two operators at two consoles: each gives what they have, and both see it open', async () => {
  const [one, other] = [await consoleOf(), await consoleOf()];
  await one.press('u');
  await one.sees('Key share 1 of 3');
  await other.press('u');
  await other.sees('Key share 1 of 3');
  await one.give(share(0));
  await one.sees('Key share 2 of 3');
  await other.give(share(1));
  await other.sees('Key share 3 of 3', '2 of 3 accepted');
  await other.give(share(2));
  await other.sees('vault is unsealed.');
  await one.give(share(3));
  await one.sees('The server was unsealed in the meantime; your share was not sent.');
  expect(await status()).toMatchObject({ sealed: false });
});

test('u on one that opens itself: what that means, leaving, and opening it with recovery shares', async () => {
  await openFixture({ autoUnseal: true });
  await fixture.ask('PUT', 'sys/seal');
  const screen = await consoleOf();
  await screen.press('u');
  await screen.sees(
    'vault unseals automatically. Enter recovery shares anyway?',
    'Quit and restart the server',
    /unseals automatically \(static\)/,
  );
  expect(misfits(screen.frame(), small)).toEqual([]);
  await screen.press('enter');
  await screen.sees('still sealed; no share was entered');
  await screen.press('esc', 'u');
  await screen.sees('Enter recovery shares');
  await screen.press('up', 'enter');
  for (const at of [0, 1, 2]) {
    await screen.sees(`Recovery share ${at + 1} of 3`);
    await screen.give(share(at));
  }
  await screen.sees('vault is unsealed.');
});

test('u on a new one: a holder at a time, what is shown is gone with its question, and leaving is asked about', async () => {
  await openFixture({ uninitialised: true });
  const screen = await consoleOf('not initialised', { initialise: played('initialise', 'not initialised') });
  await screen.press('u');
  await screen.sees('Total number of key shares');
  await screen.press('ctrl+u');
  await screen.give('2');
  await screen.sees('Number of shares required to unseal');
  await screen.press('enter');
  await screen.sees('Create 2 key shares, 2 of which unseal the server');
  await screen.press('enter');
  const shown: string[] = [];
  for (const [label, form] of [
    ['Key share 1 of 2', /[0-9a-f]{66}/],
    ['Key share 2 of 2', /[0-9a-f]{66}/],
    ['Root token', /s\.\w{24}/],
  ] as const) {
    await screen.sees(`${label}: confirm that only`, /can see\W+the\W+screen/);
    await screen.press('enter');
    await screen.sees('Write the secret down now', form);
    expect(misfits(screen.frame(), small)).toEqual([]);
    const value = form.exec(screen.frame().replace(/\s*│?\n│?\s*/g, ''))?.[0] ?? '';
    shown.push(value);
    await screen.press('enter');
    await screen.sees('as you wrote it down');
    await screen.misses(value);
    if (label === 'Key share 2 of 2') {
      await screen.press('esc');
      await screen.sees('Quit and lose the undelivered secrets?', 'Key share 2 of 2, Root token');
      await screen.press('enter');
      await screen.sees('Key share 2 of 2: confirm that only the holder of share 2');
      await screen.press('enter');
      await screen.sees('Write the secret down now');
      await screen.press('enter');
      await screen.sees('as you wrote it down');
    }
    await screen.give(value);
  }
  await screen.sees('delivered every share to its holder');
  for (const one of shown) expect(screen.frame()).not.toContain(one);
  for (const key of shown.slice(0, 2)) await fixture.ask('PUT', 'sys/unseal', { key });
  expect(await status()).toMatchObject({ sealed: false, t: 2, n: 2 });
});

test('through the palette: log in and keep it, write a value typed twice, delete it, bring it back', async () => {
  await fixture.unseal();
  const path = { words: ['secret/apps/web'] };
  const screen = await consoleOf('healthy', {
    'vault-login': played('vault-login', 'healthy'),
    'vault-write': played('vault-write', 'healthy'),
    'vault-delete': played('vault-delete', 'healthy', path),
    'vault-undelete': played('vault-undelete', 'healthy', path),
  });
  const choose = async (words: string, title: string) => {
    await screen.press(':');
    await screen.type(words);
    await screen.sees(`▸ do    ${title}`);
    await screen.press('enter');
  };
  await choose('log in to the secrets', 'Log in to the secrets manager');
  await screen.sees('Login method');
  await screen.press('enter');
  await screen.sees('Token for vault');
  await screen.give(fixture.token);
  await screen.sees('Store this root token');
  await screen.press('down', 'enter');
  await screen.sees('the token is stored');
  await screen.press('esc');

  await choose('write a path', 'Write a path in the secrets manager');
  await screen.sees('Path');
  await screen.press('ctrl+u');
  await screen.give('secret/apps/web');
  await screen.sees('Keys');
  await screen.give('password');
  await screen.sees('Token for vault');
  await screen.press('enter');
  await screen.sees('Value of password');
  await screen.give('a-password-for-the-web');
  await screen.sees('Repeat password');
  await screen.give('another-one-by-a-slip');
  await screen.sees('The values do not match.');
  await screen.press('ctrl+u');
  await screen.give('a-password-for-the-web');
  await screen.sees('Wrote secret/apps/web, version 1.');
  await screen.press('esc');

  await choose('delete a path', 'Delete a path in the secrets manager');
  await screen.sees('Token for vault');
  await screen.press('enter');
  await screen.sees('Deleted version 1 of secret/apps/web.');
  await screen.press('esc');
  await choose('restore a deleted path', 'Restore a deleted path');
  await screen.sees('Token for vault');
  await screen.press('enter');
  await screen.sees('Restored version 1 of secret/apps/web.');
  for (const one of [fixture.token, 'a-password-for-the-web']) expect(screen.seen()).not.toContain(one);
});
