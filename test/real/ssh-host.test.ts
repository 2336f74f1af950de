import { afterAll, beforeAll, expect, it } from 'vitest';
import { openFar } from './far-host.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

describeSshd('a host over ssh', () => {
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterAll(async () => await sshd.leave());

  it('runs a program', async () => {
    const far = await openFar(sshd);
    const { stdout } = await far.host.exec(['id', '-un'], { signal: AbortSignal.timeout(10_000), limitMs: 5_000 });
    expect(Buffer.from(stdout).toString()).toBe('root\n');
    await far.leave();
  });
});
