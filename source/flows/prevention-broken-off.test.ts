import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakOffs, type Otherwise, traces } from '../../test/doubles/break-offs.ts';
import { answering, onPractice, type PracticeTry } from '../../test/doubles/practice-ground.ts';
import { PracticeStage } from '../../test/doubles/practice-stage.ts';

const component = 'intrusion-prevention';
let stage: PracticeStage;
beforeAll(async () => {
  stage = await PracticeStage.open();
});
afterAll(() => stage.close());

const run = (flow: string, words: string[] = [], options = {}) => stage.run(flow, '', { words, options }, { operator: answering({}) });
const dataOf = async <T>(flow: string, words: string[] = [], options = {}) => (await run(flow, words, options)).data as T;
const bans = async () =>
  (await dataOf<{ decisions: { value: string; origin: string; reason: string }[] }>('decisions')).decisions
    .filter(({ origin }) => origin === 'cscli')
    .map(({ value, reason }) => `${value} ${reason}`)
    .sort();
const allowlists = async () => (await dataOf<{ allowlists: { name: string; items: { value: string }[] }[] }>('allowlists-list')).allowlists;
const onLists = async () => (await allowlists()).map(({ name, items }) => [name, ...items.map(({ value }) => value).sort()]);
const bouncers = async () =>
  (await dataOf<{ bouncers: { name: string; lastPull: string | null }[] }>('bouncers-list')).bouncers.map(({ name }) => name);
const collections = async () => (await dataOf<{ items: { name: string }[] }>('collections-list')).items.map(({ name }) => name).sort();
const startedMs = async () => {
  const [id] = Object.values(await stage.containers(component));
  return (await stage.deck.world.engineOf('practice').inspect(id ?? '', AbortSignal.timeout(20_000)))?.startedMs;
};
const quietly = (flow: string, words: string[]) => run(flow, words).catch(() => undefined);

const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);

interface Row extends PracticeTry {
  flow: string;
  acts: string[];
  otherwise?: Record<string, Otherwise>;
}

test.each<Row>([
  {
    flow: 'ban',
    words: ['203.0.113.99'],
    options: { for: '24h', reason: 'scans' },
    acts: ['ban'],
    first: () => quietly('unban', ['203.0.113.99']),
    end: bans,
  },
  { flow: 'unban', words: ['203.0.113.99'], acts: ['unban'], first: () => run('ban', ['203.0.113.99'], { for: '4h' }), end: bans },
  {
    flow: 'allowlists-create',
    words: ['harbour'],
    options: { description: 'ours' },
    acts: ['create'],
    first: () => quietly('allowlists-delete', ['harbour']),
    end: onLists,
  },
  {
    flow: 'allowlists-add',
    words: ['harbour', '203.0.113.80', '198.51.100.0/28'],
    options: { comment: 'the crew' },
    acts: ['add'],
    first: async () => {
      await quietly('allowlists-delete', ['harbour']);
      await run('allowlists-create', ['harbour']);
    },
    end: onLists,
  },
  {
    flow: 'allowlists-remove',
    words: ['harbour'],
    operator: () => answering({ values: ['203.0.113.80'] }),
    acts: ['remove'],
    first: () => run('allowlists-add', ['harbour', '203.0.113.80']),
    end: onLists,
  },
  {
    flow: 'allowlists-delete',
    words: ['harbour'],
    acts: ['delete'],
    first: () => quietly('allowlists-create', ['harbour']),
    end: onLists,
  },
  {
    flow: 'bouncers-add',
    words: ['lighthouse'],
    acts: ['add'],
    first: () => quietly('bouncers-delete', ['lighthouse']),
    end: bouncers,
    // The first key was seen by nobody.
    otherwise: { 'add/after': { says: /^The bouncer lighthouse is registered\./, end: 'same' } },
  },
  {
    flow: 'bouncers-delete',
    words: ['lighthouse'],
    acts: ['delete'],
    first: () => quietly('bouncers-add', ['lighthouse']),
    end: bouncers,
  },
  {
    flow: 'collections-install',
    words: ['crowdsecurity/caddy'],
    operator: () => answering({ reload: 'now' }),
    acts: ['install', 'reload'],
    first: () => run('collections-remove', ['crowdsecurity/caddy'], { later: true }).catch(() => undefined),
    end: collections,
  },
  {
    flow: 'collections-remove',
    words: ['crowdsecurity/caddy'],
    operator: () => answering({ reload: 'now' }),
    acts: ['remove', 'reload'],
    first: () => run('collections-install', ['crowdsecurity/caddy'], { later: true }).catch(() => undefined),
    end: collections,
  },
])(
  '$flow, killed at every act and gone on with: the same end, nothing twice',
  { timeout: 120_000 },
  async ({ flow, acts, otherwise, ...played }) => {
    const seen = await breakOffs(
      onPractice(flow, '', played, () => stage),
      otherwise,
    );
    expect(seen.acts).toEqual(acts);
    expect(problems(seen.tries)).toEqual([]);
  },
);

test('the key of a bouncer is nowhere, also where the program crashes with it in hand', async () => {
  const played = onPractice('bouncers-add', '', { words: ['beacon'], first: () => quietly('bouncers-delete', ['beacon']) }, () => stage);
  const { crashes, found } = await traces(played);
  expect(crashes).toBe(2);
  expect(found).toEqual([]);
});

test('a collection is not removed without a reload', async () => {
  await run('collections-install', ['crowdsecurity/caddy'], { later: true });
  const before = await startedMs();
  await run('collections-remove', ['crowdsecurity/caddy']);
  expect(await startedMs()).not.toBe(before);
});
