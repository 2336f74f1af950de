import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openCatalog } from '../../catalog/open-catalog.ts';
import { installationFolder, readInstalled } from '../../config/installation.ts';
import type { ContainerSpec } from '../engine/container.ts';
import { Machine } from '../engine/machine.ts';
import { buildSimulation } from './build-simulation.ts';
import type { PracticeComponent } from './component-schema.ts';

test('a database that is deployed again is the one of its component, and not that of another one with the same image', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qd-simulation-'));
  const machine = new Machine({ portsFolder: join(folder, 'ports'), bootMs: Date.now(), mountable: folder });
  const catalog = await openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json') });
  const components = JSON.parse(await readInstalled('dist/practice.json')) as PracticeComponent[];
  const cluster = { listeners: {}, start: () => undefined, stop: () => undefined };
  const stack = {
    components: components.map((one) => ({ ...one, past: undefined })),
    cluster,
    stackFolder: folder,
    longestBootMs: undefined,
  };
  const printed = async (project: string) => {
    const labels = { 'com.docker.compose.project': project, 'com.docker.compose.service': 'db' };
    const program = machine.cast({ name: `${project}-db-1`, image: 'postgres:16-alpine', labels } as unknown as ContainerSpec);
    return (await program?.exec?.(['psql'], ''))?.stdout;
  };
  try {
    await buildSimulation(machine, catalog, {}, stack);
    expect(await printed('rss-reader')).toBe('2 178 412\n');
    expect(await printed('recipe-manager')).toBeUndefined();
  } finally {
    await machine.close();
    await rm(folder, { recursive: true, force: true });
  }
});
