import { afterAll, beforeAll, expect, test } from 'vitest';
import { inspectConfig } from '../../source/config-files/wireguard/inspect-config.ts';
import type { Grant } from '../../source/grants/grant.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { TunnelUi } from '../../source/products/tunnels/client/tunnel-ui.ts';

/** A tunnel server's web page under test, which has no device yet and lets `admin` in. */
export interface TunnelUiServer {
  port: number;
  password: string;
  close(): Promise<void>;
}

/** What our client relies on, line by line of reference/http-apis.md: run against the double in each dialect, and against a real wg-easy. One story, in order. */
export function tunnelUiContract(open: () => Promise<TunnelUiServer>): void {
  const host = openLocalHost();
  const signal = AbortSignal.timeout(60_000);
  const grant = { signal } as Grant;
  let server: TunnelUiServer;
  let ui: TunnelUi;
  const greeted = () =>
    TunnelUi.greet(
      { host, address: { host: '127.0.0.1', port: server.port, near: true }, tls: false, shown: 'the server under test' },
      signal,
    );
  beforeAll(async () => {
    server = await open();
    ui = await greeted();
  });
  afterAll(async () => {
    await server?.close();
    await host.close();
  });

  test('it wants a login, and says so before anybody sent one', () => {
    expect(ui.isOpen).toBe(false);
  });

  test('nothing is told without one', async () => {
    await expect(ui.clients(signal)).rejects.toMatchObject({ code: 'failed.tunnelUi' });
  });

  test('a wrong password is refused', async () => {
    await expect((await greeted()).logIn(grant, { user: 'admin', password: 'wrong-4711' })).rejects.toMatchObject({
      code: 'refused.login',
    });
  });

  test('the right one opens, and there is no device yet', async () => {
    await ui.logIn(grant, { user: 'admin', password: server.password });
    expect(await ui.clients(signal)).toEqual([]);
  });

  test('a device is made, with an address and keys of its own', async () => {
    await ui.add(grant, 'bob-phone');
    const [bob] = await ui.clients(signal);
    expect(bob).toMatchObject({ name: 'bob-phone', enabled: true, lastHandshakeMs: undefined, receivedBytes: expect.any(Number) });
    expect(bob?.address).toMatch(/^10\.8\.0\.\d+$/);
    expect(Buffer.from(bob?.publicKey ?? '', 'base64')).toHaveLength(32);
  });

  test('its configuration has the private key, and nothing is wrong with it', async () => {
    const [bob] = await ui.clients(signal);
    const text = await ui.configuration(grant, bob?.id ?? '');
    const { problems } = inspectConfig(text);
    expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
    expect(text).toMatch(/^PrivateKey = \S{44}$/m);
  });

  test('it is kept out, and let in again', async () => {
    const [bob] = await ui.clients(signal);
    for (const enabled of [false, true]) {
      await ui.setEnabled(grant, bob?.id ?? '', enabled);
      expect((await ui.clients(signal))[0]?.enabled).toBe(enabled);
    }
  });

  test('one that is not there is a failure, and its own words or its status are told', async () => {
    await expect(ui.setEnabled(grant, '00000000-0000-4000-8000-000000000000', false)).rejects.toMatchObject({
      code: 'failed.tunnelUi',
      message: expect.stringMatching(/status (?:404|500)/),
    });
  });

  test('it is removed', async () => {
    const [bob] = await ui.clients(signal);
    await ui.remove(grant, bob?.id ?? '');
    expect(await ui.clients(signal)).toEqual([]);
  });

  test('after the end of the session nothing is told any more', async () => {
    await ui.logOut(grant);
    await expect(ui.clients(signal)).rejects.toMatchObject({ code: 'failed.tunnelUi' });
  });
}
