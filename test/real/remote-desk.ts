import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type PracticeStack, startPractice } from '../contract/practice-stack.ts';
import { makeShortFolder } from '../short-folder.ts';
import { makeOperator, type Operator } from './operator.ts';
import type { RealEngine } from './real-engines.ts';
import type { ClientHost, SshClient, Sshd } from './sshd.ts';

/** An operator at a machine without an engine, who reaches others with an ssh client of their own. */
export interface RemoteDesk extends Operator {
  client: SshClient;
  /** `config.yaml`: what is in it, and putting a text there. */
  config(): Promise<string>;
  writeConfig(text: string): Promise<void>;
  /** Lines of known_hosts. */
  known(): Promise<string[]>;
}

/** An engine that answers, for a far side that only has to have one. */
export async function practiceEngine(): Promise<PracticeStack & { env: Record<string, string> }> {
  const stack = await startPractice();
  // For every user there.
  for (const path of [dirname(stack.folder), stack.folder]) await chmod(path, 0o755);
  await chmod(stack.socket, 0o666);
  return Object.assign(stack, { env: { DOCKER_HOST: `unix://${stack.socket}` } });
}

/**
 * @param hosts whom the client knows; each is in `config.yaml` too where `listed` is left out
 * @param more for the operator's environment
 */
export async function sitDown(
  sshd: Sshd,
  hosts: Readonly<Record<string, ClientHost>>,
  { listed = Object.keys(hosts), env = {} }: { listed?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<RemoteDesk> {
  const client = await sshd.client(hosts);
  const folder = await makeShortFolder('qd-desk-');
  await mkdir(join(folder, '.ssh'), { mode: 0o700 });
  const nothing = { kind: 'docker', url: `unix://${folder}/none`, socket: `${folder}/none` } as RealEngine;
  const operator = await makeOperator(nothing, { HOME: folder, QUARTERDECK_SSH: client.program, QUARTERDECK_KEYCHAIN: 'off', ...env });
  const file = join(operator.home, 'config', 'config.yaml');
  const writeConfig = async (text: string) => {
    await mkdir(join(operator.home, 'config'), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600 });
  };
  if (listed.length > 0) await writeConfig(`hosts:\n${listed.map((name) => `  ${name}: {ssh: ${name}}\n`).join('')}`);
  onTestFinished(async () => {
    await operator.leave();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    ...operator,
    client,
    config: async () => await readFile(file, 'utf8'),
    writeConfig,
    known: async () => (await readFile(client.knownHosts, 'utf8')).split('\n').filter(Boolean),
  };
}
