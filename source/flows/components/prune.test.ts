import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import type { DiskUsage } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { usageRows } from './disk-usage.ts';

const diskUsage = flowOf('df');
const prune = flowOf('prune');

const image = { labels: {}, sharedBytes: 0, dangling: false };
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

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  fixture.engine.usage = usage;
});
afterEach(() => fixture.close());

const everyKind = ['containers', 'images', 'volumes', 'build-cache'];

describe('prune', () => {
  test('without --all what has a name stays: tagged images and named volumes', async () => {
    await fixture.run(prune, undefined, { words: everyKind });
    expect(fixture.engine.requests).toEqual(
      ['remove c2', 'remove image sha256:dang1234567890', `remove volume ${'f'.repeat(64)}`, 'prune build-cache'].map((request) =>
        request === 'remove c2' ? 'remove gone force=false volumes=false' : request,
      ),
    );
  });

  test('with --all unused ones go too, what is used never; every tag of an image is taken off', async () => {
    await fixture.run(prune, undefined, { words: ['images', 'volumes'], options: { all: true } });
    expect(fixture.engine.requests).toEqual([
      'remove image old:1',
      'remove image mirror/old:1',
      'remove image sha256:dang1234567890',
      'remove volume precious',
      `remove volume ${'f'.repeat(64)}`,
    ]);
  });

  test('what goes is shown with sizes before it is confirmed', async () => {
    fixture.operator.confirms = false;
    await expect(fixture.run(prune, undefined, { words: ['volumes'], options: { all: true } })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    expect(fixture.engine.requests).toEqual([]);
    const [table] = fixture.operator.shown;
    expect(table).toMatchObject({
      kind: 'table',
      rows: [
        ['volume', 'precious', '7.0 KB', ''],
        ['volume', 'f'.repeat(64), '?', 'anonymous'],
      ],
    });
    expect(fixture.operator.confirmations[0]?.consequences[0]).toMatch(/^2 volumes \(7.0 KB\), with all of their data: precious, f+\.$/);
  });

  test('asks which kinds, with their sizes; volumes are not chosen by default', async () => {
    fixture.operator.answers = { kinds: [['containers']] };
    await fixture.run(prune, undefined);
    expect(fixture.operator.asked[0]).toMatchObject({
      kind: 'several',
      initial: ['containers', 'images', 'build-cache'],
      choices: [
        { value: 'containers', detail: '1, 20 B' },
        { value: 'images', detail: '1, 100 B' },
        { value: 'volumes', detail: '1, 0 B' },
        { value: 'build-cache' },
      ],
    });
    expect(fixture.engine.requests).toHaveLength(1);
  });

  test('a dry run that nobody attends shows all kinds, and removes nothing', async () => {
    fixture.operator = new OperatorDouble('unattended');
    fixture.policy = { ...fixture.policy, dryRun: true };
    await fixture.run(prune, undefined);
    expect(fixture.operator.asked).toEqual([]);
    expect(fixture.engine.requests).toEqual([]);
    const table = fixture.operator.shown.find((shown) => shown.kind === 'table');
    expect(table).toMatchObject({
      title: 'To be removed',
      rows: [
        ['container', 'gone', '20 B', 'exited'],
        expect.arrayContaining(['image']),
        expect.arrayContaining(['volume']),
        expect.arrayContaining(['build cache entry']),
      ],
    });
  });

  test('what the engine refuses is told, the rest goes on', async () => {
    fixture.engine.refusals.set('remove volume precious', new Fault('engine.conflict', 'volume is in use', ''));
    const running = fixture.run(prune, undefined, { words: ['volumes'], options: { all: true } });
    await expect(running).rejects.toMatchObject({
      code: 'failed.prune',
      message: 'Removed 1 of 2 items. Not removed: volume precious: volume is in use',
    });
  });

  test('nothing to remove: no question, no confirmation', async () => {
    fixture.engine.usage = { images: [], containers: [], volumes: [], buildCache: [] };
    expect((await fixture.run(prune, undefined)).message).toContain('Nothing to remove on local');
    expect(fixture.operator.asked).toEqual([]);
  });

  test('a kind that is none is wrong usage', async () => {
    await expect(fixture.run(prune, undefined, { words: ['everything'] })).rejects.toMatchObject({ code: 'usage.kind' });
  });

  beforeEach(() => {
    fixture.engine.add('gone', { id: 'c2', state: 'exited' });
  });
});

describe('df', () => {
  test('what nothing uses can be had back; shared layers count once', () => {
    expect(usageRows(usage)).toEqual([
      // 600 + 200 + 100 of their own, and 300 shared by two of them.
      { kind: 'images', count: 3, inUse: 1, sizeBytes: 1_200, reclaimableBytes: 300, unmeasured: 0 },
      { kind: 'containers', count: 3, inUse: 2, sizeBytes: 35, reclaimableBytes: 20, unmeasured: 0 },
      { kind: 'volumes', count: 3, inUse: 1, sizeBytes: 11_000, reclaimableBytes: 7_000, unmeasured: 1 },
      { kind: 'build-cache', count: 2, inUse: 1, sizeBytes: 110, reclaimableBytes: 50, unmeasured: 0 },
    ]);
  });

  test('works in read-only mode and changes nothing', async () => {
    fixture.policy = { ...fixture.policy, readOnly: true };
    const outcome = await fixture.run(diskUsage, undefined);
    expect(outcome.message).toContain('7.4 KB is unused');
    expect(fixture.engine.requests).toEqual([]);
    expect(await fixture.audited()).toEqual([]);
  });
});
