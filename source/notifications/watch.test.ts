import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { componentView, engineView, FleetDouble, inState } from '../../test/doubles/fleet-double.ts';
import { NotificationReceiver } from '../../test/doubles/notification-receiver.ts';
import type { NotificationRule } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import type { Logs } from '../logs/store.ts';
import { NotificationWatch, type Report, type WatchParts } from './watch.ts';

const rule: NotificationRule = {
  ...{ name: 'failed', condition: { kind: 'state', ids: ['failed'] }, forMs: 0, components: undefined, hosts: undefined },
  ...{ addresses: [], targets: ['hook'], urgent: false },
};

let folder: string;
let receiver: NotificationReceiver;
let fleet: FleetDouble;
let reports: Report[];
let parts: WatchParts;
const ending = new AbortController();
const host = openLocalHost();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-watch-'));
  receiver = await NotificationReceiver.open();
  fleet = new FleetDouble();
  reports = [];
  parts = {
    settings: { targets: { hook: { type: 'webhook', url: receiver.url } }, rules: [rule], quietMinutes: undefined },
    ...{ fleet, logs: {} as Logs, local: host, isWhole: true, readable: () => [], file: join(folder, 'notifications.json') },
    secretOf: async () => undefined,
  };
});
afterEach(async () => {
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

const show = (state: 'failed' | 'healthy', more: Partial<FleetDouble['current']> = {}) => {
  const mail = componentView('mail', { ...inState(state, state === 'failed' ? 'error' : 'ok'), detail: 'exit code 1' });
  fleet.current = { ...fleet.current, revision: fleet.current.revision + 1, components: [mail], engines: [engineView()], ...more };
};
const once = async () => (await NotificationWatch.open(parts, (report) => reports.push(report))).once(ending.signal);
const sent = () => receiver.received.map(({ body }) => (JSON.parse(body) as { text: string }).text);
const stored = async () => JSON.parse(await readFile(parts.file, 'utf8')) as { memory: object; queue: unknown[]; failures: object };
/** The limit of one message per minute is proved with the evaluation. */
const forgetLastMessage = async () => {
  const state = await stored();
  await writeFile(parts.file, JSON.stringify({ ...state, memory: { ...state.memory, sentMs: {} } }));
};

describe('the watch', () => {
  it('reports a problem once and its end, over several processes, in a file of its owner', async () => {
    show('failed');
    await once();
    await once();
    expect(sent()).toEqual(['Problem: mail on local: failed. exit code 1. Show its log: quarterdeck logs mail']);
    expect((await stat(parts.file)).mode & 0o777).toBe(0o600);
    await forgetLastMessage();
    show('failed', { engines: [engineView('local', { engine: { ...engineView().engine, reachable: false } })] });
    await once();
    expect(sent()).toHaveLength(1);
    show('healthy');
    await once();
    expect(sent()[1]).toBe('Resolved: mail on local: failed. exit code 1.');
    expect(reports.filter(({ kind }) => kind === 'event').map(({ message }) => message.split(':', 2).join(':'))).toEqual([
      'failed: Problem',
      'failed: Resolved',
    ]);
  });

  it('keeps a message that could not be delivered, and sends it later', async () => {
    receiver.answer = (response) => response.writeHead(503).end();
    show('failed');
    await once();
    expect(reports.at(-1)).toMatchObject({
      kind: 'delivery',
      state: 'failed',
      message: expect.stringMatching(/^Not sent to hook yet: .*503\. /),
    });
    const { queue, failures } = await stored();
    expect([queue.length, Object.keys(failures)]).toEqual([1, ['hook']]);
    receiver.answer = (response) => response.end();
    const state = await readFile(parts.file, 'utf8');
    await writeFile(parts.file, state.replace(/"nextMs":\d+/, '"nextMs":0'));
    await once();
    expect(await stored()).toMatchObject({ queue: [], failures: {} });
    expect(reports.at(-1)).toMatchObject({ kind: 'delivery', state: 'sent' });
  });

  it('secrets that cannot be read are a failure of their target alone, and are tried again', async () => {
    const hush = { type: 'gotify', url: receiver.url } as const;
    parts = {
      ...parts,
      settings: { ...parts.settings, targets: { ...parts.settings.targets, hush }, rules: [{ ...rule, targets: ['hush', 'hook'] }] },
      secretOf: () => Promise.reject(new Fault('refused.sealed', 'The secrets are sealed.', 'Unseal them.')),
    };
    show('failed');
    await once();
    expect(sent()).toHaveLength(1);
    expect(await stored()).toMatchObject({
      queue: [{ target: 'hush', attempts: 1 }],
      failures: { hush: { message: 'The secrets are sealed.' } },
    });
  });

  it.each(['{"memory":', '{"schema":1}', '[]', ''])('moves a damaged file aside and starts again: %j', async (text) => {
    await writeFile(parts.file, text);
    show('failed');
    await once();
    expect(reports[0]).toMatchObject({ kind: 'note', message: expect.stringContaining(`${parts.file}.damaged`) });
    expect(await readFile(`${parts.file}.damaged`, 'utf8')).toBe(text);
    expect(sent()).toHaveLength(1);
  });

  it('of two processes one sends; the other takes over when it ends, and repeats nothing', async () => {
    show('failed');
    const [first, second] = [new AbortController(), new AbortController()];
    const notes: string[][] = [[], []];
    const start = async (at: number, { signal }: AbortController) =>
      (await NotificationWatch.open(parts, (report) => void (report.kind !== 'delivery' && notes[at]?.push(report.message)))).run(signal);
    const running = start(0, first).catch((thrown: unknown) => thrown);
    await expect.poll(() => sent().length).toBe(1);
    const waiting = start(1, second).catch((thrown: unknown) => thrown);
    await expect.poll(() => notes[1]).toEqual(['Another Quarterdeck process is evaluating the rules. Waiting for it to end.']);
    expect(await once()).toBe(false);
    first.abort(new Error('over'));
    expect(await running).toMatchObject({ message: 'over' });
    await expect.poll(() => notes[1]?.at(-1), { timeout: 10_000 }).toBe('Evaluating the rules.');
    second.abort(new Error('over'));
    await waiting;
    expect(sent()).toHaveLength(1);
    expect(await once()).toBe(true);
  });

  it('a rule with a filter that cannot be used is refused with its name', async () => {
    const log = { ...rule, name: 'panic', condition: { kind: 'log', filter: '/(/' } } as const;
    parts = { ...parts, settings: { ...parts.settings, rules: [log] } };
    await expect(once()).rejects.toMatchObject({ code: 'config.invalid', message: expect.stringContaining('panic') });
  });

  it('matching lines are reported with their component, cleaned', async () => {
    const log = { ...rule, name: 'panic', condition: { kind: 'log', filter: '/panic: \\d+/' } } as const;
    let opened = 0;
    const logs = {
      async *stream({ componentKeys: [component = ''] }: { componentKeys: readonly string[] }) {
        opened += 1;
        const lines = [{ text: 'ready' }, { text: '\u001b[31mpanic: 7' }];
        yield { origin: { component, container: 'c', service: 's' }, lines };
      },
    } as unknown as Logs;
    parts = { ...parts, logs, settings: { ...parts.settings, rules: [log] } };
    show('healthy');
    const control = new AbortController();
    const running = (await NotificationWatch.open(parts, () => undefined)).run(control.signal).catch(() => undefined);
    await expect.poll(() => opened).toBe(1);
    show('healthy');
    await expect.poll(() => sent(), { timeout: 5_000 }).toEqual(['Problem: mail on local: panic: 7. Show its log: quarterdeck logs mail']);
    control.abort();
    await running;
  });

  it('free space and certificates are read, and what cannot be read is no recovery', async () => {
    const disk = { ...rule, name: 'disk', condition: { kind: 'disk', least: { share: 1.1 } } } as const;
    const certificate = { ...rule, name: 'names', condition: { kind: 'certificate', leftMs: 1 }, addresses: ['127.0.0.1:1'] } as const;
    parts = {
      ...parts,
      settings: { ...parts.settings, rules: [disk, certificate] },
      readable: () => [{ name: 'local', host, folders: async () => [folder, tmpdir()] }],
    };
    show('healthy');
    await once();
    expect(sent()).toEqual([
      expect.stringMatching(/^Problem: local: [\d.]+ \w+ of [\d.]+ \w+ free on \/.*\. Show disk usage: quarterdeck df$/),
    ]);
    await forgetLastMessage();
    parts = { ...parts, readable: () => [{ name: 'local', host, folders: () => Promise.reject(new Error('no folder')) }] };
    await once();
    expect(sent()).toHaveLength(1);
  });
});
