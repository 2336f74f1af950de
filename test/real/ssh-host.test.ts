import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { fileContract } from '../contract/host-files.contract.ts';
import { type HostUnderTest, programContract } from '../contract/host-programs.contract.ts';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

describeSshd('a machine over ssh as a host', () => {
  let sshd: Sshd;
  let remote: RemoteHost;
  let subject: HostUnderTest;
  beforeAll(async () => {
    sshd = await startSshd();
    remote = await openRemote(sshd);
    subject = { host: remote.host, folder: join(sshd.folder, 'stage') };
    await mkdir(subject.folder);
  });
  afterAll(async () => {
    await remote.leave();
    await sshd.leave();
  });
  programContract(() => subject);
  fileContract(() => subject);
});
