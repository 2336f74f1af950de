import { describe, expect, test } from 'vitest';
import { sshText } from './destination.ts';
import { brokenLink, silentShell, sshFailure } from './ssh-failures.ts';

const failed = (log: string, how: Partial<Parameters<typeof sshFailure>[2]> = {}) => sshFailure('nas', log, { exitCode: 255, ...how });

describe('why there is no connection', () => {
  test.each([
    ['ssh: connect to host 10.0.0.9 port 22: Connection refused', 'unreachable.host', false],
    ['ssh: connect to host 10.0.0.9 port 22: No route to host', 'unreachable.silent', false],
    ['ssh: Could not resolve hostname nas: Name or service not known', 'unreachable.hostName', false],
    ['op@nas: Permission denied (publickey,password).', 'refused.login', true],
    ['/home/op/.ssh/config: line 3: Bad configuration option: usekeychain', 'config.ssh', true],
    ['kex_exchange_identification: Connection closed by remote host', 'unreachable.link', false],
    ['', 'unreachable.link', false],
  ])('%s', (log, code, needsOperator) => {
    expect(failed(`${log}\r\n`)).toMatchObject({ needsOperator, fault: { code, message: expect.stringContaining('') } });
  });

  test('is told by ssh itself, and not by what a banner or a profile says', () => {
    const before = { stdout: '', stderr: 'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nConnection refused\n' };
    expect(failed('op@nas: Permission denied (publickey).', { before }).fault.code).toBe('refused.login');
    const { fault } = failed('', { exitCode: 1, before: { ...before, stdout: 'Hello.\nThis account is currently not available.\n' } });
    expect(fault).toMatchObject({
      code: 'refused.shell',
      message: 'nas does not start a shell for this user: the login ended with exit code 1: This account is currently not available.',
    });
    // The ssh that connects to a jump host writes there.
    const jump = { stdout: '', stderr: 'ssh: connect to host jump port 22: Connection refused\n' };
    expect(failed('', { before: jump }).fault.code).toBe('unreachable.host');
    expect(failed('Connection closed by UNKNOWN port 65535\r\n', { before: jump }).fault.code).toBe('unreachable.host');
  });

  test('the command to try is that of the destination, not of the name in the configuration', () => {
    const ssh = sshText({ target: 'op@10.0.0.9', port: 2222 });
    expect(failed('op@10.0.0.9: Permission denied (publickey).', { ssh }).fault.remedy).toContain(': ssh -p 2222 op@10.0.0.9');
    const strict = 'No ED25519 host key is known for nas and you have requested strict checking.\r\nHost key verification failed.';
    expect(failed(strict, { ssh }).fault.remedy).toMatch(/: ssh -p 2222 op@10\.0\.0\.9 -o StrictHostKeyChecking=ask$/);
    expect(brokenLink('nas', 'no known words', ssh).fault.remedy).toContain(': ssh -p 2222 op@10.0.0.9');
  });

  test('a login that ends without a word is no shell either', () => {
    expect(failed('', { exitCode: 0 })).toMatchObject({
      needsOperator: true,
      fault: { code: 'refused.shell', message: 'nas does not start a shell for this user: the login ended with exit code 0.' },
    });
  });

  test('shows nothing of the far side that a terminal would act on', () => {
    const evil = 'bye\x1b]0;owned\x07\x1b[2J\u202e\x9b31m';
    const said = [
      failed('', { exitCode: 1, before: { stdout: evil, stderr: '' } }).fault.message,
      failed(`Read from remote host: ${evil}`).fault.message,
      silentShell('nas', { stdout: 'Continue?', stderr: 'banner' }).fault.message,
    ].join(' ');
    expect(said).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
    expect(said).toContain('nas accepted the login, but its shell does not respond; last output: Continue?');
  });

  test('a link that stood is over for what was said last, and is tried again', () => {
    const log = 'channel 3: open failed: connect failed: Connection refused\nTimeout, server nas not responding.\n';
    expect(brokenLink('nas', log)).toMatchObject({ needsOperator: false, fault: { code: 'unreachable.silent' } });
  });
});
