import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import { openRelay, type Relay } from './relay.ts';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const soon = (limitMs = 30_000) => AbortSignal.timeout(limitMs);

describeSshd('a connection that breaks', () => {
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterAll(async () => await sshd.leave());

  async function connect(): Promise<{ remote: RemoteHost; relay: Relay; says: () => Promise<string> }> {
    const relay = await openRelay(sshd);
    const remote = await openRemote(sshd, { port: relay.port });
    onTestFinished(async () => {
      await remote.leave();
      await relay.close();
    });
    await remote.host.link.ready(soon());
    const says = async () => {
      const { stdout } = await remote.host.exec(['echo', 'here'], { signal: soon(), limitMs: 10_000 });
      return Buffer.from(stdout).toString();
    };
    expect(await says()).toBe('here\n');
    return { remote, relay, says };
  }

  it('because nothing comes through any more is told within 5 s, and is back by itself', async () => {
    const { remote, relay, says } = await connect();
    relay.hold();
    const heldMs = performance.now();
    await remote.link('away', 10_000);
    // One second for a machine that has much else to do.
    expect(performance.now() - heldMs).toBeLessThan(6_000);
    expect(remote.host.link.view.fault).toMatchObject({ code: 'unreachable.silent', message: 'far no longer responds.' });
    expect(remote.host.link.view.retryAtMs).toBeGreaterThan(Date.now() - 1_000);
    await expect(says()).rejects.toMatchObject({ kind: 'unreachable' });
    relay.release();
    await remote.link('connected', 40_000);
    expect(await says()).toBe('here\n');
  });

  it('because sshd and all of its sessions are gone is told at once, and is back when sshd is', async () => {
    const { remote, says } = await connect();
    await sshd.kill();
    await remote.link('away');
    expect(remote.host.link.view.fault?.kind).toBe('unreachable');
    await sshd.start();
    await remote.link('connected', 20_000);
    expect(await says()).toBe('here\n');
  });

  it('because its session was ended is made anew', async () => {
    const { remote, says } = await connect();
    await sshd.killSessions();
    await remote.link('away');
    await remote.link('connected', 20_000);
    expect(await says()).toBe('here\n');
    expect(remote.states).toEqual(['connecting', 'connected', 'away', 'connecting', 'connected']);
  });

  it('tells everybody who waits for an answer, and runs nothing a second time', async () => {
    const { remote } = await connect();
    const marks = join(sshd.folder, `marks-${randomBytes(3).toString('hex')}`);
    await writeFile(marks, '');
    const running = Array.from({ length: 8 }, (_, index) =>
      remote.host.exec(['sh', '-c', `echo ${index} >>'${marks}'; exec sleep 600`], { signal: soon(), limitMs: 25_000 }).then(
        () => 'ended',
        (thrown: { code?: string }) => thrown.code,
      ),
    );
    const piped = await remote.host.pipe(mintGrant('test', 'operate', soon()), ['sh', '-c', 'echo go; exec cat']);
    await once(piped.stdout, 'data');
    await expect.poll(async () => (await readFile(marks, 'utf8')).split('\n').length, { timeout: 15_000 }).toBeGreaterThanOrEqual(6);
    await sshd.killSessions();
    await expect(piped.ended).rejects.toMatchObject({ code: 'unreachable.link' });
    expect(new Set(await Promise.all(running))).toEqual(new Set(['unreachable.link']));
    await remote.link('connected', 20_000);
    const seen = (await readFile(marks, 'utf8')).trim().split('\n');
    expect(new Set(seen).size).toBe(seen.length);
  });

  it.each([20_000, 8_000_000])('in the middle of a write of %i bytes leaves the old file, and nothing beside it', async (sizeBytes) => {
    const { remote, relay } = await connect();
    const folder = join(sshd.folder, `write-${sizeBytes}`);
    await mkdir(folder);
    await writeFile(join(folder, 'file'), 'old');
    // Slow enough that the end of it is still on its way.
    relay.delay(400);
    relay.pace(3_000_000);
    const writing = remote.host.files.write(mintGrant('test', 'operate', soon()), join(folder, 'file'), randomBytes(sizeBytes), {
      mode: 0o600,
    });
    const reported = writing.then(
      () => 'written',
      (thrown: { code?: string }) => thrown.code,
    );
    if (sizeBytes > 1_000_000) await expect.poll(async () => (await readdir(folder)).length, { timeout: 15_000, interval: 5 }).toBe(2);
    relay.cut();
    expect(await reported).toMatch(/^unreachable|^failed/);
    await expect.poll(async () => (await readdir(folder)).join(), { timeout: 10_000 }).toBe('file');
    expect(await readFile(join(folder, 'file'), 'utf8')).toBe('old');
  });
});
