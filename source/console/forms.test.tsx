import { describe, expect, test } from 'vitest';
import type { FlowBody } from '../../test/doubles/console/fake-app.ts';
import { colourTheme, type HarnessOptions, misfits, openHarness, plainTheme } from '../../test/doubles/console/harness.tsx';
import { blockedReview, sampleForm, sampleReview } from '../../test/doubles/console/sample-forms.ts';
import { Fault } from '../faults/fault.ts';
import type { Operator } from '../session/session.ts';

/** Records what the flow received from the form, or how it ended. */
function fixtureOf(body: (operator: Operator, signal: AbortSignal) => Promise<unknown>) {
  const answers: unknown[] = [];
  const restart: FlowBody = async (operator, _input, signal) => {
    answers.push(await body(operator, signal));
    return 'Deployed';
  };
  const open = (options: HarnessOptions = {}) => openHarness({ size: { columns: 80, rows: 24 }, ...options, flows: { restart } });
  return { answers, open };
}
const formFixture = (form = sampleForm) => fixtureOf((operator, signal) => operator.fill(form, signal));
const reviewFixture = (review = sampleReview) => fixtureOf((operator, signal) => operator.review(review, signal));

describe('a form', () => {
  test('begins where something is needed, says what each field means, and goes on when all is right', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r');
    await screen.sees('▸ Mail server', 'required', 'Sends invitations', 'Ctrl-S continue');
    await screen.type('mail.lan');
    await screen.sees('◆ mail.lan_', '1 changed');
    await screen.press('ctrl+s');
    await screen.sees('Deployed');
    expect(answers).toEqual([
      {
        WEB_PORT: '8180',
        WEB_BIND: '127.0.0.1',
        site: 'vault.lan',
        SIGNUPS_ALLOWED: 'true',
        ADMIN_TOKEN: '',
        SMTP_HOST: 'mail.lan',
        SMTP_FROM: '',
        SMTP_PASSWORD: '',
        ENCRYPTION: 'starttls',
        BACKUP_KEY: '',
      },
    ]);
  });

  test.each([
    ['without colours', plainTheme],
    ['with them', colourTheme],
  ])('what stands in an empty field stays in its column while the cursor is on it, %s', async (_, theme) => {
    const screen = await formFixture().open({ theme });
    const column = (label: string, text: string) => screen.row(label).indexOf(text);
    await screen.press('r');
    await screen.sees('▸ Mail server');
    expect(column('▸ Mail server', 'required')).toBe(column('Sender', 'none'));
    await screen.press('down');
    await screen.sees('▸ Sender');
    expect(column('▸ Sender', 'none')).toBe(column('Mail server', 'required'));
    await screen.type('m');
    expect(column('▸ Sender', 'm')).toBe(column('Mail server', 'required'));
  });

  test('Enter goes from field to field, and on the last line goes on', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r');
    await screen.type('mail.lan');
    await screen.press('enter', 'enter', 'enter', 'enter', 'enter');
    await screen.sees('▸ [ Continue ]');
    expect(answers).toEqual([]);
    await screen.press('enter');
    await screen.sees('Deployed');
  });

  test('what is wrong is said while it is typed, and goes when it is right', async () => {
    const screen = await formFixture().open();
    await screen.press('r', 'up', 'up', 'up', 'up', 'up');
    await screen.sees('▸ Port of the page');
    await screen.misses('The port must be a number');
    await screen.type('x');
    await screen.sees('✖ The port must be a number up to 65535.', /Port of the page +✖ 8180x/);
    await screen.press('backspace');
    await screen.misses('The port must be a number');
  });

  test('what is missing is not complained about before it was tried to go on; then the first one is at hand', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r', 'down', 'down');
    await screen.misses('A value is required.');
    await screen.press('ctrl+s');
    await screen.sees('▸ Mail server', 'A value is required.');
    expect(answers).toEqual([]);
  });

  test('what does not go together is said at its field (R9)', async () => {
    const screen = await formFixture().open();
    await screen.press('r', 'up', 'up', 'up', 'up');
    await screen.sees('▸ Who reaches it', '◉ this host   ○ the network   ○ everybody');
    await screen.press('left');
    await screen.sees('◉ everybody', 'Every address that this host has.');
    await screen.press('down', 'ctrl+u');
    await screen.sees('Public access requires a name.');
  });

  test('a choice is turned with the arrows, the letters and Space; j and k go on from it, and type in a text', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r');
    await screen.type('mail.jk');
    await screen.press('down', 'down', 'down');
    await screen.sees('▸ Encryption', /‹ starttls › +1 of 5/);
    await screen.press('right', ' ', 'l');
    await screen.sees(/‹ opportunistic › +4 of 5/);
    await screen.press('h', 'k');
    await screen.sees('▸ Password of the mail account');
    await screen.press('down', 'j');
    await screen.sees('▸ Key of the backups');
    await screen.press('ctrl+s');
    await screen.sees('Deployed');
    expect(answers).toMatchObject([{ SMTP_HOST: 'mail.jk', ENCRYPTION: 'off' }]);
  });

  test('secrets are masked while they are typed and pasted, and do not tell their length afterwards', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r', 'up');
    await screen.sees('generated if empty');
    await screen.type('geheim');
    await screen.sees('••••••_');
    await screen.press('tab');
    await screen.sees(/Admin token +◆ •••••••• {2}/);
    await screen.paste('mail.lan\n');
    await screen.sees('mail.lan_');
    await screen.press('tab', 'tab');
    await screen.sees('unchanged');
    await screen.paste('  s3cret with\x07 spaces \r\n');
    await screen.press('ctrl+s');
    await screen.sees('Deployed');
    expect(answers).toMatchObject([{ ADMIN_TOKEN: 'geheim', SMTP_HOST: 'mail.lan', SMTP_PASSWORD: 's3cret with spaces' }]);
    expect(screen.frame()).not.toContain('s3cret');
  });

  test('Esc leaves at once where nothing was typed, and asks where something was', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r', 'esc');
    await screen.sees('Cancelled. No further changes were made.');
    await screen.press('r', 'x', 'esc');
    await screen.sees('Discard the changes to one field?', 'y yes, leave');
    await screen.press('n');
    await screen.sees('▸ Mail server', 'x_');
    await screen.press('esc', 'y');
    await screen.misses('Mail server');
    expect(answers).toEqual([]);
  });

  test('scrolls where it does not fit, also where panes do not: every field can be reached and read', async () => {
    for (const size of [
      { columns: 80, rows: 24 },
      { columns: 60, rows: 15 },
      { columns: 40, rows: 12 },
    ]) {
      const screen = await formFixture().open({ size: { columns: 80, rows: 24 } });
      await screen.press('r');
      await screen.resize(size);
      await screen.until((frame) => misfits(frame, size).length === 0, 'a frame that fits');
      await screen.press('pageup', 'pageup', 'pageup', 'pageup', 'pageup', 'pageup');
      for (const { label } of sampleForm.fields) {
        await screen.sees(`▸ ${label.slice(0, 12)}`);
        expect(misfits(screen.frame(), size)).toEqual([]);
        await screen.press('tab');
      }
      await screen.sees('▸ [ Continue ]');
    }
  });

  test('what comes from outside cannot draw: labels, values, choices, sentences', async () => {
    const evil = '\x1b[2J\x1b]0;title\x07\u202eevil';
    const field = { required: false, section: evil, help: evil, label: evil, value: evil };
    const fields = [
      { ...field, id: 'a', kind: 'text' as const, check: () => evil },
      { ...field, id: 'b', kind: 'choice' as const, choices: [{ value: evil, label: evil, detail: evil }] },
    ];
    const { open } = fixtureOf(async (operator, signal) => {
      await operator.fill({ id: 'x', title: evil, fields }, signal);
    });
    const screen = await open();
    await screen.press('r');
    await screen.sees('<U+202E>evil');
    await screen.press('tab', 'ctrl+s');
    await screen.sees('✖ <U+202E>evil');
    expect(screen.raw()).not.toMatch(/[\x07\u202e]|\x1b(?!\[[0-9;:]*m)/);
    expect(misfits(screen.frame(), { columns: 80, rows: 24 })).toEqual([]);
  });

  test('survives a terminal that is too small for it, and takes no key there', async () => {
    const { answers, open } = formFixture();
    const screen = await open();
    await screen.press('r');
    await screen.type('mail.lan');
    await screen.resize({ columns: 30, rows: 8 });
    await screen.sees('Enlarge the');
    await screen.press('x', 'ctrl+s');
    await screen.resize({ columns: 80, rows: 24 });
    await screen.sees('mail.lan_');
    expect(answers).toEqual([]);
  });
});

describe('a review', () => {
  test('shows what is wrong on top, each with what helps, then the changes with their marks', async () => {
    const screen = await reviewFixture(blockedReview).open({ size: { columns: 120, rows: 50 } });
    await screen.press('r');
    await screen.sees(
      '2 blocking  2 warnings',
      '✖ blocking  Port 8180 is taken',
      '[1] Use port 8182 instead',
      "- WEB_PORT='8080'",
      "+ WEB_PORT='8180'",
    );
    const frame = screen.frame();
    expect(frame.indexOf('blocking  It needs 2 GB')).toBeLessThan(frame.indexOf('▲ warning'));
    expect(frame.indexOf('▲ warning')).toBeLessThan(frame.indexOf('Services'));
  });

  test.each([
    ['enter', 'apply'],
    ['e', 'edit'],
    ['1', 'remedy:port-taken:web'],
    ['esc', 'cancel'],
    ['ctrl+c', 'cancel'],
  ])('%s answers %s', async (key, answer) => {
    const { answers, open } = reviewFixture();
    const screen = await open();
    await screen.press('r');
    await screen.sees('Deploy password-vault on nas');
    await screen.press(key);
    await screen.sees('Deployed');
    expect(answers).toEqual([answer]);
  });

  test('what it all comes to stands above the keys, wherever one has scrolled to', async () => {
    const screen = await reviewFixture().open({ size: { columns: 80, rows: 24 } });
    await screen.press('r');
    await screen.sees('Writes 2 files, makes 1 secret, fetches 1 image, starts password-vault.');
    await screen.press('G');
    await screen.sees('Writes 2 files, makes 1 secret, fetches 1 image, starts password-vault.');
  });

  test('r takes the remedy of the finding at hand; where there is none it says so', async () => {
    const { answers, open } = reviewFixture();
    const screen = await open();
    await screen.press('r');
    await screen.press('r');
    await screen.sees('This line has no action.');
    await screen.press('tab', 'r');
    await screen.sees('Deployed');
    expect(answers).toEqual(['remedy:port-taken:web']);
  });

  test('what is blocked says why and is not taken; a remedy is', async () => {
    const { answers, open } = reviewFixture(blockedReview);
    const screen = await open();
    await screen.press('r');
    await screen.sees('Apply is blocked: a port is taken', 'Enter Apply (blocked)');
    await screen.press('enter');
    await screen.sees('Blocked: a port is taken');
    expect(answers).toEqual([]);
    await screen.press('1');
    await screen.sees('Deployed');
    expect(answers).toEqual(['remedy:taken']);
  });

  test('sections fold, alone and together', async () => {
    const screen = await reviewFixture().open({ size: { columns: 120, rows: 50 } });
    await screen.press('r');
    await screen.sees('▾ password-vault/compose.yaml  +13');
    await screen.press('tab', 'tab', 'tab', ' ');
    await screen.sees('▸ password-vault/compose.yaml  +13');
    await screen.misses('restart: unless-stopped');
    await screen.press('z');
    await screen.misses("+ WEB_PORT='8180'");
    await screen.press('z');
    await screen.sees('restart: unless-stopped', "+ WEB_PORT='8180'");
  });

  test('long files begin folded, and the end is reached with G', async () => {
    const lines = Array.from({ length: 200 }, (_, index) => ({ mark: 'added' as const, text: `line ${index}` }));
    const screen = await reviewFixture({ ...sampleReview, sections: [{ title: 'big.yaml', lines }, ...sampleReview.sections] }).open();
    await screen.press('r');
    await screen.sees('▸ big.yaml  +200');
    await screen.press('G');
    await screen.sees('the page');
    await screen.press('g', 'tab', 'tab', ' ', 'G', 'pageup', 'pageup', 'pageup');
    await screen.sees('+ line 19');
  });

  test('what comes from outside cannot draw: titles, lines, findings, ways on', async () => {
    const evil = '\x1b[2J\x1b]0;title\x07\u202eevil';
    const review = {
      id: 'x',
      title: evil,
      sections: [{ title: evil, lines: [{ mark: 'added' as const, text: evil }, { text: evil }] }],
      findings: [{ id: 'f', level: 'blocking' as const, message: evil, advice: evil, remedy: evil }],
      actions: [
        { id: 'apply', label: evil, blocked: evil },
        { id: 'edit', label: evil },
      ],
    };
    const screen = await reviewFixture(review).open();
    await screen.press('r');
    await screen.sees('blocking  <U+202E>evil', '+ <U+202E>evil', 'is blocked');
    await screen.press('enter');
    await screen.sees('Blocked');
    expect(screen.raw()).not.toMatch(/[\x07\u202e]|\x1b(?!\[[0-9;:]*m)/);
    expect(misfits(screen.frame(), { columns: 80, rows: 24 })).toEqual([]);
  });

  test('a long line is not cut: it goes on below', async () => {
    const text = `    command: ["serve", "--listen=127.0.0.1:8180", "--data=/data", "--log-level=info", "--public-name=vault.lan", "--last"]`;
    const screen = await reviewFixture({
      ...sampleReview,
      findings: [],
      sections: [{ title: 'x', lines: [{ mark: 'added', text }] }],
    }).open();
    await screen.press('r');
    await screen.sees('+     command: ["serve",', '"--last"]');
    expect(screen.frame().match(/\+ {5}/g)).toHaveLength(1);
  });

  test('Enter that was pressed before it could be seen applies nothing', async () => {
    const { answers, open } = fixtureOf(async (operator, signal) => {
      await operator.fill({ ...sampleForm, fields: sampleForm.fields.slice(0, 1) }, signal);
      return operator.review(sampleReview, signal);
    });
    const screen = await open();
    await screen.press('r');
    await screen.sees('▸ Port of the page');
    await screen.send('\r\r\r\r');
    await screen.sees('▸ ▲ warning');
    expect(answers).toEqual([]);
  });
});

describe('long work', () => {
  const deploy: FlowBody = async (operator, _input, signal) => {
    operator.show({ kind: 'item', id: 'pull', title: 'Pull the images', state: 'running' });
    operator.show({ kind: 'item', id: 'start', title: 'Start the containers', state: 'todo' });
    operator.progress({ id: 'a', label: 'vaultwarden/server:latest', fraction: 0.58 });
    operator.progress({ id: 'b', label: 'postgres:17', fraction: 0.04 });
    operator.progress({ id: 'a', label: 'vaultwarden/server:latest', fraction: 0.6 });
    for (let index = 0; index < 60; index++) operator.progress({ id: 'output', label: `output ${index}\x1b[2J`, output: true });
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    return '';
  };

  test('shows its steps, all that is under way at once in one order, and the last lines of what is said', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 }, flows: { restart: deploy } });
    await screen.press('r');
    await screen.sees(
      'running  Pull the images',
      /vaultwarden\/server:latest +━+─+ +60 %/,
      /postgres:17 +━─+ +4 %/,
      'todo     Start the containers',
      'output 59',
    );
    const frame = screen.frame();
    expect(frame.indexOf('vaultwarden')).toBeLessThan(frame.indexOf('postgres'));
    expect(frame).not.toContain('output 40');
  });

  test('Esc hides it and it goes on; 0 shows it again; Ctrl-C cancels it', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 }, flows: { restart: deploy } });
    await screen.press('r');
    await screen.sees('Pull the images', 'Esc hide');
    await screen.press('esc');
    await screen.misses('Pull the images');
    await screen.sees(/2 in parallel, 32 % .*0 shows it/);
    // Esc in the panes does not cancel a run that is meant to continue.
    await screen.press('esc');
    await screen.press('0');
    await screen.sees('Pull the images');
    await screen.press('ctrl+c');
    await screen.sees('Cancelled.');
    await screen.misses('Pull the images');
  });
});

test('where it fails, its steps and the last lines stay with the reason', async () => {
  const screen = await openHarness({
    size: { columns: 80, rows: 24 },
    flows: {
      restart: async (operator) => {
        operator.show({ kind: 'item', id: 'start', title: 'Start the containers', state: 'blocked' });
        operator.progress({ id: 'output', label: 'cannot open /data: permission denied', output: true });
        throw new Fault('failed.apply', 'vault did not start.', 'Check its log.');
      },
    },
  });
  await screen.press('r');
  await screen.sees('Start the containers: blocked', 'cannot open /data: permission denied', '✖ vault did not start.', 'Check its log.');
});

describe('a secret that is shown', () => {
  const reveal =
    (secondsLeft: number): FlowBody =>
    async (operator) => {
      operator.show({ kind: 'secret', label: 'Admin token', value: 'geheim-123', secondsLeft });
      return 'Revealed';
    };

  test('is seen for its time and can be copied', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 }, flows: { restart: reveal(15) } });
    await screen.press('r');
    await screen.sees('Admin token', 'geheim-123', 'masked again in 15 s', 'y copies it');
    await screen.press('y');
    expect(screen.copied).toEqual(['geheim-123']);
    await screen.press('enter');
    await screen.misses('geheim-123');
  });

  test('is masked again afterwards, gone, and not copied any more', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 }, flows: { restart: reveal(0.05) } });
    await screen.press('r');
    await screen.sees('Masked. A stored value can be shown again', '••••••••');
    await screen.press('y');
    await screen.sees('The secret is masked again and was not copied.');
    expect(screen.copied).toEqual([]);
  });

  test('to be copied alone, is never on the screen', async () => {
    const screen = await openHarness({
      size: { columns: 80, rows: 24 },
      flows: {
        restart: async (operator) => {
          operator.show({ kind: 'secret', label: 'Admin token', value: 'geheim-123', secondsLeft: 15, copyOnly: true });
          return 'Copied';
        },
      },
    });
    await screen.press('r');
    await screen.sees('Admin token was sent to the terminal clipboard');
    expect(screen.copied).toEqual(['geheim-123']);
    expect(screen.frame()).not.toContain('geheim');
  });
});
