import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { breakOffs, type Ground, type Killed, traces } from '../../test/doubles/break-offs.ts';
import { crewOf, type Item, meshId as id, MeshStage, type Told } from '../../test/doubles/mesh-stage.ts';
import { onPractice } from '../../test/doubles/practice-ground.ts';

let stage: MeshStage;
beforeAll(async () => {
  stage = await MeshStage.open();
  await stage.run('mesh-access');
});
afterAll(() => stage.close());

/** What the server has, read behind everybody's back. */
const listed = async (path: string, name: string) => (await stage.aside('GET', path))[name] as Item[];
const nodes = () => listed('node', 'nodes');
const users = () => listed('user', 'users');
const isValid = ({ expiration }: Item) => Date.parse(String(expiration)) > Date.now();
const keys = async () => (await listed('preauthkey', 'preAuthKeys')).filter(isValid);
const apiKeys = async () => (await listed('apikey', 'apiKeys')).filter(isValid);

interface Played {
  words?: readonly string[];
  told?: (killed: Killed | undefined) => Told;
  /** Before each run, which all share one server. */
  first?: () => Promise<unknown>;
  end: () => Promise<unknown>;
}

const ground = (flowId: string, { words = [], told = () => ({}), first, end }: Played): (() => Promise<Ground>) =>
  onPractice(
    flowId,
    id,
    {
      words,
      options: told(undefined).options ?? {},
      operator: (_, killed) => crewOf(told(killed)),
      ...(first && { first }),
      end,
    },
    () => stage.practice,
  );

const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);

describe('killed at every act, and gone on with', () => {
  test('a pre-auth key: one that nobody has is taken back, one that was kept is shown; one is valid in the end (R61)', async () => {
    let before: Item[] = [];
    const more = async () => (await keys()).filter(({ id: number }) => !before.some((one) => one['id'] === number));
    const kept = async () => {
      const operator = crewOf({});
      await stage.practice.run('secrets-reveal', id, { words: [`${id}.join`, 'KEY'] }, { operator });
      const [shown] = operator.shown.filter((one) => one.kind === 'secret');
      return shown?.value.slice(0, 'hskey-auth-'.length + 12);
    };
    const played = ground('key', {
      told: () => ({ typed: { key: [{ user: 'guest', reusable: 'yes' }] } }),
      first: async () => {
        before = await keys();
      },
      end: async () => {
        const made = await more();
        return {
          valid: made.map(({ reusable, used }) => ({ reusable, used })),
          isKept: String(made[0]?.['key']).startsWith((await kept()) ?? 'none'),
        };
      },
    });
    const says = /for guest is valid until .* It is kept among the secrets\.$/;
    const { acts, tries } = await breakOffs(played, {
      'make-key/before': { says, end: 'same' },
      'make-key/after': { says, end: 'same' },
      'keep-key/before': { says, end: 'same' },
      'keep-key/after': { says, end: 'same' },
    });
    expect(acts).toEqual(['make-key', 'keep-key']);
    expect(problems(tries)).toEqual([]);
    expect(await played().then((one) => one.end())).toEqual({ valid: [], isKept: false });
  });

  test('the way in, renewed: the key before it is expired, and none is left that nobody has', async () => {
    const end = async () => {
      const valid = await apiKeys();
      const { data } = await stage.run('mesh-access');
      return { valid: valid.length, isOurs: valid.some(({ prefix }) => prefix === data.apiKey) };
    };
    const says = /^This console is let in, until/;
    const { acts, tries } = await breakOffs(ground('mesh-access', { told: () => ({ options: { renew: true } }), end }), {
      'make-api-key/before': { says, end: 'same' },
      'make-api-key/after': { says, end: 'same' },
      'expire-old/before': { says, end: 'same' },
      'expire-old/after': { says, end: 'same' },
    });
    expect(acts).toEqual(['make-api-key', 'expire-old']);
    expect(problems(tries)).toEqual([]);
  });

  test('an API key for a program: made and not shown, it is taken back', async () => {
    let before = 0;
    const played = ground('mesh-api-key', {
      words: ['create'],
      first: async () => {
        before = (await apiKeys()).length;
      },
      end: async () => (await apiKeys()).length - before,
    });
    const { acts, tries } = await breakOffs(played, { 'create-api-key/after': { says: /is valid until/, end: 'same' } });
    expect(acts).toEqual(['create-api-key']);
    expect(problems(tries)).toEqual([]);
  });

  test.each<{
    flow: string;
    acts: string[];
    words?: string[];
    told?: Told;
    first?: () => Promise<unknown>;
    end: () => Promise<unknown>;
    says?: RegExp;
  }>([
    {
      flow: 'mesh-expire-key',
      says: /^Pre-auth key \d+ of guest is expired\.$/,
      acts: ['expire-key'],
      told: { answers: {} },
      first: async () => {
        for (const { id: number } of await keys()) await stage.aside('POST', 'preauthkey/expire', { id: number });
        await stage.aside('POST', 'preauthkey', { user: '3', expiration: new Date(Date.now() + 86_400_000).toISOString() });
      },
      end: async () => (await keys()).length,
    },
    {
      flow: 'mesh-user',
      words: ['create', 'steward'],
      acts: ['create-user'],
      first: async () => removeUser('steward'),
      end: async () => (await users()).map(({ name }) => name),
    },
    {
      flow: 'mesh-user',
      words: ['rename', 'cook', 'baker'],
      says: /^cook is called baker now\.$/,
      acts: ['rename-user'],
      first: async () => {
        await removeUser('baker');
        await stage.aside('POST', 'user', { name: 'cook' });
      },
      end: async () => (await users()).map(({ name }) => name),
    },
    {
      flow: 'mesh-user',
      words: ['delete', 'baker'],
      says: /^The user baker is gone\.$/,
      acts: ['delete-user'],
      first: async () => {
        await removeUser('baker');
        await stage.aside('POST', 'user', { name: 'baker' });
      },
      end: async () => (await users()).map(({ name }) => name),
    },
    ...(
      [
        [['nas', 'routes', 'none'], 'routes', ['nas', 'routes', 'all']],
        [['nas', 'tags', 'tag:server,tag:media'], 'tag', ['nas', 'tags', 'tag:server']],
        [['nas', 'rename', 'store'], 'rename', ['store', 'rename', 'nas']],
        [['guest-phone', 'expires', '10d'], 'set-expiry', ['guest-phone', 'expires', '20d']],
        [['guest-phone', 'keep'], 'keep', ['guest-phone', 'expires', '20d']],
        [['guest-phone', 'expire'], 'expire', ['guest-phone', 'expires', '20d']],
      ] as const
    ).map(([words, act, back]) => ({
      flow: 'mesh-node',
      words: [...words],
      acts: [act],
      first: () => stage.run('mesh-node', back).catch(() => undefined),
      end: nodesSeen,
    })),
  ])('$flow $words', async ({ flow, acts, words = [], told = {}, first, end, says }) => {
    const chosen = async (): Promise<Told> => {
      if (flow !== 'mesh-expire-key') return told;
      return { answers: { key: [String((await keys())[0]?.['id'])] } };
    };
    let now: Told = told;
    const played = ground(flow, {
      words,
      // Who goes on is not asked again.
      told: (killed) => (killed ? { kind: 'unattended' } : structuredClone(now)),
      first: async () => {
        await first?.();
        now = await chosen();
      },
      end,
    });
    const confirmed = (): ReturnType<typeof played> =>
      played().then((one) => ({ ...one, operator: (killed) => Object.assign(one.operator(killed), { confirms: true }) }));
    // Each try is about another number, which the request names.
    const each = says === undefined ? {} : { [`${acts[0]}/before`]: { says, end: 'same' }, [`${acts[0]}/after`]: { says, end: 'same' } };
    const { acts: seen, tries } = await breakOffs(confirmed, each as Parameters<typeof breakOffs>[1]);
    expect(seen).toEqual(acts);
    expect(problems(tries)).toEqual([]);
  });

  test('a node that is deleted, and one that is let in', async () => {
    const knock = async (name: string) => {
      const key = `hskey-authreq-${String(Math.floor(Math.random() * 1e15)).padStart(24, 'k')}`;
      await stage.aside('POST', 'debug/node', { user: 'guest', key, name, routes: [] });
      return key;
    };
    const remove = async (name: string) => {
      for (const node of await nodes()) if (node['givenName'] === name) await stage.aside('DELETE', `node/${node['id']}`);
    };
    const deleted = ground('mesh-node', {
      words: ['visitor', 'delete'],
      first: async () => {
        await remove('visitor');
        await stage.run('mesh-register', [await knock('visitor')], { options: { user: 'guest' } });
      },
      end: nodesSeen,
    });
    const gone = { says: /^visitor is gone from the mesh\.$/, end: 'same' as const };
    const first = await breakOffs(deleted, { 'delete/before': gone, 'delete/after': gone });
    expect(first.acts).toEqual(['delete']);
    expect(problems(first.tries)).toEqual([]);

    let key = '';
    const letIn = ground('mesh-register', {
      told: (killed) => (killed ? { kind: 'unattended' } : { answers: { key: [key], user: ['guest'] } }),
      first: async () => {
        await remove('visitor');
        key = await knock('visitor');
      },
      end: nodesSeen,
    });
    const second = await breakOffs(letIn, {
      // Each key is another one: the request differs from try to try.
      'register/before': { says: /^visitor is in the mesh as .*guest\.$/, end: 'same' },
      'register/after': { says: /^visitor is in the mesh as .*guest\.$/, end: 'same' },
    });
    expect(second.acts).toEqual(['register']);
    expect(problems(second.tries)).toEqual([]);
    await remove('visitor');
  });

  test('the policy: it is set once, and what was written is kept until it is', async () => {
    const text = String((await stage.aside('GET', 'policy'))['policy']);
    const written = `// Mine.\n${text}`;
    const played = ground('mesh-edit-policy', {
      first: () => stage.aside('PUT', 'policy', { policy: text }),
      end: async () => (await stage.aside('GET', 'policy'))['policy'],
    });
    const editing = (): ReturnType<typeof played> =>
      played().then((one) => ({
        ...one,
        operator: (killed) => {
          const operator = one.operator(killed);
          // The editor of who goes on opens with what was written, and is closed as it is.
          operator.lend = async () => (killed ? written : written) as never;
          return operator;
        },
      }));
    const { acts, tries } = await breakOffs(editing);
    expect(acts).toEqual(['set-policy']);
    expect(problems(tries)).toEqual([]);
    await stage.aside('PUT', 'policy', { policy: text });
  });
});

test.each([
  ['key', [], { typed: { key: [{ user: 'guest' }] } }],
  ['mesh-api-key', ['create'], {}],
  ['mesh-access', [], { options: { renew: true } }],
] as const)('%s: no key is anywhere but where it is kept, also where the program crashes with it in hand', async (flow, words, told) => {
  const played = ground(flow, { words: [...words], told: () => structuredClone(told) as Told, end: async () => undefined });
  const { secrets, crashes, found } = await traces(played);
  expect(secrets).toBeGreaterThan(0);
  expect(crashes).toBeGreaterThan(0);
  // What an act answers and is no key is not searched for.
  const ofKeys = found.filter(({ secret }) => /^hskey-|[A-Za-z0-9_-]{40}/.test(secret));
  expect(ofKeys.map(({ where, form }) => `${form}: ${where}`)).toEqual([]);
});

async function removeUser(name: string): Promise<void> {
  for (const user of await users()) if (user['name'] === name) await stage.aside('DELETE', `user/${user['id']}`);
}

/** To the day: the time of an expiry is another one each time. */
async function nodesSeen(): Promise<unknown> {
  return (await nodes()).map(({ givenName, tags, approvedRoutes, expiry }) => ({
    givenName,
    tags,
    approvedRoutes,
    expires: expiry === null ? 'never' : Math.round((Date.parse(String(expiry)) - Date.now()) / 86_400_000),
  }));
}
