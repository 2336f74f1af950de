import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface ComposeConfig {
  code: number;
  stdout: string;
  stderr: string;
}

/** A project in its folder, with an environment of its own. */
export interface ComposeProject {
  folder: string;
  env: Readonly<Record<string, string>>;
}

const driver = fileURLToPath(new URL('compose-config.py', import.meta.url));
const { PATH = '', HOME = '' } = process.env;
const maxBuffer = 256 * 1024 * 1024;

function path(): string | undefined {
  const found = spawnSync('sh', ['-c', 'command -v docker-compose'], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.trim() : undefined;
}

/** The `docker-compose` of this machine; undefined where there is none. */
export const composeProgram: string | undefined = path();

function pythonOf(program: string): string | undefined {
  return /^#!\s*(\S*python3?)\s*$/m.exec(readFileSync(program, 'latin1').slice(0, 80))?.[1];
}

/** Is the `docker-compose` of this machine the one in Python, 1.29? */
export const isPythonCompose = composeProgram !== undefined && pythonOf(composeProgram) !== undefined;

/** What `docker-compose config` says of projects. The one that is written in Python takes a second to start, so it is started once for all. */
export function composeConfigs(projects: readonly ComposeProject[]): ComposeConfig[] {
  if (composeProgram === undefined) throw new Error('there is no docker-compose on this machine');
  const python = pythonOf(composeProgram);
  if (python !== undefined) return inOnePython(python, 'docker-compose', ['config'], projects);
  return projects.map(({ folder, env }) => {
    const { status, stdout, stderr } = spawnSync('docker-compose', ['config'], {
      cwd: folder,
      env: { PATH, HOME, ...env },
      encoding: 'utf8',
    });
    return { code: status ?? -1, stdout, stderr };
  });
}

/** What a podman-compose, a file of Python, says to these arguments in each project. */
export function podmanComposes(program: string, args: readonly string[], projects: readonly ComposeProject[]): ComposeConfig[] {
  return inOnePython('/usr/bin/python3', program, args, projects);
}

function inOnePython(python: string, program: string, args: readonly string[], projects: readonly ComposeProject[]): ComposeConfig[] {
  const jobs = projects.map(({ folder, env }) => ({ folder, env: { PATH, HOME, ...env }, args }));
  return JSON.parse(
    execFileSync(python, [driver, program], { input: JSON.stringify(jobs), encoding: 'utf8', maxBuffer }),
  ) as ComposeConfig[];
}

/** What a compose of version 2 or later says of projects, as JSON; a few at once, since each is a start of its own. */
export async function currentComposeConfigs(program: string, projects: readonly ComposeProject[], atOnce = 4): Promise<ComposeConfig[]> {
  const answers: ComposeConfig[] = [];
  const queue = projects.entries();
  const work = async () => {
    for (const [index, { folder, env }] of queue) {
      answers[index] = await new Promise<ComposeConfig>((resolve) => {
        const options = { cwd: folder, env: { PATH, HOME, ...env }, maxBuffer };
        const child = execFile(program, ['config', '--format', 'json'], options, (_, stdout, stderr) =>
          resolve({ code: child.exitCode ?? -1, stdout, stderr }),
        );
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return answers;
}
