import { arch, availableParallelism, homedir, hostname, networkInterfaces, platform, totalmem, uptime } from 'node:os';
import { dialFromHere } from './dial-from-here.ts';
import type { Host, HostFacts, Listener } from './host.ts';
import { ListenerWatch } from './listeners.ts';
import { localFiles } from './local-files.ts';
import { PacedConnection } from './paced-connection.ts';
import { pipeProgram } from './piped-program.ts';
import { runProgram } from './program.ts';
import { underGrant } from './under-grant.ts';

/** The machine that the console runs on. `env` replaces the environment that `facts` tells of (tests, the practice stack). */
export function openLocalHost({ env = process.env }: { env?: Readonly<Record<string, string | undefined>> } = {}): Host {
  const listeners = new ListenerWatch({ platform: platform(), exec: runProgram });
  return {
    name: 'local',
    kind: 'local',
    files: localFiles,
    exec: runProgram,
    run: (grant, argv, options) => underGrant(grant, options, (both) => runProgram(argv, both)),
    stream: (argv, { signal, ...options }) => pipeProgram({ signal }, argv, options),
    pipe: pipeProgram,
    dial: (address, signal, { paced = false } = {}) =>
      dialFromHere(address, signal, { through: paced ? new PacedConnection() : undefined }),
    facts: async (signal) => {
      signal.throwIfAborted();
      return factsOfThisMachine(env);
    },
    listeners: (signal): Promise<Listener[]> => listeners.read(signal),
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
    // Asked for by few, and not before the first frame: it costs a millisecond.
    get addresses() {
      return Object.values(networkInterfaces()).flatMap((cards) => (cards ?? []).map((card) => card.address.replace(/%.*$/, '')));
    },
    env,
  };
}
