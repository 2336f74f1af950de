import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { fileContract } from './host-files.contract.ts';
import { type HostUnderTest, programContract } from './host-programs.contract.ts';

describe.runIf(process.platform === 'linux')('this machine as a host', () => {
  let subject: HostUnderTest;
  beforeAll(async () => {
    subject = { host: openLocalHost(), folder: await mkdtemp(join(tmpdir(), 'qd-host-')) };
  });
  afterAll(() => rm(subject.folder, { recursive: true, force: true }));
  programContract(() => subject);
  fileContract(() => subject);
});
