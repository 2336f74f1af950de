import { describe, expect, it } from 'vitest';
import { checkSettings } from './settings-file.ts';

const phone = 'notifications:\n  phone: {type: ntfy, url: "https://ntfy.sh/stack"}\n';
const problemsOf = (text: string) =>
  checkSettings(text).problems.map(({ line, column, message, remedy }) => [`${line}:${column}`, message, remedy]);

describe('notifications and rules', () => {
  it('reads targets, rules and quiet hours', () => {
    const { settings, problems } = checkSettings(
      `${phone}  mail: {type: smtp, url: "smtp://mail.example.org:25", from: qd@example.org, to: ann@example.org}
quietHours: 22:00-07:30
rules:
  failed: {state: [failed, unhealthy], for: 5m, hosts: local, urgent: true}
  disk: {diskBelow: 10%, send: mail}
  old: {backupOlderThan: 8d, components: [rss-reader]}
  names: {certificateExpiresIn: 14d, addresses: [photos.example.org]}
`,
    );
    expect(problems).toEqual([]);
    const { targets, rules, quietMinutes } = settings.notifications;
    expect(targets['mail']).toMatchObject({ to: ['ann@example.org'] });
    expect(quietMinutes).toEqual({ from: 1320, until: 450 });
    expect(rules).toMatchObject([
      { name: 'failed', condition: { kind: 'state', ids: ['failed', 'unhealthy'] }, forMs: 300_000, hosts: ['local'], urgent: true },
      { name: 'disk', condition: { kind: 'disk', least: { share: 0.1 } }, targets: ['mail'] },
      { name: 'old', condition: { kind: 'backup', ageMs: 8 * 86_400_000 }, components: ['rss-reader'], targets: ['phone', 'mail'] },
      { name: 'names', condition: { kind: 'certificate', leftMs: 14 * 86_400_000 }, addresses: ['photos.example.org'] },
    ]);
  });

  it.each([
    ['notifications:\n  phone: {type: ntfi, url: x}\n', '2:17', '"type" cannot be "ntfi".', 'Did you mean "ntfy"?'],
    [
      'notifications:\n  phone: {url: x}\n',
      '2:10',
      '"type" is missing.',
      'Add it: one of ntfy, gotify, webhook, smtp, desktop, terminal, command.',
    ],
    [`${phone}rules:\n  a: {}\n`, '4:6', /^"a": a rule requires a condition: state, /, 'Change the value.'],
    [
      `${phone}rules:\n  a: {state: failed, log: x}\n`,
      '4:27',
      '"log": a rule can have only one condition, and this one also has state.',
      'Change the value.',
    ],
    [`${phone}rules:\n  a: {state: failed, send: phon}\n`, '4:28', '"send": no target is named "phon".', 'Change the value.'],
    [`${phone}rules:\n  a: {state: failed, hosts: nass}\n`, '4:29', '"hosts": no host is named "nass".', 'Change the value.'],
    [
      `${phone}rules:\n  a: {diskBelow: 10%, components: x}\n`,
      '4:35',
      '"components": not allowed in a rule with diskBelow.',
      'Change the value.',
    ],
    [`${phone}rules:\n  a: {state: failed, for: 5}\n`, '4:27', '"for" must be text, not 5.', 'Quote it.'],
    [`${phone}quietHours: 22:00\n`, '3:13', '"quietHours" is invalid: "22:00".', 'Use two times of day, such as 22:00-07:00.'],
    ['rules:\n  a: {state: failed}\n', '2:6', '"a": a rule requires at least one target in "notifications".', 'Change the value.'],
  ])('points at what is wrong in %j', (text, position, message, remedy) => {
    expect(problemsOf(text)).toEqual([[position, typeof message === 'string' ? message : expect.stringMatching(message), remedy]]);
  });

  it('refuses a password in a URL without repeating it', () => {
    const problems = problemsOf('notifications:\n  hook: {type: webhook, url: "https://me:hunter2@example.org/x"}\n');
    expect(problems).toMatchObject([['2:30', expect.stringContaining('must not contain a user name or password'), expect.any(String)]]);
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });
});
