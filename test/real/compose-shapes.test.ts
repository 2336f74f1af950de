import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { atTop, inService, shapeFile } from '../catalog/compose-shape-cases.ts';
import { type ComposeConfig, composeConfigs, currentComposeConfigs, isPythonCompose } from '../doubles/compose-config.ts';

const cases = [...inService.map((one) => ({ ...one, top: false })), ...atTop.map((one) => ({ ...one, top: true }))];
const root = mkdtempSync(join(tmpdir(), 'qd-shapes-'));
afterAll(() => rmSync(root, { recursive: true }));
const projects = cases.map((one, index) => {
  const folder = join(root, `notes-${index}`);
  mkdirSync(join(folder, 'files'), { recursive: true });
  writeFileSync(join(folder, 'files', 'a.env'), 'A=1\n');
  writeFileSync(join(folder, 'compose.yaml'), shapeFile(one, one.top));
  return { folder, env: { OWNER: 'me' } };
});

/** Each case, with whether it was refused. */
const refused = (configs: readonly ComposeConfig[]) =>
  cases.map(({ written }, index) => `${written}: ${configs[index]?.code === 0 ? 'taken' : 'refused'}`);
const expected = (by: readonly string[]) =>
  cases.map(({ written, refusal }) => `${written}: ${by.includes(refusal) ? 'refused' : 'taken'}`);

describe('what catalog check says that compose programs refuse', () => {
  test.skipIf(!isPythonCompose)('is what docker-compose 1.29 refuses', { timeout: 120_000 }, () => {
    expect(refused(composeConfigs(projects))).toEqual(expected(['the older', 'all']));
  });

  const current = join(inject('composeFolder'), 'docker-compose');
  test.skipIf(inject('composeFolder') === '' || !existsSync(current))(
    'is what a current docker compose refuses',
    { timeout: 120_000 },
    async () => {
      expect(refused(await currentComposeConfigs(current, projects))).toEqual(expected(['all']));
    },
  );
});
