import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { catalogEntry, composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentView, inState, serviceView, stateOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView, ServiceStateId } from '../../fleet/model.ts';
import { openLocalHost } from '../../hosts/local-host.ts';

const up = flowOf('up');

// Flows wait for the requested state; in a test they check again at once.
vi.mock(import('../../faults/waits.ts'), async (original) => ({
  ...(await original()),
  pauseFor: async (_: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  },
}));

describe('bringing up what should run, after a power cut', () => {
  let fixture: FlowFixture;

  const seen = (id: string, state: ServiceStateId, kept = true): ComponentView =>
    componentView(id, {
      key: `local/${id}/${id}`,
      project: id,
      deployed: true,
      ...inState(state),
      services: [
        serviceView(id, {
          containerId: fixture.engine.add(id, { state: 'exited', labels: composeLabels(id, id) }).id,
          main: true,
          state,
          kept,
        }),
      ],
    });
  const stand = (...components: ComponentView[]) => {
    fixture.fleet.current = { ...fixture.fleet.current, components };
  };

  beforeEach(async () => {
    fixture = await FlowFixture.open();
    fixture.host = openLocalHost();
    const front = catalogEntry('chat', {}, { uses: [{ component: 'runtime', what: 'api', field: 'URL' }] });
    const proxy = catalogEntry('llm-proxy', {}, { dependsOn: ['runtime'] });
    fixture.catalog = { entries: [front, proxy], get: (id) => [front, proxy].find((entry) => entry.id === id), problems: [] };
    // Started containers are seen running at the next check.
    fixture.fleet.refresh = () => {
      const started = new Set(fixture.engine.requests.map((request) => request.replace('start ', '')));
      stand(
        ...fixture.fleet.current.components.map((component): ComponentView => {
          if (!started.has(component.id)) return component;
          const services = component.services.map((service) => ({ ...service, state: 'running' as const }));
          return { ...component, ...inState('running'), services };
        }),
      );
    };
  });
  afterEach(async () => {
    await fixture.host?.close();
    await fixture.close();
  });

  test('what runs and is unhealthy or not ready yet is named, though there is nothing to bring up', async () => {
    stand(
      { ...seen('runtime', 'unhealthy'), ...inState('unhealthy', 'error') },
      { ...seen('chat', 'starting'), ...inState('starting', 'busy') },
    );
    expect((await fixture.run(up, undefined)).message).toBe(
      'Nothing to start: all deployed components that should be running are running. Not healthy: runtime (unhealthy). Not ready yet: chat (starting).',
    );
  });

  test('who is used comes before who uses it, and is healthy by then', async () => {
    stand(seen('chat', 'failed'), seen('llm-proxy', 'failed'), seen('runtime', 'failed'));
    const { message, data } = await fixture.run(up, undefined);
    expect(fixture.engine.requests).toEqual(['start runtime', 'start chat', 'start llm-proxy']);
    expect(message).toBe('Started: runtime, chat, llm-proxy.');
    expect(data).toEqual({ started: ['runtime', 'chat', 'llm-proxy'], down: [], sealed: [] });
  });

  test('a secrets manager that runs again is sealed, and that is what comes next', async () => {
    const manager = { ...seen('secrets-manager-path', 'running'), speaks: 'vault', state: stateOf('sealed 0/3') };
    stand(manager, seen('chat', 'failed'));
    const { message, data } = await fixture.run(up, undefined);
    expect(message).toBe('Started: chat. Sealed, so unavailable until unsealed: secrets-manager-path.');
    expect(data).toMatchObject({ started: ['chat'], sealed: ['secrets-manager-path'] });
    stand(manager);
    expect((await fixture.run(up, undefined)).message).toMatch(
      /^Nothing to start: all deployed components that should be running are running\. Sealed, so unavailable until unsealed: secrets-manager-path\./,
    );
  });

  test('what an operator stopped stays down, and what others made, and what is to end by itself', async () => {
    stand(
      seen('chat', 'stopped'),
      { ...seen('theirs', 'failed'), deployed: false },
      seen('job', 'failed', false),
      seen('runtime', 'running'),
    );
    expect((await fixture.run(up, undefined, { words: ['all'] })).message).toMatch(
      /^Nothing to start: all deployed components that should be running are running/,
    );
    expect(fixture.engine.requests).toEqual([]);
  });

  test('one that is named comes up although an operator stopped it', async () => {
    stand(seen('chat', 'stopped'), seen('runtime', 'failed'));
    expect((await fixture.run(up, undefined, { words: ['chat'] })).message).toBe('Started: chat.');
    expect(fixture.engine.requests).toEqual(['start chat']);
  });

  test.each([
    ['docker-proxy', 'port 127.0.0.1:18703 is in use by dashboard'],
    ['podman', 'port 127.0.0.1:18703/tcp is already in use'],
  ])('who has its port is named where that is seen, in place of the words of the engine (%s)', async (_, words) => {
    stand(seen('chat', 'failed'));
    const isSeen = words.endsWith('dashboard');
    const port = { host: 'local', address: '127.0.0.1', port: 18703, protocol: 'tcp', exposure: 'loopback', owner: 'dashboard' } as const;
    const rest = {
      component: undefined,
      service: undefined,
      containerPort: undefined,
      role: undefined,
      open: true,
      conflictWith: [],
      note: undefined,
    };
    fixture.fleet.current = { ...fixture.fleet.current, ports: isSeen ? [{ ...port, ...rest }] : [] };
    const message = `The engine failed: driver failed programming external connectivity on endpoint chat_server_1 (${'2c'.repeat(32)}): Error starting userland proxy: listen tcp4 127.0.0.1:18703: bind: address already in use.`;
    fixture.engine.refusals.set('start chat', new Fault('failed.start', message, 'Free it.'));
    await expect(fixture.run(up, undefined)).rejects.toMatchObject({ message: `Failed to start: chat (${words}).` });
  });

  test('one that fails keeps no other from it, and is told with why and the end of its log', async () => {
    stand(seen('chat', 'failed'), seen('runtime', 'failed'));
    fixture.engine.refusals.set('start runtime', new Fault('failed.start', 'Port 11434 is taken.', 'Free it.'));
    await expect(fixture.run(up, undefined)).rejects.toMatchObject({
      code: 'failed.up',
      message: expect.stringMatching(/^Failed to start: runtime \(Port 11434 is taken\)\. Started: chat\.$/),
      remedy: expect.stringContaining('quarterdeck logs runtime'),
    });
    expect(fixture.engine.requests).toContain('start chat');
  });

  test('an interrupted rotation that cannot be settled is told beside what came back and what did not', async () => {
    stand(seen('chat', 'failed'), seen('runtime', 'failed'));
    fixture.engine.refusals.set('start runtime', new Fault('failed.start', 'Port 11434 is taken.', 'Free it.'));
    const own = join(fixture.folder, 'stack', '.quarterdeck');
    for (const folder of [join(own, 'halted'), join(own, 'components'), join(own, '..', 'chat')]) await mkdir(folder, { recursive: true });
    const record = {
      ...{ schema: 1, run: 'rotation-x', flow: 'rotation', component: 'chat', by: 'ada@nas', startedAt: '2026-01-01T00:00:00.000Z' },
      ...{ containers: [], secrets: [{ component: 'chat', variable: 'DB_PASSWORD' }] },
    };
    await writeFile(join(own, 'halted', 'rotation-x.json'), JSON.stringify(record));
    await writeFile(join(own, '..', 'chat', 'compose.yaml'), 'services: {}\n');
    await writeFile(join(own, 'components', 'chat.json'), '{');
    await expect(fixture.run(up, undefined)).rejects.toMatchObject({
      code: 'failed.up',
      message: expect.stringMatching(/^Failed to start: runtime \(Port 11434 is taken\)\. Started: chat\. .*chat\.json/),
    });
    fixture.engine.refusals.clear();
    stand(seen('chat', 'failed'));
    await expect(fixture.run(up, undefined)).rejects.toMatchObject({
      code: 'config.record',
      message: expect.stringMatching(/^Started: chat\. .*chat\.json/),
    });
  });

  test('a named component that needs no start is named, and nothing is said about the others', async () => {
    stand(seen('runtime', 'running'), seen('chat', 'stopped'));
    expect((await fixture.run(up, undefined, { words: ['runtime'] })).message).toBe('Nothing to start: runtime is running or paused.');
    stand();
    expect((await fixture.run(up, undefined)).message).toBe('Nothing to start: Quarterdeck has not deployed any components.');
  });

  test('a component that was not deployed from here is no name', async () => {
    stand(seen('runtime', 'failed'));
    await expect(fixture.run(up, undefined, { words: ['nope'] })).rejects.toMatchObject({
      code: 'usage.component',
      remedy: expect.stringContaining('runtime'),
    });
  });

  test('a dry run starts nothing', async () => {
    fixture.policy = { ...fixture.policy, dryRun: true };
    stand(seen('runtime', 'failed'));
    expect((await fixture.run(up, undefined)).message).toBe('Dry run: nothing was started.');
    expect(fixture.engine.requests).toEqual([]);
  });
});
