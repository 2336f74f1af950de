import { randomBytes, randomInt } from 'node:crypto';
import { describeUnless, requiredInCi } from '../required.ts';
import { runProgram } from './scripts.ts';

/** Two machines, each in a network of its own: this one reaches `near`, and only from there `deep` is reached. */
export interface RemoteNetwork {
  /** Names of the network namespaces. */
  near: string;
  deep: string;
  nearAddress: string;
  deepAddress: string;
  /** Takes the cable away that leads to a machine: the cards at both of its ends go with it. */
  pull(where: 'near' | 'deep'): Promise<void>;
  plug(where: 'near' | 'deep'): Promise<void>;
  /** Cables as in the beginning, new ones. */
  mend(): Promise<void>;
  /** The network of `near`, made anew: what it knew of connections is gone. What runs in it has to be ended before. */
  renewNear(): Promise<void>;
  leave(): Promise<void>;
}

async function ip(...words: string[]): Promise<void> {
  const { code, stdout, stderr } = await runProgram(['ip', ...words]);
  if (code !== 0) throw new Error(`ip ${words.join(' ')} ended with ${code}\n${stdout}${stderr}`);
}

/** Why there can be none here. */
async function missing(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux';
  const name = `qd-try-${randomBytes(3).toString('hex')}`;
  try {
    await ip('netns', 'add', name);
    await ip('-n', name, 'link', 'add', 'qdtry0', 'type', 'veth', 'peer', 'name', 'qdtry1');
    return undefined;
  } catch (thrown) {
    return `no network namespaces: ${String(thrown).replaceAll('\n', ' ')}`;
  } finally {
    await ip('netns', 'delete', name).catch(() => undefined);
  }
}

/** A group of tests with network namespaces. Where none can be made it is skipped with the reason; under QUARTERDECK_REQUIRE_REAL=1 it fails instead. */
export async function describeNetwork(name: string, tests: () => void): Promise<void> {
  describeUnless(requiredInCi(await missing()), name, tests);
}

export async function makeNetwork(): Promise<RemoteNetwork> {
  const tag = randomBytes(3).toString('hex');
  const [near, deep] = [`qd-near-${tag}`, `qd-deep-${tag}`];
  const net = `10.${randomInt(100, 250)}.${randomInt(0, 127) * 2}`.split('.').map(Number);
  const address = (where: 'near' | 'deep', last: number) => `${net[0]}.${net[1]}.${(net[2] ?? 0) + (where === 'near' ? 0 : 1)}.${last}`;
  const card = (where: 'near' | 'deep', side: 'a' | 'b') => `qd${tag}${where[0]}${side}`;
  /** Options of `ip` for the nearer side of a cable. */
  const nearer = (where: 'near' | 'deep') => (where === 'near' ? [] : ['-n', near]);
  const machine = (where: 'near' | 'deep') => (where === 'near' ? near : deep);

  async function make(name: string): Promise<void> {
    await ip('netns', 'add', name);
    await ip('-n', name, 'link', 'set', 'lo', 'up');
  }
  async function plug(where: 'near' | 'deep'): Promise<void> {
    const there = machine(where);
    await ip(...nearer(where), 'link', 'add', card(where, 'a'), 'type', 'veth', 'peer', 'name', card(where, 'b'), 'netns', there);
    await ip(...nearer(where), 'address', 'add', `${address(where, 1)}/24`, 'dev', card(where, 'a'));
    await ip(...nearer(where), 'link', 'set', card(where, 'a'), 'up');
    await ip('-n', there, 'address', 'add', `${address(where, 2)}/24`, 'dev', card(where, 'b'));
    await ip('-n', there, 'link', 'set', card(where, 'b'), 'up');
  }
  const pull = (where: 'near' | 'deep') => ip(...nearer(where), 'link', 'delete', card(where, 'a'));
  async function leave(): Promise<void> {
    await pull('near').catch(() => undefined);
    for (const name of [near, deep]) await ip('netns', 'delete', name).catch(() => undefined);
  }

  try {
    for (const name of [near, deep]) await make(name);
    for (const where of ['near', 'deep'] as const) await plug(where);
  } catch (thrown) {
    await leave();
    throw thrown;
  }
  return {
    near,
    deep,
    nearAddress: address('near', 2),
    deepAddress: address('deep', 2),
    pull,
    plug,
    async mend() {
      for (const where of ['near', 'deep'] as const) {
        await pull(where).catch(() => undefined);
        await plug(where);
      }
    },
    async renewNear() {
      await ip('netns', 'delete', near);
      // The kernel takes the cards away a moment after the namespace.
      for (const where of ['near', 'deep'] as const) await pull(where).catch(() => undefined);
      await ip('-n', deep, 'link', 'delete', card('deep', 'b')).catch(() => undefined);
      await make(near);
      for (const where of ['near', 'deep'] as const) await plug(where);
    },
    leave,
  };
}
