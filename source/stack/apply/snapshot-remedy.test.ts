import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { snapshotRemedy } from './recover.ts';
import { readRun } from './run-journal.ts';

const stamp = '20261121T031500Z';

test('the command that restores the backup of a run names where it is, also after the run was read from the host', async () => {
  const stackFolder = await mkdtemp(join(tmpdir(), 'qd-remedy-'));
  const transaction = {
    ...transactionOf('run1', [planOf('notes', stackFolder, [])]),
    backups: { notes: { stamp, where: '/srv/my backups on nas', to: '/srv/my backups' } },
  };
  await mkdir(join(stackFolder, '.quarterdeck/runs/run1'), { recursive: true });
  await writeFile(join(stackFolder, '.quarterdeck/runs/run1/transaction.json'), JSON.stringify(transaction));
  const run = await readRun(openLocalHost(), stackFolder, 'run1', AbortSignal.timeout(10_000)).finally(() =>
    rm(stackFolder, { recursive: true, force: true }),
  );
  expect(snapshotRemedy(run?.transaction ?? {})).toMatch(
    new RegExp(`: quarterdeck restore notes --snapshot ${stamp} --to '/srv/my backups'\\.$`),
  );
});

test('without a location that can be shown, the remedy says when --to is required', () => {
  expect(snapshotRemedy({ backups: { notes: { stamp, where: 'the restic repository on nas' } } })).toMatch(
    /--snapshot \d{8}T\d{6}Z\. Add --to unless the restic repository on nas is the configured backup destination\.$/,
  );
});
