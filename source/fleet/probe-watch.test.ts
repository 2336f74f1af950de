import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { catalogEntry, containerDetail } from '../../test/doubles/container-facts.ts';
import { EngineDouble } from '../../test/doubles/engine-double.ts';
import { hostDouble } from '../../test/doubles/live-engine.ts';
import type { CallAnswer, CallRequest, CallTarget, WholeCallAnswer } from '../calls/call.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import { type ProbeTarget, ProbeWatch, probeLimits } from './probe-watch.ts';

/** Responses of components, by key of the component's entry. */
const answers = new Map<string, (request: CallRequest) => Promise<Partial<CallAnswer>>>();
const asked: string[] = [];

vi.mock(import('../calls/run-call.ts'), async (original) => ({
  ...(await original()),
  runCall: async ({ entry }: CallTarget, request: CallRequest): Promise<WholeCallAnswer> => {
    asked.push(entry.id);
    const answer = await answers.get(entry.id)?.(request);
    return {
      ok: true,
      status: 200,
      json: undefined,
      text: '',
      headers: {},
      failure: '',
      tookMs: 1,
      body: new Uint8Array(),
      whole: true,
      ...answer,
    };
  },
}));

const states = [{ when: 'true', state: '{text}', severity: 'warning' as const, detail: 'It says {text}, key {env.API_KEY}.' }];

function targetOf(id: string, env: [string, string][] = [], how: Partial<ComponentCall> = { tcp: { port: 'web' } }): ProbeTarget {
  const call = { title: 'status', reads: true, auth: 'none', limit: '3s', keep: '0s', inputs: {}, endpoint: false, ...how };
  const field = {
    name: 'API_KEY',
    type: 'secret-string' as const,
    secret: true,
    required: false,
    excludes: [],
    target: 'environment' as const,
  };
  const entry = catalogEntry(
    id,
    { app: { image: id, main: true } },
    {
      fields: [field],
      calls: { status: call },
      probe: { call: 'status', also: [], withCredentials: [], defaults: false, states, status: [] },
    },
  );
  return {
    ...{ key: `local//${id}`, engineName: 'local', id },
    entry,
    host: hostDouble(),
    hostAddresses: [],
    engine: new EngineDouble(),
    engineFacts: undefined,
    containers: new Map([['app', containerDetail({ name: id, env })]]),
  };
}

let watch: ProbeWatch;
// The first probe loads the libraries, which takes seconds on a busy machine.
beforeAll(() => Promise.all([import('../calls/run-call.ts'), import('../calls/conditions.ts')]), 60_000);
beforeEach(() => {
  answers.clear();
  asked.length = 0;
  watch = new ProbeWatch(() => {}, { execAllowed: true, defaultIntervalMs: 60_000 });
});
afterEach(() => watch.close());

const word = (id: string) => watch.probe(`local//${id}`)?.state?.label;
const waitFor = (check: () => void) => vi.waitFor(check, { interval: 5, timeout: 20_000 });

describe('asking components how they are', { timeout: 60_000 }, () => {
  test('the interval is that of the settings, but for who is to be asked at another (R81)', async () => {
    watch.close();
    watch = new ProbeWatch(() => {}, { execAllowed: true, defaultIntervalMs: 30 });
    const seldom = targetOf('seldom');
    const { probe } = seldom.entry;
    watch.follow([targetOf('plain'), { ...seldom, entry: { ...seldom.entry, ...(probe && { probe: { ...probe, every: '1m' } }) } }]);
    await waitFor(() => expect(asked.filter((id) => id === 'plain').length).toBeGreaterThan(3));
    expect(asked.filter((id) => id === 'seldom')).toHaveLength(1);
  });

  test('what is no longer probed is forgotten, and that is reported', async () => {
    watch.close();
    const reported: [string, boolean][] = [];
    watch = new ProbeWatch((key, isNews) => reported.push([key, isNews]), { execAllowed: true, defaultIntervalMs: 60_000 });
    watch.follow([targetOf('plain')]);
    await waitFor(() => expect(reported).toEqual([['local//plain', true]]));
    watch.follow([]);
    expect(reported).toHaveLength(2);
    expect(watch.probe('local//plain')).toBeUndefined();
  });

  test('a change that is asked about while an older question is under way is asked about again', async () => {
    let release = () => {};
    answers.set('vault', async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return { text: 'sealed' };
    });
    watch.follow([targetOf('vault')]);
    await waitFor(() => expect(asked).toEqual(['vault']));
    answers.set('vault', async () => ({ text: 'open' }));
    watch.refresh('local//vault');
    release();
    await waitFor(() => expect(word('vault')).toBe('open'));
  });

  test('those that do not answer keep nobody from being asked for longer than their limit', async () => {
    const release: (() => void)[] = [];
    for (let number = 0; number < probeLimits.atOnce; number++) {
      answers.set(`silent-${number}`, async () => {
        await new Promise<void>((resolve) => release.push(resolve));
        return { ok: false, failure: 'No response after 3 s.' };
      });
    }
    answers.set('last', async () => ({ text: 'fine' }));
    const host = hostDouble();
    const ids = [...Array.from({ length: probeLimits.atOnce }, (_, number) => `silent-${number}`), 'last'];
    watch.follow(ids.map((id) => ({ ...targetOf(id), host })));
    await waitFor(() => expect(release).toHaveLength(probeLimits.atOnce));
    expect(asked).not.toContain('last');
    release[0]?.();
    await waitFor(() => expect(word('last')).toBe('fine'));
    for (const one of release) one();
    await waitFor(() => expect(watch.complete()).toBe(true));
  });

  test('a host whose components do not answer keeps no other host waiting', async () => {
    const silent = Array.from({ length: probeLimits.atOnce }, (_, number) => targetOf(`silent-${number}`));
    for (const { entry } of silent) answers.set(entry.id, () => new Promise(() => undefined));
    answers.set('elsewhere', async () => ({ text: 'fine' }));
    const host = hostDouble();
    watch.follow([...silent.map((target) => ({ ...target, host })), targetOf('elsewhere')]);
    await waitFor(() => expect(word('elsewhere')).toBe('fine'));
  });

  test('what is shown is probed first, and not less often because it fails; the rest backs off', async () => {
    watch.close();
    const intervalMs = 40;
    watch = new ProbeWatch(() => {}, { execAllowed: true, defaultIntervalMs: intervalMs, isShown: (key) => key === 'local//shown' });
    const host = hostDouble();
    const hidden = Array.from({ length: probeLimits.atOnce + 1 }, (_, number) => `hidden-${number}`);
    const containers = new Map([['app', containerDetail({ name: 'old', startedMs: 1 })]]);
    const allWait = Promise.withResolvers<void>();
    const refused = async () => {
      await allWait.promise;
      return { ok: false, failure: 'Connection refused.' };
    };
    for (const id of [...hidden, 'shown']) answers.set(id, refused);
    watch.follow([...hidden, 'shown'].map((id) => ({ ...targetOf(id), host, containers })));
    // Those that the host takes at once run, and the timers of the others have passed.
    setTimeout(() => allWait.resolve(), 20);
    await waitFor(() => expect(asked.filter((id) => id === 'shown').length).toBeGreaterThan(12));
    expect(asked.indexOf('shown')).toBeLessThan(asked.indexOf(`hidden-${probeLimits.atOnce}`));
    expect(asked.filter((id) => id === 'hidden-0').length).toBeLessThan(10);
  });

  test('a program inside that does not end is not started again and again: no engine can end it', async () => {
    watch.close();
    watch = new ProbeWatch(() => {}, { execAllowed: true, defaultIntervalMs: 2 });
    answers.set('stuck', async () => ({ ok: false, status: 0, failure: 'No response after 3 s.' }));
    answers.set('ends', async () => ({ ok: true, status: 1 }));
    const program = { exec: { service: 'app', argv: ['cscli', 'lapi', 'status'] } };
    watch.follow([targetOf('stuck', [], program), targetOf('ends', [], program)]);
    await waitFor(() => expect(asked.filter((id) => id === 'ends').length).toBeGreaterThan(10));
    expect(asked.filter((id) => id === 'stuck')).toHaveLength(1);
    expect(watch.probe('local//stuck')?.failure).toBe('No response after 3 s.');
    watch.refresh('local//stuck');
    await waitFor(() => expect(asked.filter((id) => id === 'stuck')).toHaveLength(2));
  });

  test('a setup task is done when the product says so; no answer says neither (R20)', async () => {
    const target = targetOf('vault');
    const done = 'calls.status.json.signupsClosed == true';
    const firstRun = [{ id: 'first-account', title: 'Create the first account, then close signups', detail: '', urgent: false, done }];
    const setupTasks = () => [...watch.setupTasks('local//vault')];
    answers.set('vault', async () => ({ ok: false, failure: 'No response after 3 s.' }));
    watch.follow([{ ...target, entry: { ...target.entry, firstRun } }]);
    await waitFor(() => expect(watch.complete()).toBe(true));
    expect(setupTasks()).toEqual([]);
    for (const signupsClosed of [false, true]) {
      answers.set('vault', async () => ({ json: { signupsClosed } }));
      watch.refresh('local//vault');
      await waitFor(() => expect(setupTasks()).toEqual([['first-account', signupsClosed]]));
    }
    answers.set('vault', async () => ({ ok: false, failure: 'No response after 3 s.' }));
    watch.refresh('local//vault');
    await waitFor(() => expect(watch.probe('local//vault')?.failure).toMatch(/No response/));
    expect(setupTasks()).toEqual([['first-account', true]]);
  });

  test('a call that only a task asks about is made for it', async () => {
    const { entry, ...target } = targetOf('vault');
    const firstRun = [{ id: 'set-up', title: 'Go through the set-up', detail: '', urgent: false, done: 'calls.status.ok' }];
    const { probe: _, ...silent } = entry;
    watch.follow([{ ...target, entry: { ...silent, firstRun } }]);
    await waitFor(() => expect([...watch.setupTasks('local//vault')]).toEqual([['set-up', true]]));
  });

  test('a secret never stands in what a probe says, however it came there (R2)', async () => {
    const secret = 'f00dcafe-0123';
    answers.set('vault', async () => ({ text: `bad key ${secret}` }));
    watch.follow([targetOf('vault', [['API_KEY', secret]])]);
    await waitFor(() => expect(word('vault')).toBe('bad key (secret)'));
    expect(JSON.stringify(watch.probe('local//vault'))).not.toContain(secret);
    expect(watch.probe('local//vault')?.detail).toBe('It says bad key (secret), key (secret).');
  });
});

describe('what one would open the page for', { timeout: 60_000 }, () => {
  const key = 'local//shop';
  const sent: string[] = [];
  const refused = new Set<string>();
  let stored: string | undefined;
  let streams: Partial<CallAnswer>;

  const shop = (): ProbeTarget => {
    const target = targetOf('shop', [], { http: undefined, tcp: { port: 'web' } });
    const inputs = {
      API_KEY: { type: 'secret-string' as const, description: '', required: true, secret: true, file: false, languageModel: false },
    };
    const http = { method: 'GET' as const, port: 'web', path: '/streams', query: {}, headers: {} };
    const calls = {
      ...target.entry.calls,
      streams: { ...target.entry.calls['status'], title: 'Count streams', auth: 'key', inputs, http },
    };
    const probe = {
      ...{ call: 'status', also: [], withCredentials: ['streams'], defaults: true },
      states: [
        { when: 'status == 200 && calls.streams.status >= 300', state: 'worse', severity: 'error' as const, detail: '' },
        { when: 'status == 200', state: 'healthy', severity: 'ok' as const, detail: '' },
      ],
      status: [
        { when: 'true', text: '{count(calls.streams.json, "stream")}{size(calls.streams.json) > 2 ? " of " + calls.streams.text : ""}' },
      ],
    };
    return { ...target, entry: { ...target.entry, calls: calls as typeof target.entry.calls, probe } };
  };
  const status = () => watch.probe(key)?.status;
  const probedAgain = async () => {
    const { atMs } = watch.probe(key) ?? { atMs: 0 };
    await waitFor(() => expect(Date.now()).toBeGreaterThan(atMs));
    watch.refresh(key);
    await waitFor(() => expect(watch.probe(key)?.atMs).toBeGreaterThan(atMs));
  };

  beforeEach(async () => {
    watch.close();
    sent.length = 0;
    refused.clear();
    stored = 'key-one-1';
    streams = { json: [1, 2], text: '[1, 2]' };
    const findCredential = async () => {
      const value = stored;
      if (value === undefined) return undefined;
      return { inputs: { API_KEY: value }, isRefused: refused.has(value), refuse: async () => void refused.add(value) };
    };
    watch = new ProbeWatch(() => {}, { execAllowed: true, defaultIntervalMs: 60_000, findCredential });
    answers.set('shop', async ({ name, inputs }) => {
      if (name !== 'streams') return {};
      sent.push(inputs?.['API_KEY'] ?? '');
      return streams;
    });
    watch.follow([shop()]);
    await waitFor(() => expect(watch.complete()).toBe(true));
  });

  test('a stored credential reads it', () => {
    expect(status()).toEqual({ text: '2 streams' });
    expect(sent).toEqual(['key-one-1']);
  });

  test('a value that cannot be renewed keeps its time, and goes with the credential', async () => {
    const { atMs } = watch.probe(key) ?? {};
    streams = { ok: true, status: 503 };
    await probedAgain();
    expect(status()).toEqual({ text: '2 streams', staleMs: atMs });
    streams = { ok: false, status: 0, failure: 'No response after 3 s.' };
    await probedAgain();
    expect(status()).toEqual({ text: '2 streams', staleMs: atMs });
    expect(word('shop')).toBe('healthy');
    stored = undefined;
    await probedAgain();
    expect(status()).toBeUndefined();
  });

  test('a refused credential is reported and not sent again until it changes; the state stays as it is', async () => {
    streams = { status: 401 };
    await probedAgain();
    await probedAgain();
    expect(sent).toEqual(['key-one-1', 'key-one-1']);
    expect(word('shop')).toBe('healthy');
    expect(status()).toBeUndefined();
    expect(watch.findings(key)).toMatchObject([
      { check: 'login-refused', level: 'notice', remedy: 'Log in again: quarterdeck login shop' },
    ]);
    [stored, streams] = ['key-two-2', { json: [1] }];
    await probedAgain();
    expect(status()).toEqual({ text: '1 stream' });
    expect(watch.findings(key)).toEqual([]);
  });

  test('a redirect to a login page is a refusal', async () => {
    streams = { status: 302 };
    await probedAgain();
    expect(watch.findings(key)).toHaveLength(1);
  });

  test('a component that is not well gets no credential: it may refuse any', async () => {
    sent.length = 0;
    answers.set('shop', async () => ({ status: 503 }));
    await probedAgain();
    expect(sent).toEqual([]);
    expect(watch.findings(key)).toEqual([]);
    expect(status()).toMatchObject({ text: '2 streams' });
  });

  test('a response that repeats the credential does not show it (R2)', async () => {
    streams = { json: [1, 2, 3], text: 'key-one-1' };
    await probedAgain();
    expect(status()).toEqual({ text: '3 streams of (secret)' });
  });
});
