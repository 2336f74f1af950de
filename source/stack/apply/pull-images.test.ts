import { expect, test } from 'vitest';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { EngineDouble } from '../../../test/doubles/engine-double.ts';
import type { Engine, EngineWriter } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { mintGrant } from '../../grants/mint.ts';
import { createNetworks, imagesToPull, pullImages } from './apply.ts';
import type { ApplyEvent } from './transaction.ts';

const grant = mintGrant('apply', 'operate', AbortSignal.timeout(60_000));
const service = { name: 'main', before: undefined, why: 'test' };

test('an image is fetched once, and only where it is missing or asked for anew', () => {
  const transaction = transactionOf('run1', [
    planOf('vault', '/srv/stack', [], {
      services: [
        { ...service, image: 'missing:1', change: 'create', present: false },
        { ...service, image: 'here:1', change: 'create', present: true },
        { ...service, image: 'gone:1', change: 'remove', present: false },
      ],
    }),
    planOf('chat', '/srv/stack', [], {
      kind: 'update',
      services: [
        { ...service, image: 'missing:1', change: 'create', present: false },
        { ...service, image: 'newer:1', change: 'recreate', present: true },
        { ...service, image: 'same:1', change: 'keep', present: true },
      ],
    }),
  ]);
  expect(imagesToPull(transaction)).toEqual(['missing:1', 'newer:1']);
});

test('four come at a time, and after one that fails none is begun', async () => {
  const waiting: { reference: string; end: (fault?: Fault) => void }[] = [];
  const engine = {
    writer: (): Partial<EngineWriter> => ({
      pull: (reference, reported) =>
        new Promise((resolve, reject) => {
          reported({ fraction: 0.5, text: '1 of 2 layers\u001b[2J' });
          waiting.push({ reference, end: (fault) => (fault ? reject(fault) : resolve()) });
        }),
    }),
  } as unknown as Engine;
  const events: ApplyEvent[] = [];
  const pulling = pullImages(grant, engine, ['a', 'b', 'c', 'd', 'e', 'f'], (event) => events.push(event));
  const ended = pulling.catch((thrown: unknown) => thrown);
  await expect.poll(() => waiting.map(({ reference }) => reference)).toEqual(['a', 'b', 'c', 'd']);
  waiting[1]?.end();
  await expect.poll(() => waiting.at(-1)?.reference).toBe('e');
  expect(events).toContainEqual({ kind: 'pull', reference: 'a', fraction: 0.5, text: '1 of 2 layers', done: false });
  expect(events).toContainEqual({ kind: 'pull', reference: 'b', fraction: 1, text: '', done: true });
  waiting[0]?.end(new Fault('engine.pull', 'There is no such tag.', 'Look.'));
  for (const { end } of waiting.slice(2)) end();
  expect(await ended).toMatchObject({ code: 'engine.pull', message: 'There is no such tag.' });
  expect(waiting.map(({ reference }) => reference)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('a network that several components share is made once, and not where it is', async () => {
  const engine = new EngineDouble();
  await engine.writer(grant).createNetwork('quarterdeck-there', {});
  const networks = [
    { name: 'quarterdeck-there', exists: true },
    { name: 'quarterdeck-model-runtime', exists: false },
  ];
  const transaction = transactionOf('run1', [planOf('a', '/srv/stack', [], { networks }), planOf('b', '/srv/stack', [], { networks })]);
  const tool = { kind: 'docker-compose', generation: 2, version: '2', argv: [], env: {} } as const;
  await createNetworks(grant, { transaction, tool, engine, secrets: {}, networkLabels: (name) => ({ 'quarterdeck.network': name }) });
  expect((await engine.networks()).map(({ name, labels }) => [name, labels])).toEqual([
    ['quarterdeck-there', {}],
    ['quarterdeck-model-runtime', { 'quarterdeck.network': 'quarterdeck-model-runtime' }],
  ]);
});
