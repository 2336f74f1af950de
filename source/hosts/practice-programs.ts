import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installationFolder } from '../config/installation.ts';
import { writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { parseJson } from '../text/json-value.ts';
import type { Host, PipeOptions } from './host.ts';
import { pipeProgram } from './piped-program.ts';
import { runProgram, underGrant } from './program.ts';
import { shellWord } from './ssh/shell-words.ts';

/**
 * Programs of the practice machine: a shell for the apply script, a compose that connects only to the practice engine, and the programs
 * that report disk usage. They run on the operator's machine, in the practice folder, without the operator's environment.
 */
const programs: ReadonlySet<string> = new Set(['sh', 'df', 'tail', 'ps', 'sysctl']);

/** What the practice machine has in place of the operator's programs: it reaches its own engine only, and every name is its own. Written in this order. */
const ownPrograms: Readonly<Record<string, (folder: string) => string>> = {
  'docker-compose': (folder) => {
    const [program, socket] = [join(installationFolder(), 'bin', 'quarterdeck'), join(folder, 'engine.sock')].map(shellWord);
    return `#!/bin/sh\nDOCKER_HOST=unix://${socket} exec ${program} practice compose -- "$@"\n`;
  },
  getent: () => '#!/bin/sh\nfor name; do :; done\necho "192.168.1.10    STREAM $name"\n',
};

/** Throws `unreachable.program` for a program that the practice machine does not have. */
export function programsOf(folder: string): Pick<Host, 'exec' | 'run' | 'stream' | 'pipe'> {
  const bin = join(folder, 'bin');
  const locate = async ([program = '', ...words]: readonly string[], { cwd, env }: PipeOptions) => {
    const path = Object.hasOwn(ownPrograms, program) ? join(bin, program) : programs.has(program) ? program : undefined;
    if (path === undefined) {
      const message = `The program ${program} is not installed on the practice host.`;
      throw new Fault('unreachable.program', message, 'Run programs in the practice containers: quarterdeck exec COMPONENT -- PROGRAM');
    }
    const home = join(folder, 'home');
    // Not before one runs: an operator who only looks around does not wait for them. A practice that has ended is not recreated.
    if (existsSync(home) && !existsSync(join(bin, 'getent')))
      for (const [name, text] of Object.entries(ownPrograms)) await writeOwnFile(join(bin, name), text(folder), { mode: 0o700 });
    const paths = {
      PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
      HOME: home,
      LANG: 'C.UTF-8',
      QUARTERDECK_HOME: join(folder, 'quarterdeck'),
    };
    return { argv: [path, ...words], options: { cwd: cwd ?? home, env: { ...paths, ...env }, bare: true } };
  };
  const exec: Host['exec'] = async (argv, options) => {
    const located = await locate(argv, options);
    return runProgram(located.argv, { ...options, ...located.options });
  };
  const pipe = async (grant: Pick<Grant, 'signal'>, argv: readonly string[], options: PipeOptions = {}) => {
    const located = await locate(argv, options);
    return pipeProgram(grant, located.argv, located.options);
  };
  return {
    exec,
    run: (grant, argv, options) => underGrant(grant, options, (both) => exec(argv, both)),
    stream: (argv, { signal, ...options }) => pipe({ signal }, argv, options),
    pipe,
  };
}

/** Sends a request to a practice engine. Resolves with the response, whose body is still arriving. */
export async function sendToEngine(options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const sent = request(options);
  // A connection that breaks within the body is reported by the response too.
  sent.on('error', () => undefined);
  const [response] = (await once(sent.end(body), 'response')) as [IncomingMessage];
  return response;
}

/** Runs the practice machine's `docker-compose`, which is in its engine. Returns its exit code. */
export async function runPracticeCompose(env: Readonly<Record<string, string | undefined>>, argv: readonly string[]): Promise<number> {
  const body = JSON.stringify({ argv, folder: process.cwd(), environment: env });
  const socketPath = env['DOCKER_HOST']?.replace('unix://', '');
  const response = await sendToEngine({ socketPath, method: 'POST', path: '/practice/compose' }, body);
  for await (const line of createInterface({ input: response })) {
    const { stdout = '', stderr = '', exitCode } = parseJson(line) as { stdout?: string; stderr?: string; exitCode?: number };
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    if (exitCode !== undefined) return exitCode;
  }
  return 1;
}
