import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OperatorDouble } from '../doubles/operator-double.ts';
import { PracticeFixture } from '../doubles/practice-fixture.ts';

/** The data of flows, against their shapes in docs/json.md: a key that is documented and missing may be one that nothing on the practice stack has. */
const text = readFileSync(resolve(import.meta.dirname, '../../docs/json.md'), 'utf8');

function documented(holding: string): object {
  const blocks = [...text.matchAll(/```json[^\n]*\n([\s\S]*?)```/g)]
    .map(([, block = '']) => block)
    .filter((block) => block.includes(holding));
  expect(blocks).toHaveLength(1);
  return JSON.parse(blocks[0] ?? '') as object;
}

/** Every path of keys in a value; lists count as one of their kind. */
function keyPaths(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((item) => keyPaths(item, `${path}[]`)))];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [`${path}.${key}`, ...keyPaths(member, `${path}.${key}`)]);
}

let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture.close());

const dataOf = async (...run: Parameters<PracticeFixture['run']>) => JSON.parse(JSON.stringify((await fixture.run(...run)).data)) as object;

test('of the mesh', async () => {
  await fixture.run('mesh-access', 'mesh-control-server');
  const reported = [];
  for (const flow of ['mesh-nodes', 'mesh-users', 'mesh-keys', 'mesh-policy']) reported.push(await dataOf(flow, 'mesh-control-server'));
  const shape = keyPaths(documented('"validKeys"'));
  expect(shape.filter((path) => !path.startsWith('.findings')).sort()).toEqual(
    reported
      .flatMap((data) => keyPaths(data))
      .filter((path) => !path.startsWith('.findings'))
      .sort(),
  );
});

test('of CrowdSec', async () => {
  const id = 'intrusion-prevention';
  for (const [flow, words] of [
    ['allowlists-create', ['own']],
    ['allowlists-add', ['own', '192.0.2.0/24']],
  ] as const) {
    const operator = new OperatorDouble();
    operator.answers = { description: ['ours'], comment: ['office'] };
    await fixture.run(flow, id, { words }, { operator });
  }
  const reported = [];
  for (const flow of ['decisions', 'alerts', 'allowlists-list', 'bouncers-list', 'machines-list', 'collections-list'])
    reported.push(await dataOf(flow, id));
  const shape = keyPaths(documented('"simulated"'));
  // The decisions of an alert look like those of the list.
  const paths = reported.flatMap((data) => keyPaths(data)).filter((path) => !path.startsWith('.alerts[].decisions[]'));
  expect(paths.sort()).toEqual(shape.sort());
});

test('of an upgrade', async () => {
  const { data } = documented('"flow": "upgrade"') as { data: object };
  const shape = keyPaths(data);
  const paths = keyPaths(await dataOf('upgrade', '', { words: ['practice'], options: { to: '1.32.4', check: true } }));
  expect(paths.length).toBeGreaterThan(15);
  expect(paths.filter((path) => !shape.includes(path))).toEqual([]);
});

test('of vulnerabilities', async () => {
  const file = join(fixture.home, 'scan.json');
  const found = {
    VulnerabilityID: 'CVE-2026-1111',
    PkgName: 'openssl',
    InstalledVersion: '3.0.15-1',
    FixedVersion: '3.0.17-1',
    Severity: 'HIGH',
  };
  const scan = { ...found, Title: 'openssl: a hole', CVSS: { nvd: { V3Score: 9.8 } } };
  await writeFile(
    file,
    JSON.stringify({ SchemaVersion: 2, ArtifactName: 'nginx', Results: [{ Target: 'nginx', Type: 'debian', Vulnerabilities: [scan] }] }),
  );
  await fixture.run('vulnerabilities-import', '', { words: [file] });
  const { data } = documented('"flow": "vulnerabilities-list"') as { data: object };
  const shape = keyPaths(data);
  const paths = keyPaths(await dataOf('vulnerabilities-list', ''));
  expect(paths.length).toBeGreaterThan(25);
  // Told in the text below the shape.
  expect(paths.filter((path) => !shape.includes(path) && !path.startsWith('.scanners'))).toEqual([]);
});

test('of operations and of everything that is wrong', async () => {
  const shape = (holding: string) => keyPaths(documented(holding)).sort();
  expect(keyPaths(await dataOf('ops', 'model-runtime')).sort()).toEqual(shape('"show-model"'));
  expect(keyPaths(await dataOf('doctor', '')).filter((path) => !shape('"check": "migrations-pending"').includes(path))).toEqual([]);
});
