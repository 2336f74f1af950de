import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import type { NotificationTarget } from '../../config/notification-settings.ts';
import type { NotificationRule } from '../../config/settings.ts';
import { Fault } from '../../faults/fault.ts';
import type { Host } from '../../hosts/host.ts';
import type { Notifications } from '../../notifications/notifications.ts';
import type { SendResult } from '../../notifications/send.ts';

const rule: NotificationRule = {
  ...{ name: 'failed', condition: { kind: 'state', ids: ['failed'] }, forMs: 0, components: undefined, hosts: undefined },
  ...{ addresses: [], targets: ['phone'], urgent: false },
};

let fixture: FlowFixture;
let targets: Record<string, NotificationTarget>;
let results: Record<string, SendResult>;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  targets = { phone: { type: 'gotify', url: 'https://push.example.org' }, bell: { type: 'terminal' } };
  results = {};
  fixture.notifications = {
    settings: async () => ({ targets, rules: [rule], quietMinutes: undefined }),
    send: async (target) => results[target] ?? { state: 'sent' },
    failures: async () => ({ phone: { atMs: 0, message: 'The server does not respond.', remedy: 'Check it.', dropped: 2 } }),
    run: () => Promise.reject(new Fault('config.unwritable', 'The disk is full.', 'Free some space.')),
  } satisfies Omit<Notifications, 'once'> as unknown as Notifications;
});
afterEach(() => fixture.close());

describe('notify', () => {
  it('reports the result of each target, and fails if one fails', async () => {
    const fault = new Fault('unreachable.notification', 'No answer.', 'Wait.');
    results = { phone: { state: 'failed', fault, retry: true }, bell: { state: 'skipped', reason: 'this process has no terminal' } };
    const outcome = await fixture.run('notify-test', undefined);
    expect(outcome).toMatchObject({ message: 'Sent 0 of 2 test messages, 1 failed, 1 skipped.', exitCode: 1 });
    expect(fixture.operator.texts()).toEqual(['Not sent to phone: No answer. Wait.', 'Not sent to bell: this process has no terminal.']);
    expect(await fixture.run('notify-test', undefined, { words: ['phone'] })).toMatchObject({ data: { results: [{ target: 'phone' }] } });
  });

  it('names the target that was meant, and the settings if there is none', async () => {
    await expect(fixture.run('notify-test', undefined, { words: ['phon'] })).rejects.toMatchObject({
      code: 'usage.notification',
      remedy: 'Did you mean "phone"?',
    });
    targets = {};
    await expect(fixture.run('notify-test', undefined)).rejects.toMatchObject({ code: 'usage.notification' });
  });

  it('stores a token for a target that uses one', async () => {
    fixture.operator.answers['secret'] = ['A1-token'];
    await fixture.run('notify-login', undefined, { words: ['phone'] });
    expect(await fixture.vault.read('local/notifications/phone', AbortSignal.timeout(1_000))).toBe('A1-token');
    await expect(fixture.run('notify-login', undefined, { words: ['bell'] })).rejects.toMatchObject({ code: 'usage.notification' });
    await expect(fixture.run('notify-login', undefined, { words: ['phone', 'A1-token'] })).rejects.toMatchObject({ code: 'usage.words' });
  });
});

it('doctor lists targets that fail', async () => {
  const { data } = await fixture.run('doctor', undefined);
  expect(data).toMatchObject({
    findings: [{ level: 'warning', about: 'notifications/phone', message: 'The server does not respond. 2 messages were dropped.' }],
  });
});

it('a watch that ends by itself says why', async () => {
  const { lasts } = await fixture.run('watch', undefined);
  await expect.poll(() => lasts?.closed.aborted).toBe(true);
  expect(lasts?.failure?.()).toMatchObject({ code: 'config.unwritable' });
});

describe('watch --install', () => {
  /** A machine whose unit files are in memory. */
  const machine = (hasSystemd = true) => {
    const files = new Map<string, string>();
    const ran: string[] = [];
    const host = {
      kind: 'local',
      facts: async () => ({ uid: 1000, home: '/home/ann' }),
      files: {
        read: async (path: string) => (files.has(path) ? Buffer.from(files.get(path) ?? '') : undefined),
        makeFolder: async () => undefined,
        write: async (_: unknown, path: string, content: Uint8Array) => void files.set(path, Buffer.from(content).toString()),
        remove: async (_: unknown, path: string) => void files.delete(path),
      },
      exec: async () => ({ exitCode: hasSystemd ? 0 : 1 }),
      run: async (_: unknown, argv: readonly string[]) => {
        ran.push(argv.join(' '));
        return { exitCode: 0, stderr: Buffer.from('') };
      },
      close: async () => undefined,
    } as unknown as Host;
    return { host, files, ran };
  };
  const unit = '/home/ann/.config/systemd/user/quarterdeck-watch.service';

  it('writes and starts a unit of the user, and --uninstall removes it', async () => {
    const { host, files, ran } = machine();
    fixture.host = host;
    const { message } = await fixture.run('watch', undefined, { options: { install: true } });
    expect(message).toContain('loginctl enable-linger');
    expect(files.get(unit)).toMatch(/\nExecStart=quarterdeck watch\nRestart=on-failure\n[\s\S]*WantedBy=default\.target\n$/);
    expect(ran).toEqual(['systemctl --user daemon-reload', 'systemctl --user enable --now quarterdeck-watch.service']);
    await fixture.run('watch', undefined, { options: { uninstall: true } });
    expect([...files]).toEqual([]);
    expect(ran.slice(2)).toEqual(['systemctl --user disable --now quarterdeck-watch.service', 'systemctl --user daemon-reload']);
    expect((await fixture.audited()).filter(({ phase }) => phase === 'after').map(({ act, outcome }) => [act, outcome])).toEqual([
      ['install', 'done'],
      ['uninstall', 'done'],
    ]);
  });

  it('changes nothing in a dry run, read-only, without systemd, or over a file of others', async () => {
    const { host, files, ran } = machine();
    fixture.host = host;
    fixture.policy = { ...fixture.policy, dryRun: true };
    expect(await fixture.run('watch', undefined, { options: { install: true } })).toEqual({ message: 'Dry run: nothing was written.' });
    fixture.policy = { ...fixture.policy, dryRun: false, readOnly: true };
    const install = () => fixture.run('watch', undefined, { options: { install: true } });
    await expect(install()).rejects.toMatchObject({ code: 'refused.readOnly' });
    fixture.policy = { ...fixture.policy, readOnly: false };
    files.set(unit, '[Unit]\n');
    await expect(install()).rejects.toMatchObject({ code: 'refused.unit' });
    expect([[...files.values()], ran]).toEqual([['[Unit]\n'], []]);
    fixture.host = machine(false).host;
    await expect(install()).rejects.toMatchObject({ code: 'refused.schedule' });
    await expect(fixture.run('watch', undefined, { options: { install: true, once: true } })).rejects.toMatchObject({
      code: 'usage.watch',
    });
  });
});
