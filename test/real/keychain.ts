import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from './scripts.ts';

const writer = fileURLToPath(new URL('keychain-writer.ts', import.meta.url));
const tsx = import.meta.resolve('tsx');

export type Answer = { answer?: unknown; fault?: { code: string; message: string } };

/** Why there can be no keychain here; undefined where there can. */
export function keychainMissing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  const missing = ['dbus-daemon', 'dbus-send', 'gnome-keyring-daemon'].filter(
    (program) => spawnSync('sh', ['-c', 'command -v "$0"', program]).status !== 0,
  );
  return missing.length > 0 ? `${missing.join(', ')} not installed` : undefined;
}

/** A session of its own: a bus that starts nothing by itself, and a keyring on it, all in one folder. */
export class KeychainSession {
  readonly folder = mkdtempSync(join(tmpdir(), 'qd-keys-'));
  readonly data = join(this.folder, 'data');
  readonly env: Record<string, string>;
  readonly #children: ChildProcess[] = [];
  #keyring: ChildProcess | undefined;

  constructor() {
    for (const name of ['data', 'home', 'run']) mkdirSync(join(this.folder, name), { mode: 0o700 });
    const address = `unix:path=${this.folder}/bus`;
    this.env = {
      HOME: join(this.folder, 'home'),
      XDG_RUNTIME_DIR: join(this.folder, 'run'),
      DBUS_SESSION_BUS_ADDRESS: address,
    };
    writeFileSync(
      join(this.folder, 'bus.conf'),
      `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>${address}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`,
    );
  }

  async startBus(): Promise<void> {
    const child = this.#spawn(['dbus-daemon', `--config-file=${this.folder}/bus.conf`, '--nofork', '--print-address']);
    await new Promise<void>((resolve, reject) => {
      child.stdout?.once('data', () => resolve());
      child.once('error', reject);
      child.once('close', (code) => reject(new Error(`dbus-daemon ended with ${code}`)));
    });
  }

  /** With `password` its login keyring is made, or unlocked, as at a new login; without one there is none. */
  async startKeyring(password?: string): Promise<void> {
    const argv = ['gnome-keyring-daemon', '--foreground', '--components=secrets', ...(password === undefined ? [] : ['--unlock'])];
    this.#keyring?.kill('SIGKILL');
    this.#keyring = this.#spawn(argv, password);
    const ask = ['--session', '--print-reply', '--dest=org.freedesktop.DBus', '/', 'org.freedesktop.DBus.NameHasOwner'];
    const deadline = performance.now() + 20_000;
    for (;;) {
      const { stdout } = await runProgram(['dbus-send', ...ask, 'string:org.freedesktop.secrets'], { env: this.env, bare: true });
      if (stdout.includes('boolean true')) return;
      if (performance.now() > deadline) throw new Error('gnome-keyring does not come to the bus');
    }
  }

  async lock(): Promise<void> {
    const to = ['--dest=org.freedesktop.secrets', '--print-reply', '/org/freedesktop/secrets', 'org.freedesktop.Secret.Service.Lock'];
    const outcome = await runProgram(['dbus-send', '--session', ...to, 'array:objpath:/org/freedesktop/secrets/collection/login'], {
      env: this.env,
      bare: true,
    });
    if (outcome.code !== 0) throw new Error(outcome.stderr);
  }

  argvOf(words: readonly string[]): string[] {
    return [process.execPath, '--import', tsx, writer, this.data, ...words];
  }

  /** Uses the vault in a process of its own. */
  async use(
    words: readonly string[],
    { input, env, before = [] }: { input?: string; env?: Record<string, string | undefined>; before?: readonly string[] } = {},
  ): Promise<Answer> {
    const outcome = await runProgram([...before, ...this.argvOf(words)], {
      env: { ...this.env, QUARTERDECK_SECRETS: 'keychain', ...env },
      bare: true,
      limitMs: 60_000,
      ...(input !== undefined && { input }),
    });
    if (outcome.code !== 0) throw new Error(`${outcome.stdout}${outcome.stderr}`);
    return JSON.parse(outcome.stdout) as Answer;
  }

  #spawn([program = '', ...args]: readonly string[], input = ''): ChildProcess {
    const child = spawn(program, args, { env: { PATH: process.env.PATH, ...this.env }, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#children.push(child);
    child.stdout.resume();
    child.stderr.resume();
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    return child;
  }

  close(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
