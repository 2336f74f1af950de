import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import type { DiskUsage } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { diskUsage, usageRows } from './disk-usage.ts';
import { prune } from './prune.ts';

const image = { createdMs: 0, labels: {}, sharedBytes: 0, dangling: false };
const usage: DiskUsage = {
  images: [
    { ...image, id: 'sha256:used', tags: ['db:16'], sizeBytes: 900, sharedBytes: 300, containers: 1 },
    { ...image, id: 'sha256:idle', tags: ['old:1', 'mirror/old:1'], sizeBytes: 500, sharedBytes: 300, containers: 0 },
    { ...image, id: 'sha256:dang1234567890', tags: ['<none>:<none>'], sizeBytes: 100, dangling: true, containers: 0 },
  ],
  containers: [
    { id: 'c1', name: 'db', state: 'running', sizeBytes: 10 },
    { id: 'c2', name: 'gone', state: 'exited', sizeBytes: 20 },
    { id: 'c3', name: 'frozen', state: 'paused', sizeBytes: 5 },
  ],
  volumes: [
    { name: 'data', sizeBytes: 4_000, usedBy: 1, anonymous: false },
    { name: 'precious', sizeBytes: 7_000, usedBy: 0, anonymous: false },
    { name: 'f'.repeat(64), sizeBytes: undefined, usedBy: 0, anonymous: true },
  ],
  buildCache: [
    { id: 'b1', sizeBytes: 50, inUse: false },
    { id: 'b2', sizeBytes: 60, inUse: true },
  ],
};

let stage: FlowStage;
beforeEach(async () => {
  stage = await FlowStage.open();
  stage.engine.usage = usage;
});
afterEach(() => stage.close());

const everyKind = ['containers', 'images', 'volumes', 'build-cache'];

describe('prune', () => {
  test('without --all what has a name stays: tagged images and named volumes', async () => {
    await stage.run(prune, undefined, { words: everyKind });
    expect(stage.engine.requests).toEqual(
      ['remove c2', 'remove image sha256:dang1234567890', `remove volume ${'f'.repeat(64)}`, 'prune build-cache'].map((request) =>
        request === 'remove c2' ? 'remove gone force=false volumes=false' : request,
      ),
    );
  });

  test('with --all unused ones go too, what is used never; every tag of an image is taken off', async () => {
    await stage.run(prune, undefined, { words: ['images', 'volumes'], options: { all: true } });
    expect(stage.engine.requests).toEqual([
      'remove image old:1',
      'remove image mirror/old:1',
      'remove image sha256:dang1234567890',
      'remove volume precious',
      `remove volume ${'f'.repeat(64)}`,
    ]);
  });

  test('what goes is shown with sizes before it is confirmed', async () => {
    stage.operator.confirms = false;
    await expect(stage.run(prune, undefined, { words: ['volumes'], options: { all: true } })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    expect(stage.engine.requests).toEqual([]);
    const [table] = stage.operator.shown;
    expect(table).toMatchObject({
      kind: 'table',
      rows: [
        ['volume', 'precious', '7.0 KB', ''],
        ['volume', 'f'.repeat(64), '?', 'unnamed'],
      ],
    });
    expect(stage.operator.confirmations[0]?.consequences[0]).toMatch(/^2 volumes \(7.0 KB\), with all data in them: precious, f+\.$/);
  });

  test('asks which kinds, with their sizes; volumes are not chosen by default', async () => {
    stage.operator.answers = { kinds: [['containers']] };
    await stage.run(prune, undefined);
    expect(stage.operator.asked[0]).toMatchObject({
      kind: 'several',
      initial: ['containers', 'images', 'build-cache'],
      choices: [
        { value: 'containers', detail: '1, 20 B' },
        { value: 'images', detail: '1, 100 B' },
        { value: 'volumes', detail: '1, 0 B' },
        { value: 'build-cache' },
      ],
    });
    expect(stage.engine.requests).toHaveLength(1);
  });

  test('a rehearsal that nobody attends shows all kinds, and removes nothing', async () => {
    stage.operator = new OperatorDouble('unattended');
    stage.policy = { ...stage.policy, rehearsing: true };
    await stage.run(prune, undefined);
    expect(stage.operator.asked).toEqual([]);
    expect(stage.engine.requests).toEqual([]);
    const table = stage.operator.shown.find((shown) => shown.kind === 'table');
    expect(table).toMatchObject({
      title: 'This goes',
      rows: [
        ['container', 'gone', '20 B', 'exited'],
        expect.arrayContaining(['image']),
        expect.arrayContaining(['volume']),
        expect.arrayContaining(['piece of build cache']),
      ],
    });
  });

  test('what the engine refuses is told, the rest goes on', async () => {
    stage.engine.refusals.set('remove volume precious', new Fault({ code: 'engine.conflict', message: 'volume is in use', remedy: '' }));
    const running = stage.run(prune, undefined, { words: ['volumes'], options: { all: true } });
    await expect(running).rejects.toMatchObject({
      code: 'failed.prune',
      message: 'Removed 1 of 2. Not removed: volume precious: volume is in use',
    });
  });

  test('nothing to remove: no question, no confirmation', async () => {
    stage.engine.usage = { images: [], containers: [], volumes: [], buildCache: [] };
    expect((await stage.run(prune, undefined)).message).toContain('Nothing on local is there to be removed');
    expect(stage.operator.asked).toEqual([]);
  });

  test('a kind that is none is wrong usage', async () => {
    await expect(stage.run(prune, undefined, { words: ['everything'] })).rejects.toMatchObject({ code: 'usage.kind' });
  });

  beforeEach(() => {
    stage.engine.add('gone', { id: 'c2', state: 'exited' });
  });
});

describe('df', () => {
  test('what nothing uses can be had back; shared layers count once', () => {
    expect(usageRows(usage)).toEqual([
      // 600 + 200 + 100 of their own, and 300 that two of them share.
      { kind: 'images', count: 3, inUse: 1, sizeBytes: 1_200, reclaimableBytes: 300, unmeasured: 0 },
      { kind: 'containers', count: 3, inUse: 2, sizeBytes: 35, reclaimableBytes: 20, unmeasured: 0 },
      { kind: 'volumes', count: 3, inUse: 1, sizeBytes: 11_000, reclaimableBytes: 7_000, unmeasured: 1 },
      { kind: 'build-cache', count: 2, inUse: 1, sizeBytes: 110, reclaimableBytes: 50, unmeasured: 0 },
    ]);
  });

  test("the engine's own total wins where it tells one", () => {
    expect(usageRows({ ...usage, layersBytes: 1_111 })[0]?.sizeBytes).toBe(1_111);
  });

  test('works in read-only mode and changes nothing', async () => {
    stage.policy = { ...stage.policy, readOnly: true };
    const outcome = await stage.run(diskUsage, undefined);
    expect(outcome.message).toContain('7.4 KB are used by nothing');
    expect(stage.engine.requests).toEqual([]);
    expect(await stage.audited()).toEqual([]);
  });
});
