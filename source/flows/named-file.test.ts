import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { backupList } from './backup-list.ts';
import type { Flow, FlowInput } from './flow.ts';
import { ingressCheck } from './ingress-check.ts';
import { overlayInspect } from './overlay-look.ts';
import { wireguardCheck } from './wireguard-check.ts';

let stage: FlowStage;
let folder: string;
beforeEach(async () => {
  stage = await FlowStage.open();
  folder = await mkdtemp(join(tmpdir(), 'named-file-'));
  await writeFile(join(folder, 'canary'), '[Interface]\nPrivateKey = canary\n', { mode: 0o644 });
});
afterEach(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

const flows: Record<string, [Flow, (path: string) => Partial<FlowInput>]> = {
  'wireguard check': [wireguardCheck, (path) => ({ words: [path] })],
  'ingress check': [ingressCheck, (path) => ({ words: [path] })],
  'overlay inspect': [overlayInspect, (path) => ({ words: [path] })],
  'backup list --to': [backupList, (path) => ({ options: { to: path } })],
  'backup list --password-file': [backupList, (path) => ({ options: { to: 'restic:/srv/r', 'password-file': path } })],
};

describe('a read-only session learns nothing of a path that is typed (R32)', () => {
  test.each(Object.entries(flows))('%s', async (_, [flow, inputOf]) => {
    stage.policy = { ...stage.policy, readOnly: true };
    const answers = await Promise.all(
      ['canary', 'nothing'].map((name) => stage.run(flow, undefined, inputOf(join(folder, name))).catch((thrown: unknown) => thrown)),
    );
    for (const answer of answers)
      expect(answer).toMatchObject({ code: 'refused.readOnly', message: expect.stringContaining('is not read') });
    expect(stage.operator.texts().join('\n')).not.toMatch(/canary|PrivateKey/);
  });
});

test('what is piped in is checked in a read-only session too', async () => {
  stage.policy = { ...stage.policy, readOnly: true };
  const { data } = await stage.run(wireguardCheck, undefined, { stdin: Buffer.from('[Interface]\nPrivateKey = x\n') });
  expect(data).toBeDefined();
});
