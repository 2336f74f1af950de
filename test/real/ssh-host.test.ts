import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { fileContract } from '../contract/host-files.contract.ts';
import { type HostUnderTest, programContract } from '../contract/host-programs.contract.ts';
import { type FarHost, openFar } from './far-host.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

describeSshd('a machine over ssh as a host', () => {
  let sshd: Sshd;
  let far: FarHost;
  let subject: HostUnderTest;
  beforeAll(async () => {
    sshd = await startSshd();
    far = await openFar(sshd);
    subject = { host: far.host, folder: join(sshd.folder, 'stage') };
    await mkdir(subject.folder);
  });
  afterAll(async () => {
    await far.leave();
    await sshd.leave();
  });
  programContract(() => subject);
  fileContract(() => subject);
});
