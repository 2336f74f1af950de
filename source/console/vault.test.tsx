import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FlowBody } from '../../test/doubles/console/fake-app.ts';
import { type Harness, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { stateOf } from '../../test/doubles/fleet-double.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { VaultFixture } from '../../test/doubles/vault-fixture.ts';

let fixture: VaultFixture;
let screen: Harness;
/** All output so far. */
let seen = '';

/** Runs the real procedure on a real server of the practice stack, with the console in front. */
const played =
  (flow: string, word: string): FlowBody =>
  async (operator, _input, signal) =>
    (await fixture.run(flow, operator as OperatorDouble, {}, word, signal)).message;

beforeEach(async () => {
  fixture = await VaultFixture.open();
  seen = '';
});
afterEach(() => fixture.close());

async function open(size: { columns: number; rows: number }, selected = 'nas/secrets-manager-path/secrets-manager-path') {
  screen = await openHarness({
    size,
    start: { selected },
    flows: { unseal: played('unseal', 'sealed 0/3'), 'vault-rotate': played('vault-rotate', 'healthy') },
  });
}
const share = (at: number) => fixture.shares[at] as string;
async function give(text: string): Promise<void> {
  await screen.type(text);
  seen += screen.raw();
  await screen.press('enter');
}

test.each([
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
])('u, three masked entries, unsealed, at $columns x $rows (R59)', async (size) => {
  await open(size);
  await screen.press('u');
  await screen.sees('Key share 1 of 3', '0 of 3 accepted', 'PUT /v1/sys/unseal', 'quarterdeck unseal secrets-manager-path');
  for (const at of [3, 0, 4]) {
    await screen.sees(`Key share ${[3, 0, 4].indexOf(at) + 1} of 3`);
    expect(misfits(screen.frame(), size)).toEqual([]);
    await give(share(at));
  }
  await screen.sees('vault is unsealed.');
  expect(await fixture.ask('GET', 'sys/seal-status')).toMatchObject({ sealed: false });
  seen += screen.raw();
  for (const one of fixture.shares) expect(seen).not.toContain(one);
});

test('a wrong share, and leaving with Esc: what is left is said, and u resumes it', async () => {
  await open({ columns: 120, rows: 36 });
  await screen.press('u');
  await screen.sees('Key share 1 of 3');
  await give('not a share');
  await screen.sees('neither hex nor base64');
  await screen.press('ctrl+u');
  await give(share(1));
  await screen.sees('Key share 2 of 3');
  await screen.press('esc');
  await screen.sees('still sealed, with 1 of 3 shares entered');
  await screen.press('esc');
  await screen.press('u');
  await screen.sees('1 of 3 shares were already entered', 'Discard the shares and start over');
  await screen.press('enter');
  await screen.sees('Key share 2 of 3');
  await give(share(2));
  await screen.sees('Key share 3 of 3');
  await give(share(3));
  await screen.sees('vault is unsealed.');
});

test('with another component selected u does nothing and names the sealed one; the palette unseals it', async () => {
  await open({ columns: 120, rows: 36 }, 'nas/password-vault/password-vault');
  await screen.sees('▸▲ password-vault');
  await screen.press('u');
  await screen.sees('This key applies to secrets-manager-path. Select that component first.', '▸▲ password-vault');
  await screen.press('j', 'j', 'u');
  await screen.sees('Key share 1 of 3', 'quarterdeck unseal secrets-manager-path');
  await screen.press('esc', 'g');
  await screen.sees('▸▲ password-vault');
  await screen.press(':');
  await screen.type('unseal');
  await screen.sees('Unseal the secrets manager: secrets-manager-path');
  await screen.press('enter');
  await screen.sees('Key share 1 of 3');
});

test('new shares through the palette: one holder at a time, and leaving loses nothing', async () => {
  await fixture.unseal();
  await open({ columns: 80, rows: 24 });
  screen.app.show(({ components }) => ({
    components: components.map((one) => (one.id === 'secrets-manager-path' ? { ...one, state: stateOf('healthy') } : one)),
  }));
  await screen.press(':');
  await screen.type('rotate key shares');
  await screen.sees('▸ do    Rotate the key shares: secrets-manager-path');
  await screen.press('enter');
  await screen.sees('Token for vault', 'quarterdeck vault rotate secrets-manager-path');
  await give(fixture.token);
  await screen.sees('Total number of key shares');
  await screen.press('enter');
  await screen.sees('Number of shares required to unseal');
  await screen.press('enter');
  for (const at of [0, 1, 2]) {
    await screen.sees(`Key share ${at + 1} of 3`);
    await give(share(at));
  }
  await screen.sees(/New key share 1 of 5: confirm that only the holder of share 1 can see\W+the screen/);
  seen += screen.raw();
  await screen.press('enter');
  await screen.sees('Write the secret down now', /[0-9a-f]{66}/);
  expect(misfits(screen.frame(), { columns: 80, rows: 24 })).toEqual([]);
  await screen.press('esc');
  await screen.sees('Quit and lose the undelivered secrets?', 'stay valid');
  await screen.misses(/[0-9a-f]{66}/);
  await screen.press('down', 'enter');
  await screen.sees(/The previous shares of \S+ stay valid/);
  expect(await fixture.ask('GET', 'sys/rotate/root/init')).toMatchObject({ data: { started: false } });
  for (const one of [...fixture.shares, fixture.token]) expect(seen).not.toContain(one);
});
