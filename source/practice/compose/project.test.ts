import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readProject } from './project.ts';

test('services that wait for each other are refused as compose refuses them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'project-'));
  const text = 'services:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: {a: {condition: service_healthy}}}\n';
  await writeFile(join(folder, 'compose.yaml'), text);
  // The words of docker compose 2.40.
  await expect(readProject({ folder, file: 'compose.yaml', name: undefined, environment: {} })).rejects.toThrow(
    'dependency cycle detected: a -> b -> a',
  );
  await rm(folder, { recursive: true });
});
