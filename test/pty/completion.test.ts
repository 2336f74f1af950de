import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeUnless, requiredProgram } from '../required.ts';
import { Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');
/** Each Tab starts a program, which on a busy machine is not at once. */
const tabMs = 30_000;

/** How the shell is started without anybody's settings, and how it takes the script. */
const shells = {
  bash: { argv: ['bash', '--noprofile', '--norc', '-i'], load: 'eval "$(quarterdeck completion bash)"' },
  zsh: { argv: ['zsh', '-f', '-i'], load: 'autoload -Uz compinit; compinit -u -D; eval "$(quarterdeck completion zsh)"' },
  fish: { argv: ['fish', '--no-config', '--interactive'], load: 'quarterdeck completion fish | source' },
} as const;

let home: string;
let terminal: Terminal | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-completion-'));
  await mkdir(join(home, 'bin'));
  await symlink(join(root, 'bin/quarterdeck'), join(home, 'bin/quarterdeck'));
  await mkdir(join(home, 'own/config'), { recursive: true });
  await writeFile(join(home, 'own/config/config.yaml'), 'hosts:\n  cupboard: {ssh: op@cupboard.lan}\n');
  await mkdir(join(home, '.ssh'));
  await writeFile(join(home, '.ssh/config'), 'Host datacentre\n  User op\nHost *.lan\n  User op\n');
  await writeFile(join(home, 'key-to-open.txt'), '');
});
afterEach(async () => {
  await terminal?.close();
  terminal = undefined;
  await rm(home, { recursive: true, force: true });
});

for (const [shell, { argv, load }] of Object.entries(shells)) {
  describeUnless(requiredProgram(shell), shell, () => {
    async function open(): Promise<Terminal> {
      const started = Terminal.start(argv, {
        cwd: home,
        env: {
          HOME: home,
          PATH: `${join(home, 'bin')}:${process.env.PATH}`,
          LANG: 'C.UTF-8',
          PS1: 'ready> ',
          QUARTERDECK_HOME: join(home, 'own'),
          QUARTERDECK_KEYCHAIN: 'off',
          // Asking an engine would fail, and be seen.
          DOCKER_HOST: `unix://${join(home, 'none')}`,
        },
      });
      terminal = started;
      if (shell === 'fish') started.type('function fish_prompt; echo -n "ready> "; end\r');
      await started.sees(/ready> $/m, tabMs);
      started.type(`${load}; echo loaded-$((1+1))\r`.replace('$((1+1))', shell === 'fish' ? '(math 1+1)' : '$((1+1))'));
      await started.sees(/loaded-2\s+ready>\s*$/, tabMs);
      return started;
    }
    /** Empties the line. */
    const again = (shown: Terminal) => shown.press('ctrl+u');

    test('completes verbs, options, hosts, names of ssh and files', { timeout: 180_000 }, async () => {
      const shown = await open();
      shown.type('quarterdeck tunn\t');
      await shown.sees('quarterdeck tunnel', tabMs);
      again(shown);
      shown.type('quarterdeck hosts rem\t');
      await shown.sees('quarterdeck hosts remove', tabMs);
      shown.type('cup\t');
      await shown.sees('hosts remove cupboard', tabMs);
      again(shown);
      shown.type('quarterdeck hosts add data\t');
      await shown.sees('hosts add datacentre', tabMs);
      again(shown);
      shown.type('quarterdeck hosts check --verb\t');
      await shown.sees('hosts check --verbose', tabMs);
      again(shown);
      shown.type('quarterdeck --host=cup\t');
      await shown.sees('quarterdeck --host=cupboard', tabMs);
      again(shown);
      shown.type('quarterdeck --host cup\t');
      await shown.sees('quarterdeck --host cupboard', tabMs);
      shown.type('deploy password-v\t');
      await shown.sees('cupboard deploy password-vault', tabMs);
      again(shown);
      shown.type('quarterdeck secrets import --identity key-to\t');
      await shown.sees('--identity key-to-open.txt', tabMs);
    });

    test('lists what there is, and runs nothing of what is typed', { timeout: 120_000 }, async () => {
      const shown = await open();
      shown.type('quarterdeck hosts \t\t');
      await shown.sees(/remove[\s\S]*trust|trust[\s\S]*remove/, tabMs);
      again(shown);
      shown.type('quarterdeck status "$(touch ran)" --js\t');
      await shown.sees('--json', tabMs);
      expect(existsSync(join(home, 'ran'))).toBe(false);
    });
  });
}
