import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { readInstalled } from '../../config/installation.ts';
import { ContainerFiles } from '../engine/container-files.ts';
import type { Machine } from '../engine/machine.ts';
import type { PracticeComponent } from './component-schema.ts';
import { SimulatedProgram } from './simulated-program.ts';

test('the default account of a new Mealie is gone after five minutes, as if someone had logged in', async () => {
  const due: { ms: number; run: () => void }[] = [];
  const machine = { later: (ms: number, run: () => void) => due.push({ ms, run }) } as unknown as Machine;
  const components = JSON.parse(await readInstalled('dist/practice.json')) as PracticeComponent[];
  const service = components.find(({ component }) => component === 'recipe-manager')?.services['mealie'] ?? {};
  const program = new SimulatedProgram({ ...service, log: {} }, { seed: 'mealie', machine, product: undefined });
  program.start({
    startedMs: Date.now(),
    signal: new AbortController().signal,
    files: new ContainerFiles(),
    environment: {},
    write: () => undefined,
    exit: () => undefined,
    health: () => undefined,
  });
  due.shift()?.run();
  const server = createServer(program.listeners[9000]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const isNew = async () => {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/app/about/startup-info`);
    return ((await answer.json()) as { isFirstLogin: boolean }).isFirstLogin;
  };
  try {
    expect(await isNew()).toBe(true);
    expect(due.map(({ ms }) => Math.round(ms / 60_000))).toEqual([5]);
    due.shift()?.run();
    expect(await isNew()).toBe(false);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
