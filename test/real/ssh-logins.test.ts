import { createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Terminal } from '../pty/terminal.ts';
import { requiredInCi } from '../required.ts';
import { launcher } from './operator.ts';
import { practiceEngine, type RemoteDesk, sitDown } from './remote-desk.ts';
import { runOrThrow } from './scripts.ts';
import { type ClientHost, describeSshd, type Sshd, type SshdOptions, startSshd } from './sshd.ts';

// Every way to log in that asks something, on the terminal and in the console, each on an sshd that really wants it.

const seenMs = 40_000;
const byPassword = ['PubkeyAuthentication no', 'PreferredAuthentications password'];
const byQuestions = ['PubkeyAuthentication no', 'PreferredAuthentications keyboard-interactive'];

/** A prompt, and what is typed at it. */
type Step = readonly [sees: string | RegExp, types: string];

let practice: Awaited<ReturnType<typeof practiceEngine>>;
beforeAll(async () => {
  practice = await practiceEngine();
});
afterAll(async () => await practice?.[Symbol.asyncDispose]());

async function server(options: SshdOptions): Promise<Sshd> {
  const sshd = await startSshd({ ...options, env: practice.env });
  onTestFinished(async () => await sshd.leave());
  return sshd;
}

/** `hosts check` in a terminal. A prompt counts once it is the last thing on the screen. */
async function onTerminal(
  desk: RemoteDesk,
  steps: readonly Step[],
  args: readonly string[] = ['hosts', 'check', 'nas'],
): Promise<Terminal> {
  const terminal = desk.open(args);
  onTestFinished(async () => await terminal.close());
  for (const [sees, types] of steps) {
    const shape = typeof sees === 'string' ? new RegExp(`${sees.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}:? *$`) : sees;
    await terminal.sees((shown) => shape.test(shown.text().trimEnd()), seenMs);
    terminal.type(types);
  }
  return terminal;
}

async function inConsole(desk: RemoteDesk, steps: readonly Step[]): Promise<Terminal> {
  const terminal = desk.open();
  onTestFinished(async () => await terminal.close());
  for (const [sees, types] of steps) {
    await terminal.sees(sees, seenMs);
    terminal.type(types.replace(/\r$/, ''));
    if (types.endsWith('\r')) terminal.press('enter');
    // Gone before the next one is looked for, which may be worded alike.
    await terminal.seesNot(sees, seenMs);
  }
  return terminal;
}

const leave = async (terminal: Terminal) => {
  terminal.press('q');
  expect((await terminal.exit(seenMs)).code).toBe(0);
};

/** Nothing of what was typed is on a screen, in own files, or in what sshd or ssh wrote. */
async function keepsSecret(secret: string, desk: RemoteDesk, terminals: readonly Terminal[], sshd: Sshd): Promise<void> {
  for (const terminal of terminals) expect(terminal.raw).not.toContain(secret);
  expect(await desk.ownFiles()).not.toContain(secret);
  expect(sshd.log).not.toContain(secret);
}

const failures = (sshd: Sshd) => sshd.log.split('\n').filter((line) => /^Failed (?:password|keyboard)/.test(line)).length;

describeSshd('a password', () => {
  const password = `pw-${randomBytes(6).toString('hex')}`;

  async function desk(pam?: readonly string[]): Promise<{ sshd: Sshd; desk: RemoteDesk }> {
    const sshd = await server({ config: ['PasswordAuthentication yes', 'MaxAuthTries 10'], ...(pam && { pam }) });
    const { name } = await sshd.user({ password });
    return { sshd, desk: await sitDown(sshd, { nas: { user: name, config: byPassword } }) };
  }

  it('that is right lets in, on the terminal and in the console', async () => {
    const { sshd, desk: at } = await desk();
    const asked = await onTerminal(at, [["'s password", `${password}\r`]]);
    await asked.sees('Connect to nas', seenMs);
    expect((await asked.exit(seenMs)).code).toBe(0);
    expect(asked.text()).not.toContain('not accepted');
    const shown = await inConsole(at, [["'s password", `${password}\r`]]);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    await keepsSecret(password, at, [asked, shown], sshd);
    expect(failures(sshd)).toBe(0);
  });

  it('that is wrong is asked again, and says so', async () => {
    const { sshd, desk: at } = await desk();
    const asked = await onTerminal(at, [
      ["'s password", 'wrong\r'],
      [/The answer was not accepted\.\s+.*'s password:$/, `${password}\r`],
    ]);
    expect((await asked.exit(seenMs)).code).toBe(0);
    const shown = await inConsole(at, [
      [/Connect to nas[\s\S]*'s password/, 'wrong\r'],
      ['The answer was not accepted.', `${password}\r`],
    ]);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    expect(failures(sshd)).toBe(2);
  });

  it('that is wrong three times is refused in a sentence, and tried again only when it is asked for', async () => {
    const { sshd, desk: at } = await desk();
    const wrong: Step[] = [
      ["'s password", 'one\r'],
      [/^(?:(?!not accepted)[\s\S])*not accepted\.\s+.*'s password:$/, 'two\r'],
      [/(?:not accepted[\s\S]*){2}'s password:$/, 'three\r'],
    ];
    const asked = await onTerminal(at, wrong);
    await asked.sees('refused the login', seenMs);
    expect((await asked.exit(seenMs)).code).toBe(4);
    expect(failures(sshd)).toBe(3);

    const shown = at.open();
    onTestFinished(async () => await shown.close());
    for (const word of ['one', 'two', 'three']) {
      const before = failures(sshd);
      await shown.sees('Connect to nas', seenMs);
      shown.type(word);
      await shown.sees('•'.repeat(word.length), seenMs);
      shown.press('enter');
      await expect.poll(() => failures(sshd), { timeout: seenMs }).toBe(before + 1);
    }
    await shown.sees('refused the login', seenMs);
    await shown.seesNot('Connect to nas', seenMs);
    // Back when the operator wants it.
    shown.press('H');
    await shown.sees(/nas {2,}refused/, seenMs);
    shown.press('j');
    await shown.sees(/▸\S+ nas/, seenMs);
    shown.press('R');
    await shown.sees('Connect to nas', seenMs);
    shown.type(password);
    shown.press('enter');
    await shown.sees(/nas +ssh \d+ ms/, seenMs);
    shown.press('q');
    await leave(shown);
  });

  it('that is not given ends the attempt: with Esc in the console, with Ctrl-C on the terminal, and no login is counted', async () => {
    const { sshd, desk: at } = await desk();
    const asked = await onTerminal(at, [["'s password", 'half\x03']]);
    await asked.sees('declined', seenMs);
    expect((await asked.exit(seenMs)).code).toBe(4);
    const shown = await inConsole(at, [["'s password", 'half\x1b']]);
    await shown.sees('declined', seenMs);
    await leave(shown);
    expect(failures(sshd)).toBe(0);
    const unattended = await at.run(['hosts', 'check', 'nas']);
    expect([unattended.code, unattended.stdout + unattended.stderr]).toEqual([
      4,
      expect.stringContaining('Cannot prompt without a terminal'),
    ]);
  });

  it('is in no argument and no environment of any program', async () => {
    const { sshd, desk: at } = await desk();
    const trace = join(sshd.folder, 'trace');
    const traced = await onTraced(at, trace, [["'s password", `${password}\r`]]);
    expect((await traced.exit(90_000)).code).toBe(0);
    const text = await readFile(trace, 'utf8');
    expect(text).toContain('askpass');
    expect(text).toContain('QUARTERDECK_ASK=');
    expect(text).not.toContain(password);
    await keepsSecret(password, at, [traced], sshd);
  });
});

/** With the environment of each program, not only its arguments. */
async function onTraced(desk: RemoteDesk, trace: string, steps: readonly Step[]): Promise<Terminal> {
  const argv = ['strace', '-f', '-qq', '-v', '-e', 'trace=execve,execveat', '-s', '65536', '-o', trace, launcher, 'hosts', 'check', 'nas'];
  const terminal = Terminal.start(argv, { env: desk.env });
  onTestFinished(async () => await terminal.close());
  for (const [sees, types] of steps) {
    await terminal.sees(sees, 90_000);
    terminal.type(types);
  }
  return terminal;
}

/** PAM asks: a password of this machine, and what else a module wants. */
const unixPassword = [
  'auth required pam_unix.so',
  'account required pam_unix.so',
  'password required pam_unix.so',
  'session required pam_permit.so',
];
const oath = ['/usr/lib', '/lib']
  .flatMap((folder) => ['x86_64', 'aarch64'].map((machine) => `${folder}/${machine}-linux-gnu/security/pam_oath.so`))
  .find(existsSync);

/** RFC 4226: the code of a counter. */
function oneTimeCode(secret: Buffer, counter: number): string {
  const moving = Buffer.alloc(8);
  moving.writeUInt32BE(counter, 4);
  const digest = createHmac('sha1', secret).update(moving).digest();
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 0x0f) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

function required(title: string, isThere: boolean): typeof it {
  return requiredInCi(isThere ? undefined : `no ${title}`) ? (it.skip as typeof it) : it;
}

describeSshd('questions of PAM', () => {
  const password = `pw-${randomBytes(6).toString('hex')}`;

  required('pam_oath', oath !== undefined)('for a password and then a one-time code, which is wrong once', async () => {
    const secret = randomBytes(20);
    const users = `/etc/qd-oath-${randomBytes(4).toString('hex')}`;
    onTestFinished(async () => await rm(users, { force: true }));
    const sshd = await server({
      pam: ['auth required pam_unix.so', `auth required pam_oath.so usersfile=${users} window=5 digits=6`, ...unixPassword.slice(1)],
      config: ['KbdInteractiveAuthentication yes', 'AuthenticationMethods keyboard-interactive', 'MaxAuthTries 10'],
    });
    const { name } = await sshd.user({ password });
    await writeFile(users, `HOTP ${name} - ${secret.toString('hex')}\n`, { mode: 0o600 });
    const at = await sitDown(sshd, { nas: { user: name, config: byQuestions } });
    const asked = await onTerminal(at, [
      [/Password:$/, `${password}\r`],
      [/One-time password.*:$/, '000000\r'],
      [/not accepted\.\s+.*Password:$/, `${password}\r`],
      [/not accepted\.\s+.*One-time password.*:$/, `${oneTimeCode(secret, 0)}\r`],
    ]);
    expect((await asked.exit(seenMs)).code).toBe(0);
    const shown = await inConsole(at, [
      [/Connect to nas[\s\S]*Password/, `${password}\r`],
      ['One-time password', `${oneTimeCode(secret, 1)}\r`],
    ]);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    await keepsSecret(password, at, [asked, shown], sshd);
  });

  it('for a new password where the old one has expired: what PAM says of it is shown', async () => {
    const sshd = await server({
      pam: unixPassword,
      config: ['KbdInteractiveAuthentication yes', 'AuthenticationMethods keyboard-interactive'],
    });
    const next = `neu-${randomBytes(8).toString('hex')}`;
    const user = await sshd.user({ password });
    await runOrThrow(['chage', '-d', '0', user.name]);
    const at = await sitDown(sshd, { nas: { user: user.name, config: byQuestions } });
    const asked = await onTerminal(at, [
      [/Password:$/, `${password}\r`],
      [/You are required to change your password[\s\S]*Current password:$/, `${password}\r`],
      [/New password:$/, `${next}\r`],
      [/Retype new password:$/, `${next}\r`],
    ]);
    expect((await asked.exit(seenMs)).code).toBe(0);
    const shown = await inConsole(at, [['Password:', `${next}\r`]]);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    for (const secret of [password, next]) await keepsSecret(secret, at, [asked, shown], sshd);
  });

  it('that a login by password cannot ask: an expired one is said to be that', async () => {
    const sshd = await server({ pam: unixPassword, config: ['PasswordAuthentication yes', 'KbdInteractiveAuthentication no'] });
    const user = await sshd.user({ password });
    await runOrThrow(['chage', '-d', '0', user.name]);
    const at = await sitDown(sshd, { nas: { user: user.name, config: byPassword } });
    const asked = await onTerminal(at, [["'s password", `${password}\r`]]);
    await asked.sees('has expired and must be changed', seenMs);
    expect((await asked.exit(seenMs)).code).toBe(4);
  });
});

describeSshd('a key', () => {
  const passphrase = `pp-${randomBytes(6).toString('hex')}`;

  /** A key of the client beside that of the stage, which root there lets in. */
  async function lockedKey(sshd: Sshd, words: readonly string[] = ['-t', 'ed25519']): Promise<string> {
    const path = join(sshd.folder, `locked-${randomBytes(3).toString('hex')}`);
    await runOrThrow(['ssh-keygen', '-q', ...words, '-N', passphrase, '-C', '', '-f', path]);
    await writeFile(join(sshd.folder, 'authorized'), await readFile(`${path}.pub`, 'utf8'));
    return path;
  }

  async function agent(sshd: Sshd): Promise<string> {
    const socket = join(sshd.folder, `agent-${randomBytes(3).toString('hex')}`);
    const said = await runOrThrow(['ssh-agent', '-a', socket]);
    const [, pid] = /SSH_AGENT_PID=(\d+)/.exec(said) ?? [];
    onTestFinished(() => void (pid && process.kill(Number(pid))));
    return socket;
  }

  const with_ = (path: string, more: readonly string[] = []): ClientHost => ({ config: [`IdentityFile ${path}`, ...more] });

  it('with a passphrase is asked for it, and again when it was wrong', async () => {
    const sshd = await server({ withoutKey: true });
    const at = await sitDown(sshd, { nas: with_(await lockedKey(sshd)) });
    const asked = await onTerminal(at, [
      [/Enter passphrase for key '.*':$/, 'wrong\r'],
      [/not accepted\.\s+.*Enter passphrase for key '.*':$/, `${passphrase}\r`],
    ]);
    expect((await asked.exit(seenMs)).code).toBe(0);
    const shown = await inConsole(at, [[/Connect to nas[\s\S]*Enter passphrase/, `${passphrase}\r`]]);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    await keepsSecret(passphrase, at, [asked, shown], sshd);
  });

  it('with a passphrase that the agent takes over is asked for it once', async () => {
    const sshd = await server({ withoutKey: true });
    const at = await sitDown(
      sshd,
      { nas: with_(await lockedKey(sshd), ['AddKeysToAgent yes']) },
      { env: { SSH_AUTH_SOCK: await agent(sshd) } },
    );
    const asked = await onTerminal(at, [[/Enter passphrase for key '.*':$/, `${passphrase}\r`]]);
    expect((await asked.exit(seenMs)).code).toBe(0);
    // Nobody is there, and nothing is asked.
    const again = await at.run(['hosts', 'check', 'nas']);
    expect(again.code, again.stdout + again.stderr).toBe(0);
    const shown = await inConsole(at, []);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
  });

  it('that a CA has signed lets in, to a host that a CA has signed too', async () => {
    const sshd = await server({ withoutKey: true });
    const ca = join(sshd.folder, 'ca');
    await runOrThrow(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', ca]);
    await runOrThrow(['ssh-keygen', '-q', '-s', ca, '-I', 'op', '-n', 'root', '-V', '+1d', `${sshd.clientKey}.pub`]);
    await runOrThrow(['ssh-keygen', '-q', '-s', ca, '-h', '-I', 'nas', '-n', '127.0.0.1', '-V', '+1d', join(sshd.folder, 'host-key.pub')]);
    const file = join(sshd.folder, 'sshd_config');
    const lines = `TrustedUserCAKeys ${ca}.pub\nHostCertificate ${join(sshd.folder, 'host-key-cert.pub')}\n`;
    await writeFile(file, lines + (await readFile(file, 'utf8')));
    await sshd.kill();
    await sshd.start();
    const at = await sitDown(sshd, { nas: { unknown: true } });
    await writeFile(at.client.knownHosts, `@cert-authority [127.0.0.1]:${sshd.port} ${await readFile(`${ca}.pub`, 'utf8')}`);
    const checked = await at.run(['hosts', 'check', 'nas']);
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    expect(sshd.log).toContain('Accepted publickey for root');
    expect(sshd.log).toMatch(/ED25519-CERT|ID op/);
    const shown = await inConsole(at, []);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    // One that another CA has signed is a key like any other, and not known.
    await runOrThrow(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', `${ca}2`]);
    await writeFile(at.client.knownHosts, `@cert-authority [127.0.0.1]:${sshd.port} ${await readFile(`${ca}2.pub`, 'utf8')}`);
    expect((await at.run(['hosts', 'check', 'nas'])).code).toBe(4);
  });

  const softwareKey = '/usr/lib/openssh/regress/misc/sk-dummy/sk-dummy.so';
  required('sk-dummy.so', existsSync(softwareKey))(
    'in a security key waits for its touch, on the terminal and in the console',
    async () => {
      const sshd = await server({ withoutKey: true });
      const path = join(sshd.folder, 'touch-key');
      await runOrThrow(['ssh-keygen', '-q', '-t', 'ed25519-sk', '-w', softwareKey, '-N', '', '-C', '', '-f', path]);
      await writeFile(join(sshd.folder, 'authorized'), await readFile(`${path}.pub`, 'utf8'));
      // The one in software is touched at once: a helper that waits stands in for the finger.
      const finger = join(sshd.folder, 'finger');
      const helper = join(sshd.folder, 'sk-helper');
      await writeFile(helper, `#!/bin/sh\nwhile ! [ -e '${finger}' ]; do sleep 0.05; done\nexec /usr/lib/openssh/ssh-sk-helper "$@"\n`);
      await chmod(helper, 0o755);
      const nas = with_(path, [`SecurityKeyProvider ${softwareKey}`]);
      const at = await sitDown(sshd, { nas }, { env: { SSH_SK_HELPER: helper } });
      const shown = at.open(['hosts', 'check', 'nas']);
      onTestFinished(async () => await shown.close());
      await shown.sees('Confirm user presence for key ED25519-SK', seenMs);
      await writeFile(finger, '');
      expect((await shown.exit(seenMs)).code).toBe(0);
      await rm(finger);
      const again = await inConsole(at, []);
      await again.sees('nas is waiting for you to touch the security key', seenMs);
      await writeFile(finger, '');
      await again.sees('password-vault', seenMs);
      await again.seesNot('to be touched', seenMs);
      await leave(again);
    },
  );
});

describeSshd('a jump host', () => {
  it('that asks for a password of its own, before the host behind it asks too', async () => {
    const passwords = ['jump', 'nas'].map((name) => `${name}-${randomBytes(6).toString('hex')}`) as [string, string];
    const jump = await server({ config: ['PasswordAuthentication yes'] });
    const sshd = await server({ config: ['PasswordAuthentication yes'] });
    const [first, second] = [await jump.user({ password: passwords[0] }), await sshd.user({ password: passwords[1] })];
    const at = await sitDown(
      sshd,
      {
        nas: { user: second.name, config: [...byPassword, 'ProxyJump jump'] },
        jump: { user: first.name, port: jump.port, unknown: true, config: byPassword },
      },
      { listed: ['nas'] },
    );
    const asked = await onTerminal(at, [
      ['Is this the host key? Enter yes, no or the expected fingerprint', 'yes\r'],
      [new RegExp(`${first.name}@.*'s password:$`), `${passwords[0]}\r`],
      [new RegExp(`${second.name}@.*'s password:$`), `${passwords[1]}\r`],
    ]);
    expect((await asked.exit(seenMs)).code).toBe(0);
    const shown = await inConsole(at, [
      [`${first.name}@`, `${passwords[0]}\r`],
      [`${second.name}@`, `${passwords[1]}\r`],
    ]);
    await shown.sees('password-vault', seenMs);
    await leave(shown);
    for (const secret of passwords) await keepsSecret(secret, at, [asked, shown], sshd);
  });
});
