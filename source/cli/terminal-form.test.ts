import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { inputStream, OutputStream, type TypingStream } from '../../test/doubles/streams.ts';
import { JsonSink, UnattendedOperator } from '../app/unattended-operator.ts';
import type { Flow } from '../flows/flow.ts';
import type { Form, Review } from '../session/session.ts';
import { Output } from './output.ts';
import { TextSink } from './shown-text.ts';
import { createTerminalOperator, type TerminalOperatorOptions } from './terminal-operator.ts';

let input: TypingStream;
let stdout: OutputStream;
let stderr: OutputStream;
const never = new AbortController().signal;
beforeEach(() => {
  input = inputStream({ terminal: true });
  stdout = new OutputStream({ columns: 80 });
  stderr = new OutputStream({ columns: 80 });
});

function outputWith(env: Record<string, string> = { NO_COLOR: '1', LANG: 'C.UTF-8' }) {
  return new Output({ stdout: stdout as never, stderr: stderr as never, env });
}
function operatorWith(options: Partial<TerminalOperatorOptions> = {}, output = outputWith()) {
  return createTerminalOperator({
    stdin: input as never,
    stdout: stdout as never,
    stderr: stderr as never,
    output,
    sink: new TextSink(output),
    yes: false,
    ...options,
  });
}
/** Types each text when the awaited output appears after the previous step. */
async function types(...steps: [sees: string, keys: string][]) {
  let from = 0;
  for (const [text, keys] of steps) {
    await vi.waitFor(() => expect(stripVTControlCharacters(stderr.text.slice(from))).toContain(text));
    from = stderr.text.length;
    input.write(keys);
  }
}
async function refusal(promise: Promise<unknown>) {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  return thrown as { code: string; message: string; remedy: string };
}

const form: Form = {
  id: 'settings',
  title: 'Settings of mail-server',
  fields: [
    {
      id: 'WEB_PORT',
      label: 'Port of the page',
      kind: 'text',
      value: '8180',
      required: true,
      help: 'Where the page is reached.',
      section: 'Ports',
      check: (value) => (/^\d+$/.test(value) ? undefined : 'A port is a number.'),
    },
    {
      id: 'WEB_BIND',
      label: 'Who reaches it',
      kind: 'choice',
      value: '127.0.0.1',
      required: true,
      section: 'Ports',
      choices: [
        { value: '127.0.0.1', label: 'this host' },
        { value: '0.0.0.0', label: 'everybody', detail: 'R42' },
      ],
    },
    { id: 'DOMAIN', label: 'Domain', kind: 'text', value: '', required: true, section: 'Mail' },
    { id: 'RELAY', label: 'Relay', kind: 'text', value: 'relay.lan', required: false, section: 'Mail' },
    { id: 'ADMIN_TOKEN', label: 'Admin token', kind: 'secret', value: '', required: true, generated: true, section: 'Secrets' },
    { id: 'RELAY_PASSWORD', label: 'Relay password', kind: 'secret', value: '', required: true, section: 'Secrets' },
  ],
  check: ({ DOMAIN, RELAY }) => (DOMAIN === RELAY && DOMAIN !== '' ? { RELAY: 'A relay cannot be the domain itself.' } : {}),
};

const review: Review = {
  id: 'plan',
  title: 'Deploy mail-server on nas',
  sections: [
    {
      title: 'mail-server/.env',
      lines: [
        { mark: 'same', text: "DOMAIN='lan'" },
        { mark: 'removed', text: "WEB_PORT='8180'" },
        { mark: 'added', text: "WEB_PORT='8181'\x1b[2J" },
      ],
    },
    { title: 'Services', lines: [{ text: 'server is created' }] },
    { title: 'Networks', lines: [] },
  ],
  findings: [
    { id: 'disk', level: 'warning', message: 'Only 3 GB are free.', advice: 'Make room first.' },
    {
      id: 'port-taken:web',
      level: 'blocking',
      message: 'Port 8180 is taken by nginx.',
      advice: 'Use another one.',
      remedy: 'Use port 8181',
    },
  ],
  actions: [
    { id: 'apply', label: 'Apply' },
    { id: 'edit', label: 'Change the answers' },
  ],
};
const blocked: Review = {
  ...review,
  actions: [{ id: 'apply', label: 'Apply', blocked: 'port 8180 is taken' }, ...review.actions.slice(1)],
};

describe('a form on a plain terminal', () => {
  test('asks field by field, again until each is right, and secrets are masked', async () => {
    const filling = operatorWith().fill(form, never);
    await types(
      ['Port of the page (WEB_PORT) [8180]: ', 'x\r'],
      ['A port is a number.\nPort of the page (WEB_PORT) [8180]: ', '\r'],
      ['Who reaches it (WEB_BIND) [127.0.0.1]: ', '2\r'],
      ['Domain (DOMAIN): ', '\r'],
      ['A value is required.\nDomain (DOMAIN): ', 'relay.lan\r'],
      ['Relay (RELAY) [relay.lan, - for none]: ', '\r'],
      ['Admin token (ADMIN_TOKEN) [Enter: generate a value]: ', '\r'],
      ['Relay password (RELAY_PASSWORD): ', '\r'],
      ['A value is required.\nRelay password (RELAY_PASSWORD): ', 'geheim\r'],
      ['Relay (RELAY): A relay cannot be the domain itself.', '-\r'],
    );
    expect(await filling).toEqual({
      WEB_PORT: '8180',
      WEB_BIND: '0.0.0.0',
      DOMAIN: 'relay.lan',
      RELAY: '',
      ADMIN_TOKEN: '',
      RELAY_PASSWORD: 'geheim',
    });
    expect(stderr.text).toContain('Where the page is reached.');
    expect(stderr.text).toContain('\nMail\n');
    expect(stderr.text).not.toContain('geheim');
  });

  test('--yes asks only for what is missing', async () => {
    const filling = operatorWith({ yes: true }).fill(form, never);
    await types(['Domain (DOMAIN): ', 'lan\r'], ['Relay password (RELAY_PASSWORD): ', 'geheim\r']);
    expect(await filling).toMatchObject({ WEB_PORT: '8180', DOMAIN: 'lan', ADMIN_TOKEN: '', RELAY_PASSWORD: 'geheim' });
    expect(stderr.text).not.toContain('Port of the page');
  });

  test('the variable is dim after its label, and a field that is called like its variable shows it once', async () => {
    const fields = [
      {
        id: 'SESSION_KEY',
        label: 'Session key',
        kind: 'secret' as const,
        value: '',
        required: true,
        help: 'Signs cookies.',
        section: 'Secrets',
      },
      { id: 'TZ', label: 'TZ', kind: 'text' as const, value: 'UTC', required: true, section: 'Settings' },
    ];
    const filling = operatorWith({}, outputWith({ LANG: 'C.UTF-8', TERM: 'xterm' })).fill({ id: 'x', title: 'X', fields }, never);
    await types(['Signs cookies.\nSession key (SESSION_KEY): ', 'geheim\r'], ['TZ [UTC]: ', '\r']);
    expect(await filling).toEqual({ SESSION_KEY: 'geheim', TZ: 'UTC' });
    expect(stderr.text).toContain('Session key \x1b[90m(SESSION_KEY)\x1b[39m: ');
  });

  test('Enter keeps a choice whose value is also the number of another, and a name chooses as well', async () => {
    const choices = [
      { value: '0', label: 'on' },
      { value: '1', label: 'off' },
    ];
    const field = { id: 'TELEMETRY', label: 'TELEMETRY', kind: 'choice' as const, value: '1', required: true, section: 'A', choices };
    for (const [keys, value] of [
      ['\r', '1'],
      ['2\r', '1'],
      ['on\r', '0'],
    ] as const) {
      const filling = operatorWith().fill({ id: 'x', title: 'X', fields: [field] }, never);
      await types(['TELEMETRY [1]: ', keys]);
      expect(await filling).toEqual({ TELEMETRY: value });
    }
  });

  test('Ctrl-C walks away', async () => {
    const filling = operatorWith().fill(form, never);
    await types(['Port of the page', '\x03']);
    expect(await refusal(filling)).toMatchObject({ code: 'interrupted.cancelled' });
  });
});

describe('a review on a plain terminal', () => {
  test('says what is wrong, blocking first, then the changes with their marks; Enter takes the first way on', async () => {
    const reviewing = operatorWith().review(review, never);
    await types(['Action [1] ', '\r']);
    expect(await reviewing).toBe('apply');
    expect(stderr.text).toContain(
      [
        'Deploy mail-server on nas',
        '',
        'blocking  Port 8180 is taken by nginx.',
        '          Use another one.',
        '',
        'warning   Only 3 GB are free.',
        '          Make room first.',
        '',
        'mail-server/.env',
        "    DOMAIN='lan'",
        "  - WEB_PORT='8180'",
        "  + WEB_PORT='8181'",
        '',
        'Services',
        '    server is created',
        '',
        '   1  Apply',
        '   2  Change the answers',
        '   a  Use port 8181',
        '   c  Cancel',
      ].join('\n'),
    );
    expect(stderr.text).not.toContain('Networks');
  });

  test('after a long diff the findings come again, short, blocking last, and all of it in a sentence, right above the question', async () => {
    const lines = Array.from({ length: 40 }, (_, index) => ({ mark: 'added' as const, text: `line ${index}` }));
    const long = { ...blocked, sections: [{ title: 'compose.yaml', lines }], summary: 'Writes 1 file, starts mail-server.' };
    const reviewing = operatorWith().review(long, never);
    await types(['Action ', 'c\r']);
    await reviewing;
    expect(stderr.text).toContain(
      [
        '  + line 39',
        '',
        'warning   Only 3 GB are free.',
        'blocking  Port 8180 is taken by nginx.',
        '',
        'Writes 1 file, starts mail-server.',
        '',
        '   1  Apply  blocked: port 8180 is taken',
      ].join('\n'),
    );
  });

  test.each([
    ['2', 'edit'],
    ['a', 'remedy:port-taken:web'],
    ['C', 'cancel'],
  ])('%s answers %s', async (key, answer) => {
    const reviewing = operatorWith().review(review, never);
    await types(['Action', `${key}\r`]);
    expect(await reviewing).toBe(answer);
  });

  test('what is blocked says why, is not the default, and --yes does not take it', async () => {
    const reviewing = operatorWith({ yes: true }).review(blocked, never);
    await types(['Action ', '\r'], ['Enter one of 1, 2, a, c.', '1\r'], ['Blocked: port 8180 is taken', 'c\r']);
    expect(await reviewing).toBe('cancel');
    expect(stderr.text).toContain('Apply  blocked: port 8180 is taken');
  });

  test('--yes takes the first way on, and what is done is said all the same', async () => {
    expect(await operatorWith({ yes: true }).review(review, never)).toBe('apply');
    expect(stderr.text).toContain("+ WEB_PORT='8181'");
  });

  test('lines of a diff are coloured', async () => {
    const output = outputWith({ LANG: 'C.UTF-8', TERM: 'xterm' });
    await operatorWith({ yes: true }, output).review(review, never);
    expect(stderr.text).toContain("\x1b[32m+ WEB_PORT='8181'\x1b[39m");
    expect(stderr.text).toContain("\x1b[31m- WEB_PORT='8180'\x1b[39m");
  });
});

describe('with nobody there', () => {
  const unattended = (yes = false, sink = new TextSink(outputWith())) => new UnattendedOperator({ sink, yes });

  test('what stands in the fields counts', async () => {
    const fields = form.fields.filter(({ id }) => id !== 'DOMAIN' && id !== 'RELAY_PASSWORD');
    expect(await unattended().fill({ ...form, fields })).toMatchObject({ WEB_PORT: '8180', ADMIN_TOKEN: '' });
  });

  test('all that is missing or wrong is reported at once; secrets have no --set', async () => {
    const fields = form.fields.map((field) => (field.id === 'WEB_PORT' ? { ...field, value: 'x' } : field));
    const withFlags = (flags: Flow['flags']) =>
      new UnattendedOperator({ sink: new TextSink(outputWith()), yes: false, flags }).fill({ ...form, fields });
    const own = await refusal(withFlags({ DOMAIN: { meaning: 'its name', value: 'NAME' } }));
    expect(own.remedy).toMatch(/^Add --DOMAIN NAME to the command line\. .* --answers FILE with a value for WEB_PORT\./);
    const fault = await refusal(withFlags({ set: { meaning: 'a field', value: 'FIELD=VALUE', repeats: true } }));
    expect(fault).toMatchObject({
      code: 'usage.answer',
      remedy:
        'Add --set WEB_PORT=... --set DOMAIN=... to the command line. Run the command in a terminal to type the secrets: RELAY_PASSWORD.',
    });
    expect(fault.message).toContain('Port of the page (WEB_PORT) "x": A port is a number.');
    expect(fault.message).toContain('Domain (DOMAIN): A value is required.');
  });

  test('a question says which option would answer it', async () => {
    const operator = new UnattendedOperator({
      ...{ sink: new TextSink(outputWith()), yes: false },
      flags: { image: { meaning: 'the image that it runs from', value: 'NAME' } },
    });
    const fault = await refusal(operator.ask({ id: 'image', kind: 'text', label: 'Image' }));
    expect(fault.remedy).toBe('Run the command in a terminal, or pass the answer on the command line: --image NAME.');
    const other = await refusal(operator.ask({ id: 'port', kind: 'text', label: 'Which port?' }));
    expect(other.remedy).toBe('Run the command in a terminal, or pass the answer with --answers FILE: {"port": "..."}.');
    const reveals = { label: 'Share 1', value: 'geheim' };
    const shown = await refusal(operator.ask({ id: 'shown', kind: 'choice', label: 'Write it down', choices: [], reveals }));
    expect(shown.remedy).toBe('Run the command in a terminal.');
  });

  test('without --yes a review is refused, and says in one line what would happen', async () => {
    const fault = await refusal(unattended().review(review));
    expect(fault).toMatchObject({
      code: 'refused.notConfirmed',
      message: 'Cannot confirm without a terminal: Deploy mail-server on nas (mail-server/.env: +1 -1; Services: 1 line)',
    });
    expect(fault.remedy).toContain('--yes');
  });

  test('with --yes the first way on is taken, and what is done is on record', async () => {
    expect(await unattended(true).review(review)).toBe('apply');
    expect(stdout.text).toContain("+ WEB_PORT='8181'");
  });

  test('what is blocked is refused with what blocks it, --yes or not', async () => {
    for (const yes of [true, false]) {
      const fault = await refusal(unattended(yes).review(blocked));
      expect(fault).toMatchObject({
        code: 'refused.preflight',
        message: '"Deploy mail-server on nas" is not possible now. Port 8180 is taken by nginx.',
        remedy: 'Use another one.',
      });
    }
  });
});

describe('a secret that is shown', () => {
  const secret = { kind: 'secret', label: 'Admin token', value: 'geheim', secondsLeft: 15 } as const;

  test('is printed once on a terminal', () => {
    operatorWith().show(secret);
    expect(stdout.text).toBe('Admin token: geheim\n');
  });

  test('goes into a pipe only when that was asked for: then alone', () => {
    stdout.isTTY = undefined;
    expect(() => operatorWith().show(secret)).toThrow('Admin token is a secret, and the output is not a terminal.');
    expect(stdout.text).toBe('');
    operatorWith().show({ ...secret, plain: true });
    expect(stdout.text).toBe('geheim\n');
  });

  test('is never in JSON', () => {
    const sink = new JsonSink();
    expect(() => sink.show(secret)).toThrow('--json prints no secrets');
    sink.show({ ...secret, plain: true });
    expect(JSON.stringify(sink.shown)).not.toContain('geheim');
  });

  test('to be copied alone, goes to the clipboard and not onto the screen', () => {
    operatorWith().show({ ...secret, copyOnly: true });
    expect(stdout.text).toBe(`\x1b]52;c;${Buffer.from('geheim').toString('base64')}\x07`);
    expect(stderr.text).toContain('Admin token was sent to the terminal clipboard');
  });
});

test('steps are printed when they are over; until then they and what goes on at once are one line that changes', () => {
  const operator = operatorWith();
  operator.show({ kind: 'item', id: 'pull', title: 'Pull the images', state: 'todo' });
  operator.show({ kind: 'item', id: 'pull', title: 'Pull the images', state: 'running' });
  operator.progress({ id: 'a', label: 'Fetching a', fraction: 0.6 });
  operator.progress({ id: 'b', label: 'Fetching b', fraction: 0.2 });
  operator.progress({ id: 'a', label: 'Fetched a', done: true });
  operator.progress({ id: 'b', label: 'Fetching b', fraction: 0.4 });
  operator.show({ kind: 'item', id: 'pull', title: 'Pull the images', state: 'ok' });
  expect(stderr.text.split('\r\x1b[K').filter(Boolean)).toEqual([
    'Pull the images',
    ' 60 %  Fetching a',
    ' 40 %  2 in parallel  Fetching b',
    ' 40 %  Fetching b',
  ]);
  expect(stdout.text).toBe('● ok       Pull the images\n');
});
