import { createHmac } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotificationReceiver, openMailServer } from '../../test/doubles/notification-receiver.ts';
import type { NotificationTarget } from '../config/notification-settings.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { type Message, ruleMessage } from './message.ts';
import { send } from './send.ts';

const event = {
  event: 'problem',
  rule: 'failed',
  kind: 'state',
  host: 'nas',
  about: 'größe',
  message: 'It <b>failed</b>.',
  remedy: 'Look.',
} as const;
const message: Message = ruleMessage('failed', true, [{ ...event, sinceMs: 0, atMs: 60_000 }]);

let receiver: NotificationReceiver;
let folder: string;
const host = openLocalHost();
beforeEach(async () => {
  receiver = await NotificationReceiver.open();
  folder = await mkdtemp(join(tmpdir(), 'qd-send-'));
});
afterEach(async () => {
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

const sendTo = (target: NotificationTarget, secret?: string, signal = AbortSignal.timeout(30_000)) =>
  send({ name: 'phone', target, message, secret, host, signal });

async function program(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

describe('send', () => {
  it('ntfy receives JSON at the root of the server, with the token', async () => {
    expect(await sendTo({ type: 'ntfy', url: `${receiver.url}/push/stack`, login: true }, 'tk_1')).toEqual({ state: 'sent' });
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = receiver.received;
    expect([path, headers.authorization]).toEqual(['/push/', 'Bearer tk_1']);
    expect(JSON.parse(body)).toEqual({
      ...{ topic: 'stack', title: 'Problem: größe (failed)', priority: 5 },
      message: 'Problem: größe on nas: It <b>failed</b>. Look.',
    });
  });

  it('Gotify receives the token as a header', async () => {
    expect(await sendTo({ type: 'gotify', url: `${receiver.url}/gotify/` }, 'A1')).toEqual({ state: 'sent' });
    expect(receiver.received).toMatchObject([{ path: '/gotify/message', headers: { 'x-gotify-key': 'A1' } }]);
  });

  it('a webhook receives the events, signed with the secret, which is not sent', async () => {
    expect(await sendTo({ type: 'webhook', url: `${receiver.url}/in?x=1`, signed: true }, 'hush-4711')).toEqual({ state: 'sent' });
    const [{ path, headers, body } = { path: '', headers: {}, body: '' }] = receiver.received;
    expect(path).toBe('/in?x=1');
    expect(headers['x-quarterdeck-signature-256']).toBe(`sha256=${createHmac('sha256', 'hush-4711').update(body).digest('hex')}`);
    expect(JSON.stringify(receiver.received)).not.toContain('hush-4711');
    expect(JSON.parse(body)).toMatchObject({
      ...{ schema: 1, rule: 'failed', urgent: true },
      events: [{ event: 'problem', condition: 'state', since: '1970-01-01T00:00:00.000Z', at: '1970-01-01T00:01:00.000Z' }],
    });
  });

  it('a redirect is not followed, whatever is sent with it', async () => {
    const other = await NotificationReceiver.open();
    receiver.answer = (response) => response.writeHead(307, { location: `${other.url}/stolen` }).end();
    expect(await sendTo({ type: 'gotify', url: receiver.url }, 'A1')).toMatchObject({
      state: 'failed',
      retry: false,
      fault: { code: 'failed.notification' },
    });
    expect(other.received).toEqual([]);
    await other.close();
  });

  it('a token is never sent over plain HTTP to another machine', async () => {
    expect(await sendTo({ type: 'gotify', url: 'http://192.0.2.1' }, 'A1')).toMatchObject({
      state: 'failed',
      retry: false,
      fault: { code: 'refused.clear' },
    });
  });

  it.each([
    [401, {}, { retry: false, fault: { code: 'refused.notificationLogin' } }],
    [404, {}, { retry: false, fault: { code: 'failed.notification' } }],
    [429, { 'retry-after': '120' }, { retry: true, afterMs: 120_000, fault: { code: 'unreachable.notification' } }],
    [429, { 'retry-after': '999999' }, { retry: true, afterMs: 3_600_000 }],
    [503, {}, { retry: true, afterMs: undefined }],
  ])('status %i %j', async (status, headers, expected) => {
    receiver.answer = (response) => response.writeHead(status, headers).end('x');
    expect(await sendTo({ type: 'webhook', url: receiver.url })).toMatchObject({ state: 'failed', ...expected });
  });

  it('a response that never ends is not read to its end', async () => {
    receiver.answer = (response) => {
      const more = () => response.writable && !response.destroyed && response.write('x'.repeat(65_536), more);
      response.writeHead(200);
      more();
    };
    expect(await sendTo({ type: 'webhook', url: receiver.url })).toEqual({ state: 'sent' });
  });

  it('a server that does not listen or not answer is tried again later', async () => {
    const { url } = receiver;
    await receiver.close();
    expect(await sendTo({ type: 'webhook', url })).toMatchObject({ retry: true, fault: { code: 'unreachable.notification' } });
    receiver = await NotificationReceiver.open();
    receiver.answer = () => undefined;
    const ending = new AbortController();
    const sending = sendTo({ type: 'webhook', url: receiver.url }, undefined, ending.signal);
    await expect.poll(() => receiver.received.length).toBe(1);
    ending.abort(new Error('over'));
    await expect(sending).rejects.toThrow('over');
  });

  it('without a stored token nothing is sent, and the remedy names the command', async () => {
    expect(await sendTo({ type: 'gotify', url: receiver.url })).toMatchObject({
      retry: false,
      fault: { remedy: 'Store the token or password: quarterdeck notify login phone' },
    });
    expect(receiver.received).toEqual([]);
  });

  it('a mail server on this machine receives subject and text', async () => {
    const server = await openMailServer();
    const target = { type: 'smtp', url: server.url, from: 'qd@example.org', to: ['ann@example.org'] } as const;
    expect(await sendTo({ ...target, user: 'qd' }, 'pw')).toEqual({ state: 'sent' });
    expect(server.lines).toEqual(
      expect.arrayContaining(['MAIL FROM:<qd@example.org>', 'RCPT TO:<ann@example.org>', 'X-Priority: 1 (Highest)']),
    );
    expect(server.lines.some((line) => line.startsWith('AUTH PLAIN'))).toBe(true);
    await server.close();
  });

  it.each([
    ['AUTH', '535 wrong', { retry: false, fault: { code: 'refused.notificationLogin' } }],
    [
      'RCPT',
      '550 no such user',
      { retry: false, fault: { code: 'failed.notification', message: expect.stringContaining('550 no such user') } },
    ],
    ['RCPT', '451 later', { retry: true, fault: { code: 'unreachable.notification' } }],
  ])('a mail server that answers %s with %s', async (command, answer, expected) => {
    const server = await openMailServer({ [command]: answer });
    const target = { type: 'smtp', url: server.url, from: 'qd@example.org', to: ['ann@example.org'], user: 'qd' } as const;
    expect(await sendTo(target, 'pw')).toMatchObject({ state: 'failed', ...expected });
    await server.close();
  });

  it('a mail server on another machine gets no password without TLS', async () => {
    // The resolver turns this number into 127.0.0.1; nothing in the URL says so.
    const server = await openMailServer();
    const url = server.url.replace('127.0.0.1', '2130706433');
    const target = { type: 'smtp', url, from: 'qd@example.org', to: ['ann@example.org'], user: 'qd' } as const;
    expect(await sendTo(target, 'pw')).toMatchObject({ state: 'failed' });
    expect(server.lines).toContainEqual(expect.stringMatching(/^EHLO/));
    expect(server.lines.filter((line) => line.startsWith('AUTH'))).toEqual([]);
    await server.close();
  });

  it('a command receives the events on its standard input', async () => {
    const run = [await program('note', `cat > ${join(folder, 'seen')}; echo "$1" >> ${join(folder, 'seen')}`), 'an argument'];
    expect(await sendTo({ type: 'command', run })).toEqual({ state: 'sent' });
    const [json = '', argument] = (await readFile(join(folder, 'seen'), 'utf8')).split('\n');
    expect([JSON.parse(json), argument]).toMatchObject([{ schema: 1, events: [{ about: 'größe' }] }, 'an argument']);
    const broken = [await program('broken', 'echo nope >&2; exit 3')];
    expect(await sendTo({ type: 'command', run: broken })).toMatchObject({
      retry: true,
      fault: { message: 'The program of phone exited with code 3: nope.' },
    });
    expect(await sendTo({ type: 'command', run: [join(folder, 'none')] })).toMatchObject({ state: 'failed' });
  });

  it('a desktop notification contains no markup of others', async () => {
    await program('notify-send', `printf '%s\\n' "$@" > ${join(folder, 'seen')}`);
    const before = process.env['PATH'];
    process.env['PATH'] = `${folder}:${before}`;
    expect(await sendTo({ type: 'desktop' })).toEqual({ state: 'sent' });
    process.env['PATH'] = before;
    expect((await readFile(join(folder, 'seen'), 'utf8')).split('\n')).toEqual([
      ...['--app-name=Quarterdeck', '--urgency=critical', '--', 'Problem: größe (failed)'],
      ...['Problem: größe on nas: It &lt;b>failed&lt;/b>. Look.', ''],
    ]);
  });

  it('a process without a terminal rings no bell, and says so', async () => {
    expect(await sendTo({ type: 'terminal' })).toEqual({ state: 'skipped', reason: 'this process has no terminal' });
  });
});
