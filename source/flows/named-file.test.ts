import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../test/contract/flows/registry.ts';
import { FlowFixture } from '../../test/doubles/flow-fixture.ts';
import type { Flow, FlowInput } from './flow.ts';

const backupList = flowOf('backup-list');

let fixture: FlowFixture;
let folder: string;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  folder = await mkdtemp(join(tmpdir(), 'named-file-'));
  await writeFile(join(folder, 'canary'), '[Interface]\nPrivateKey = canary\n', { mode: 0o644 });
});
afterEach(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

const flows: Record<string, [Flow | string, (path: string) => Partial<FlowInput>]> = {
  'wireguard check': ['wireguard-check', (path) => ({ words: [path] })],
  'ingress check': ['ingress-check', (path) => ({ words: [path] })],
  'overlay inspect': ['overlay-inspect', (path) => ({ words: [path] })],
  'backup list --to': [backupList, (path) => ({ options: { to: path } })],
  'backup list --password-file': [backupList, (path) => ({ options: { to: 'restic:/srv/r', 'password-file': path } })],
};

describe('a read-only session learns nothing of a path that is typed (R32)', () => {
  test.each(Object.entries(flows))('%s', async (_, [flow, inputOf]) => {
    fixture.policy = { ...fixture.policy, readOnly: true };
    const answers = await Promise.all(
      ['canary', 'nothing'].map((name) => fixture.run(flow, undefined, inputOf(join(folder, name))).catch((thrown: unknown) => thrown)),
    );
    for (const answer of answers)
      expect(answer).toMatchObject({ code: 'refused.readOnly', message: expect.stringContaining('was not read') });
    expect(fixture.operator.texts().join('\n')).not.toMatch(/canary|PrivateKey/);
  });
});

test('what is piped in is checked in a read-only session too', async () => {
  fixture.policy = { ...fixture.policy, readOnly: true };
  const { data } = await fixture.run('wireguard-check', undefined, { stdin: Buffer.from('[Interface]\nPrivateKey = x\n') });
  expect(data).toBeDefined();
});
