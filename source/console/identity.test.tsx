import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { askProduct } from '../../test/doubles/ask-product.ts';
import { misfits } from '../../test/doubles/console/harness.tsx';
import { findFlow, openOnPractice } from '../../test/doubles/console/practice-harness.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import { tracesBelow } from '../../test/doubles/secret-traces.ts';

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
];
type Size = (typeof sizes)[number];
const narrow = { columns: 80, rows: 24 };
const vault = 'password-vault';

let fixture: PracticeFixture;
// The tests draw many screens each, possibly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
beforeAll(async () => {
  fixture = await PracticeFixture.open();
  // The first use writes the component's files, and with them its setup tasks.
  await fixture.run('sso-users', 'sso-portal');
  fixture.app.fleet.refresh(fixture.component('rss-reader')?.key);
  await vi.waitUntil(() => fixture.component('rss-reader')?.setupTasks.some(({ by }) => by === 'hand'), { timeout: 30_000 });
}, 60_000);
afterAll(() => fixture.close());

const open = (size: Size, component: string) => openOnPractice(fixture, { size, component, patienceMs: 30_000 });

const logIn = async (token: string) =>
  (await askProduct(fixture, vault, { method: 'POST', path: '/admin', body: new URLSearchParams({ token }).toString() })).status;

test.each(sizes)('the page of the first account, and what it takes, at $columns x $rows (R20, R38)', async (size) => {
  const screen = await open(size, vault);
  await findFlow(screen, 'first account', 'Create the first account');
  await screen.sees('http://127.0.0.1:8180/#/signup', 'Create the first account');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
});

test.each(sizes)('a page whose end nobody can see is asked about at $columns x $rows: later leaves it on the list (R38)', async (size) => {
  const screen = await open(size, 'rss-reader');
  await findFlow(screen, 'first account', 'Create the first account');
  await screen.sees('password', 'Open http://127.0.0.1:8090/', 'Later');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('Still to do at http://127.0.0.1:8090/');
  await screen.press('esc');
  await findFlow(screen, 'first account', 'Create the first account');
  await screen.sees('Done');
  await screen.press('down', 'enter');
  await screen.sees('Still to do at http://127.0.0.1:8090/');
});

test.each(sizes)('signups: asked about the account first, and looked at as a change, at $columns x $rows (R20)', async (size) => {
  const screen = await open(size, vault);
  await findFlow(screen, 'disable sign', 'Disable sign-ups');
  await screen.sees('Confirm that your account exists', 'quarterdeck close-signups password-vault --practice');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('sign-ups for password-vault are still enabled');
  await screen.press('esc');
  await findFlow(screen, 'disable sign', 'Disable sign-ups');
  await screen.sees('Confirm that your account exists');
  await screen.press('enter');
  await screen.sees('Writes 1 file, recreates password-vault.');
  await screen.press('end');
  await screen.sees(/SIGNUPS_ALLOWED="?false/);
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('sign-ups for password-vault are still enabled');
});

test('a new admin token is seen once, put in force, and nowhere else; Esc before that leaves the old one', async () => {
  const screen = await open(narrow, vault);
  const start = async (old = '') => {
    await findFlow(screen, 'admin token', 'Replace the admin token');
    await screen.sees('Current admin token, to verify that it stops working');
    await screen.type(old);
    await screen.press('enter');
    await screen.sees('Save the new token in your password manager', 'New admin token of password-vault');
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    return /[A-Za-z0-9+/]{64}/.exec(screen.frame())?.[0] ?? '';
  };
  const first = await start();
  await screen.press('esc');
  await screen.sees('password-vault keeps its current admin token');
  await screen.misses(first);
  await screen.press('esc');
  const token = await start();
  expect(token).not.toBe(first);
  await screen.press('enter');
  // The vault takes time for each of the three hashes.
  await vi.waitUntil(() => screen.frame().includes('Replaced the admin token of password-vault'), { timeout: 60_000 });
  await screen.sees('only its hash is stored');
  expect(screen.frame()).not.toContain(token);
  expect([await logIn(token), await logIn(first)]).toEqual([303, 401]);
  expect(await tracesBelow([fixture.home, fixture.access.folder], [token, first])).toEqual([]);
});

test.each(sizes)(
  'a token is pasted, never seen, and told item by item at $columns x $rows; none and expired are refused (R43)',
  async (size) => {
    const screen = await open(size, vault);
    const inspect = async (token: string) => {
      await findFlow(screen, 'inspect token', 'Inspect a token');
      await screen.sees('Token', 'Three parts separated by dots. The token is checked locally');
      await screen.paste(token);
      await screen.misses(token.slice(0, 20));
      await screen.press('enter');
    };
    const signed = (exp: number) =>
      new SignJWT({ sub: 'mara', iss: 'idp.example.org', exp })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(new TextEncoder().encode('a secret for this test alone'));
    const soonS = Math.floor(Date.now() / 1000) + 3600;
    await inspect(await signed(soonS));
    await screen.sees('mara', 'No problems were found, but the signature was not verified.');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('esc');
    await inspect(await signed(1_000_000_000));
    await screen.sees('Do not trust this token', 'expired');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('esc');
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    await inspect(`${part({ alg: 'none' })}.${part({ sub: 'mara', exp: soonS })}.`);
    await screen.sees('Do not trust this token', 'none');
    await screen.press('esc');
    await findFlow(screen, 'inspect token', 'Inspect a token');
    await screen.sees('Token');
    await screen.press('esc');
    await screen.sees('No token was checked.');
  },
);

test('Esc while somebody is added to the directory says that nobody was', async () => {
  const screen = await open(narrow, 'ldap-directory');
  await findFlow(screen, 'add user directory', 'Add a user to the directory');
  await screen.sees('Login name', 'quarterdeck ldap add ldap-directory');
  expect(misfits(screen.frame(), narrow)).toEqual([]);
  await screen.press('esc');
  await screen.sees('No user was added to ldap-directory.');
});

test('a provider that is stopped is said to be stopped; once it runs, its discovery is read as a client would (R37, R44)', async () => {
  const provider = 'idp-enterprise';
  const stopped = await open(narrow, vault);
  await stopped.press(':');
  await stopped.sees('Find');
  await stopped.type('oidc check');
  await stopped.sees('Check OIDC discovery: idp-enterprise', 'not available: s');
  await stopped.press('esc');
  await fixture.run('start', provider);
  // Keycloak takes eleven seconds to start, as the real one does.
  await vi.waitUntil(
    () =>
      fixture.run('oidc-check', provider).then(
        () => true,
        () => false,
      ),
    { timeout: 90_000, interval: 1_000 },
  );
  for (const size of sizes) {
    const screen = await open(size, provider);
    await findFlow(screen, 'oidc check', 'Check OIDC discovery');
    await screen.sees('Flows');
    await screen.press('pageup', 'pageup');
    await screen.sees('Issuer', 'https://id.home.example.org', 'quarterdeck oidc check idp-enterprise --practice');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('pagedown', 'pagedown');
    // The implicit flow is enabled in Keycloak by default.
    await screen.sees('Keys', 'RSA practice-signing', 'The OIDC discovery document of idp-enterprise is valid');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('esc');
  }
});

test('Esc at the password of the directory says that nobody is listed', async () => {
  const screen = await open(narrow, 'ldap-directory');
  await findFlow(screen, 'list users directory', 'List the users of the directory');
  await screen.sees('Password of uid=admin,ou=people,', 'Leave empty to use the stored password', 'quarterdeck ldap users ldap-directory');
  expect(misfits(screen.frame(), narrow)).toEqual([]);
  await screen.type('not shown');
  expect(screen.frame()).not.toContain('not shown');
  await screen.press('esc');
  await screen.sees('Not logged in; no users were listed.');
});
