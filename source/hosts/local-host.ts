import { arch, availableParallelism, homedir, hostname, networkInterfaces, platform, totalmem, uptime } from 'node:os';
import { dialLocally } from './dial.ts';
import type { Host, HostFacts } from './host.ts';
import { ListenerWatch } from './listeners.ts';
import { localFiles } from './local-files.ts';
import { PacedConnection } from './paced-connection.ts';
import { pipeProgram } from './piped-program.ts';
import { runProgram, underGrant } from './program.ts';

interface Options {
  /** Replaces the environment that `facts` reports (tests, the practice stack). */
  env?: Readonly<Record<string, string | undefined>>;
}

export function openLocalHost({ env = process.env }: Options = {}): Host {
  const listeners = new ListenerWatch({ platform: platform(), exec: runProgram });
  return {
    name: 'local',
    kind: 'local',
    files: localFiles,
    exec: runProgram,
    run: (grant, argv, options) => underGrant(grant, options, (both) => runProgram(argv, both)),
    stream: (argv, { signal, ...options }) => pipeProgram({ signal }, argv, options),
    pipe: pipeProgram,
    dial: (address, signal, { paced = false } = {}) => dialLocally(address, signal, { through: paced ? new PacedConnection() : undefined }),
    facts: async (signal) => {
      signal.throwIfAborted();
      return factsOfThisMachine(env);
    },
    listeners: (signal) => listeners.read(signal),
    close: async () => undefined,
  };
}

function factsOfThisMachine(env: Readonly<Record<string, string | undefined>>): HostFacts {
  return {
    hostname: hostname(),
    platform: platform(),
    architecture: arch(),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    bootedMs: Date.now() - Math.round(uptime() * 1000),
    uid: process.getuid?.(),
    home: env.HOME || homedir(),
    runtimeDir: env.XDG_RUNTIME_DIR || undefined,
    // Evaluated on demand, after the first frame: few callers need it, and it costs a millisecond.
    get addresses() {
      return Object.values(networkInterfaces()).flatMap((cards) => (cards ?? []).map((card) => card.address.replace(/%.*$/, '')));
    },
    env,
  };
}
