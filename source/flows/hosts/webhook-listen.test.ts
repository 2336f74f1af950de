import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { tracesBelow, tracesIn } from '../../../test/doubles/secret-traces.ts';
import type { FlowInput, Lasting } from '../flow.ts';

const webhookListen = flowOf('webhook-listen');

const secret = 'shared-by-both-4711';
const signed = (body: string, key = secret) => ({
  'X-GitHub-Event': 'push',
  'X-Hub-Signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
});

let fixture: FlowFixture;
const open: Lasting[] = [];
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(async () => {
  for (const lasting of open.splice(0)) lasting.close();
  await fixture.close();
});

async function listen(options: FlowInput['options'] = {}, stdin: string | undefined = undefined) {
  fixture.operator = new OperatorDouble();
  fixture.operator.answers = { secret: [secret] };
  const outcome = await fixture.run(webhookListen, undefined, { options, ...(stdin !== undefined && { stdin: Buffer.from(stdin) }) });
  const reported: { state: string; message: string; data: unknown }[] = [];
  if (outcome.lasts) {
    open.push(outcome.lasts);
    outcome.lasts.follow((state, message, data) => reported.push({ state, message, data }));
  }
  const { url } = (outcome.data ?? { url: '' }) as { url: string };
  const send = (body: string, headers: Record<string, string> = signed(body), path = '') =>
    fetch(`${url}${path}`, { method: 'POST', headers, body });
  return { outcome, reported, url, send };
}

describe('what arrives is shown as it arrives', () => {
  test('who sent it, what kind it is, and its body a member a line (R58)', async () => {
    const { outcome, reported, url, send } = await listen();
    expect(outcome.message).toBe(
      `Listening on ${url}. Most containers cannot reach this address; pass another address of this machine with --address.`,
    );
    expect((await send('{"ref":"main","commits":[]}', undefined, 'hooks/git?x=1')).status).toBe(200);
    await vi.waitFor(() => expect(reported).toHaveLength(1));
    expect(reported[0]?.message.split('\n')).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z from 127\.0\.0\.1 to \/hooks\/git\?x=1, 27 bytes, x-github-event: push$/),
      '  {',
      '    "ref": "main",',
      '    "commits": []',
      '  }',
    ]);
    expect(reported[0]).toMatchObject({
      state: 'delivered',
      data: {
        from: '127.0.0.1',
        path: '/hooks/git?x=1',
        headers: { 'x-github-event': 'push' },
        sizeBytes: 27,
        json: { ref: 'main', commits: [] },
      },
    });
  });

  test('hostile, huge, nested and broken bodies are cleaned and cut (R58)', async () => {
    const { reported, send } = await listen();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const bodies = [
      '\u001b]0;owned\u0007\u001b[2Jtext\u202e',
      'x\n'.repeat(100_000),
      deep,
      '{"a":',
      '',
      JSON.stringify({ 'k\u001b[31m': 'v\u009b2J' }),
      JSON.stringify(['x'.repeat(16_379)]),
    ];
    for (const body of bodies) expect((await send(body)).status).toBe(200);
    await vi.waitFor(() => expect(reported).toHaveLength(bodies.length));
    for (const { message, data } of reported) {
      expect(message).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
      expect(message.split('\n').length).toBeLessThanOrEqual(62);
      expect(JSON.stringify(data).length).toBeLessThan(200_000);
    }
    expect(reported[0]?.message.split('\n').slice(1)).toEqual(['  text<U+202E>']);
    expect(reported[1]?.message).toMatch(/\n {2}\.\.\. truncated; use --json to see more$/);
    expect(reported[4]?.message).not.toContain('\n');
    // Shorter than the limit as it was sent, longer with one member per line.
    expect(reported[6]?.message).toMatch(/truncated; use --json to see more$/);
  });

  test('the same signed body again is shown as a repeat, without its body', async () => {
    const { reported, send } = await listen();
    for (let time = 0; time < 2; time++) expect((await send('{"ref":"main"}', undefined, 'hook')).status).toBe(200);
    await vi.waitFor(() => expect(reported.map(({ state }) => state)).toEqual(['delivered', 'repeated']));
    const at = (reported[0]?.data as { at: string } | undefined)?.at;
    expect(reported[1]?.message.split('\n')).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z from 127\.0\.0\.1 to \/hook, 14 bytes, x-github-event: push$/),
      `  repeat of the delivery received at ${at}; not processed again`,
    ]);
    expect(reported[1]?.data).toEqual({
      at: expect.any(String),
      firstAt: at,
      from: '127.0.0.1',
      path: '/hook',
      headers: { 'x-github-event': 'push' },
      sizeBytes: 14,
    });
  });

  test('who does not know the secret is told of once, and the body is not (R46)', async () => {
    const { reported, send } = await listen();
    for (let time = 0; time < 3; time++) expect((await send('forged', signed('forged', 'guessed'))).status).toBe(401);
    expect((await send('real')).status).toBe(200);
    await vi.waitFor(() => expect(reported).toHaveLength(2));
    expect(reported[0]).toEqual({
      state: 'refused',
      message: 'Rejected a request from 127.0.0.1 to /: not signed with this secret (HMAC-SHA256 of the body, in hex).',
      data: undefined,
    });
    expect(JSON.stringify(reported)).not.toContain('forged');
  });
});

test('the secret is asked for masked or piped in, and is nowhere afterwards', async () => {
  for (const stdin of [undefined, `${secret}\n`]) {
    const { send, reported, outcome } = await listen({}, stdin);
    expect((await send('body')).status).toBe(200);
    await vi.waitFor(() => expect(reported).toHaveLength(1));
    expect(fixture.operator.asked.map(({ kind }) => kind)).toEqual(stdin === undefined ? ['secret'] : []);
    const heard = JSON.stringify([reported, outcome.message, outcome.data, fixture.operator.shown, await fixture.audited()]);
    expect(tracesIn('what was told', heard, [secret])).toEqual([]);
    expect(await tracesBelow([fixture.folder], [secret])).toEqual([]);
  }
});

test('what cannot be is refused before anything listens', async () => {
  await expect(listen({ address: 'example.org' })).rejects.toThrow('--address must be an IP address of this machine, not "example.org".');
  await expect(listen({ address: '10.0.0.0/8' })).rejects.toThrow('must be');
  await expect(listen({ port: '70000' })).rejects.toThrow('--port must be a port between 1 and 65535, not "70000".');
  await expect(listen({}, '\n')).rejects.toThrow('No secret on standard input');
});

test('a dry run listens on nothing', async () => {
  fixture.policy = { ...fixture.policy, dryRun: true };
  const { outcome } = await listen();
  expect(outcome).toEqual({ message: 'Dry run: not listening.' });
});
