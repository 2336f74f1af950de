import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface ComposeConfig {
  code: number;
  stdout: string;
  stderr: string;
}

const driver = fileURLToPath(new URL('compose-config.py', import.meta.url));

function path(): string | undefined {
  const found = spawnSync('sh', ['-c', 'command -v docker-compose'], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.trim() : undefined;
}

/** The `docker-compose` of this machine; undefined where there is none. */
export const composeProgram: string | undefined = path();

/**
 * What `docker-compose config` says of projects, each in its folder with an environment of its own. The one that is written in Python takes a second to
 * start, so it is started once for all.
 */
export function composeConfigs(projects: readonly { folder: string; env: Readonly<Record<string, string>> }[]): ComposeConfig[] {
  if (composeProgram === undefined) throw new Error('there is no docker-compose on this machine');
  const { PATH = '', HOME = '' } = process.env;
  const jobs = projects.map(({ folder, env }) => ({ folder, env: { PATH, HOME, ...env } }));
  const python = /^#!\s*(\S*python3?)\s*$/m.exec(readFileSync(composeProgram, 'latin1').slice(0, 80))?.[1];
  if (python === undefined) {
    return jobs.map(({ folder, env }) => {
      const { status, stdout, stderr } = spawnSync('docker-compose', ['config'], { cwd: folder, env, encoding: 'utf8' });
      return { code: status ?? -1, stdout, stderr };
    });
  }
  const answer = execFileSync(python, [driver], { input: JSON.stringify(jobs), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(answer) as ComposeConfig[];
}
