import { expect, test, vi } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { openHarness } from '../../test/doubles/console/harness.tsx';
import { hour, sampleNowMs, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import { blockedReview, sampleForm } from '../../test/doubles/console/sample-forms.ts';

// Simulates a screen reader, as Ink detects it.
vi.mock('ink', async (original) => ({ ...(await original<typeof import('ink')>()), useIsScreenReaderEnabled: () => true }));

const vault = 'nas/password-vault/password-vault';

test('logs are sentences: whose they are, whether they stand still, which line is selected, what is known of it', async () => {
  const screen = await openHarness({ size: { columns: 100, rows: 60 } });
  await screen.press('4');
  await screen.sees('Log of password-vault.');
  screen.log(vault, ['first', { text: 'level=error msg="disk is full"', stream: 'stderr' }, 'last']);
  await screen.sees('following · 3 lines'.replace('·', '-'), 'stderr, error, 14:02:08: ERROR disk is full', '14:02:09: last');
  await screen.press('k', 'm');
  await screen.sees('paused', 'selected, marked, stderr, error, 14:02:08: ERROR disk is full');
  screen.log(vault, ['later']);
  await screen.sees('paused, 1 new line');
  await screen.press('V');
  await screen.sees('Whole line.', '2026-11-20 14:02:08.000Z');
  await screen.press('esc', '/');
  await screen.type('disk');
  await screen.press('enter');
  await screen.sees('Filter disk hides other lines.');
  await screen.press('T');
  await screen.type('never');
  await screen.press('enter');
  await screen.sees('Go to: never', '"never" is not a valid time');
  expect(screen.frame()).not.toMatch(/[│╭┃]/);
});

test('what a key or Enter would act on is told: the selected port, the choice of the palette, a page of the help', async () => {
  const screen = await openHarness({ size: { columns: 100, rows: 60 } });
  await screen.press('3', 'j');
  await screen.sees('Port 2 of 13, selected: 0.0.0.0:53/udp');
  await screen.press('s');
  expect(screen.app.started.map(({ flow, input }) => [flow, input.component?.id])).toEqual([['stop', 'dns-filter']]);
  await screen.press('/');
  await screen.type('8384');
  await screen.press('enter');
  await screen.sees('Port 1 of 1, selected: 127.0.0.1:8384/tcp');
  await screen.press('1', ':');
  await screen.type('resta');
  await screen.sees('Find: resta', /1 of \d+: Restart a component: password-vault/);
  expect(screen.frame()).not.toContain('..');
  await screen.press('esc', '?', 'j');
  await screen.sees(/Help, 2 to 11 of \d+\./);
});

test('a form is told field by field, a review line by line, and a secret not at all', async () => {
  const screen = await openHarness({
    size: { columns: 100, rows: 60 },
    flows: {
      restart: async (operator, _input, signal) => {
        await operator.fill(sampleForm, signal);
        await operator.review(blockedReview, signal);
        operator.show({ kind: 'secret', label: 'Admin token', value: 'geheim-123', secondsLeft: 15 });
        return 'Done';
      },
    },
  });
  await screen.press('r');
  await screen.sees('Form: Deploy password-vault on nas. Nothing changed.', 'Field 6 of 10, Mail.', 'Mail server: required.');
  await screen.press('up');
  await screen.type('geheim');
  await screen.sees('Admin token: secret, 6 characters.', '1 changed');
  await screen.press('up');
  await screen.sees('New accounts: anybody can sign up, 1 of 2.');
  await screen.press('ctrl+s');
  await screen.sees('x A value is required.');
  await screen.type('mail.lan');
  await screen.press('ctrl+s');
  await screen.sees('Review: Deploy password-vault on nas.', 'Apply is blocked', 'Line 1 of', 'x blocking  Port 8180 is taken');
  await screen.press('tab');
  await screen.sees('Line 4 of');
  await screen.press('esc');
  await screen.sees('Admin token', 'y copies it');
  expect(screen.frame()).not.toContain('geheim');
  await screen.press('y');
  expect(screen.copied).toEqual(['geheim-123']);
});

test('decisions and alerts are told one at a time, with what is known of each', async () => {
  const decision = {
    id: 1,
    scope: 'Ip',
    value: '203.0.113.7',
    type: 'ban',
    origin: 'crowdsec',
    reason: 'crowdsecurity/ssh-bf',
    endsMs: sampleNowMs + 3 * hour,
    simulated: false,
    country: 'NL',
    network: '',
    alert: 1,
  };
  const sample = sampleSnapshot();
  const [port] = sample.ports;
  const app = createFakeApp({ snapshot: { ...sample, ports: port ? [{ ...port, owner: 'crowdsec' }] : [] } });
  const crowdsec = async () => ({ decisions: async () => [decision], alerts: async () => [] });
  const screen = await openHarness({ size: { columns: 100, rows: 60 }, app, crowdsec });
  await screen.press('I');
  await screen.sees(
    'Decisions 1, without shared lists, newest first.',
    '1 of 1: 203.0.113.7, ban, crowdsecurity/ssh-bf, NL, from crowdsec, 3h left.',
  );
  await screen.press('v');
  await screen.sees('Alerts 0', 'No alerts.');
});
