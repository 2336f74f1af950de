import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import type { MediaChain } from '../../fleet/media-chain.ts';

describe('the chain of media automation on the practice stack (R55)', () => {
  let fixture: PracticeFixture;
  beforeAll(async () => {
    fixture = await PracticeFixture.open();
  });
  afterAll(() => fixture.close());

  const look = async () => {
    const { message, data, exitCode } = await fixture.run('chain', '');
    const table = fixture.operator.shown.find(({ kind }) => kind === 'table');
    return { message, exitCode, chain: data as MediaChain, rows: table?.kind === 'table' ? table.rows : [] };
  };

  test('what is missing is said, and who could do it (R55)', async () => {
    const { message, exitCode, chain, rows } = await look();
    expect(exitCode).toBe(1);
    expect(message).toBe('The chain is broken: 4 stages missing.');
    expect(chain.stages.map(({ state }) => state)).toEqual(['missing', 'missing', 'missing', 'missing', 'works']);
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['1 Release on an indexer', '', 'missing'],
      ['2 Download request', '', 'missing'],
      ['3 Completed download', '', 'missing'],
      ['4 Import and rename', '', 'missing'],
      ['5 Library scan', 'media-server', 'healthy'],
    ]);
  });

  test('deployed as they are, in any order, they are a whole chain; stopped, started: each is seen (R55)', {
    timeout: 120_000,
  }, async () => {
    for (const id of ['movie-automation', 'indexer-manager']) await fixture.run('deploy', id);
    await fixture.run('deploy', 'torrent-client', { options: { set: ['WEB_PORT=18080'] } });
    const { chain } = await look();
    expect(chain.stages.map(({ state, members }) => [state, members.map(({ id }) => id)])).toEqual([
      ['works', ['indexer-manager']],
      ['works', ['movie-automation']],
      ['works', ['torrent-client']],
      ['works', ['movie-automation']],
      ['works', ['media-server']],
    ]);
    expect(chain).toMatchObject({ whole: true, findings: [] });

    await fixture.run('stop', 'torrent-client');
    await expect.poll(() => fixture.component('torrent-client')?.serviceState).toBe('stopped');
    const stopped = await look();
    expect(stopped.exitCode).toBe(1);
    expect(stopped.chain.stages[2]).toMatchObject({ state: 'stopped', members: [{ id: 'torrent-client', runs: false }] });
    expect(stopped.chain.findings.map(({ message }) => message)).toContain('torrent-client is not running (stopped).');
    await fixture.run('start', 'torrent-client');
    await expect.poll(async () => (await look()).chain.stages[2]?.state).toBe('works');
  });

  test('asks nobody', async () => {
    const { exitCode } = await look();
    expect([0, 1]).toContain(exitCode);
    expect(fixture.operator.asked).toEqual([]);
  });
});
