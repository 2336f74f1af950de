import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { ComposeTool } from '../../source/engine/compose-tool.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';

/**
 * A compose program that keeps its containers in files: what a container would be made of, secrets as their checksum. An image called `broken` makes it fail
 * half-way, one called `hanging` makes it wait until `$COMPOSE_WORLD/go` is there. While `$COMPOSE_WORLD/stops` has letters, a container of before has the name,
 * and each `up` takes one of them away.
 */
const composeProgram = `#!/bin/sh
world=$COMPOSE_WORLD
[ "$1 $2" = '-f compose.yaml' ] || exit 64
shift 2
[ "$1" = -p ] || exit 64
project=$2
command=$3
shift 3
[ -f compose.yaml ] || { echo 'no configuration file provided: not found'; exit 14; }
for name in $(tr '$' '\\n' <compose.yaml | sed -n 's/^{\\([A-Z_]*\\):?.*/\\1/p'); do
  eval "value=\\\${$name:-}"
  [ -n "$value" ] || { echo "error while interpolating: required variable $name is missing a value: kept by Quarterdeck"; exit 15; }
done
case $command in
  up)
    printf '%s\\n' up >>"$world/calls.log"
    echo " Container $project-main  Creating"
    { printf 'project %s\\n' "$project"; cat compose.yaml; [ ! -f .env ] || cat .env; printf 'WEB_PORT from outside: %s\\n' "\${WEB_PORT:-}"
      for name in $(tr '$' '\\n' <compose.yaml | sed -n 's/^{\\([A-Z_]*\\):?.*/\\1/p'); do
        eval "value=\\$$name"; printf '%s ' "$name"; printf '%s' "$value" | cksum
      done; } >"$world/.$project"
    if [ -s "$world/stops" ]; then
      left=$(cat "$world/stops"); printf '%s' "\${left#?}" >"$world/stops"
      echo " Container 1d8e_$project-main  Error response from daemon: Error when allocating new name: Conflict. The container name \\"/$project-main\\" is already in use by container \\"ca01\\". You have to remove (or rename) that container to be able to reuse that name."
      exit 1
    fi
    if grep -q 'image: hanging' compose.yaml; then until [ -e "$world/go" ]; do sleep 0.05; done; fi
    mv "$world/.$project" "$world/$project"
    if grep -q 'image: broken' compose.yaml; then echo "manifest for broken not found, token was $ADMIN_TOKEN"; exit 18; fi
    if grep -q 'image: crashing' compose.yaml; then
      printf '%s\\n' 'Traceback (most recent call last):' '  File "/usr/bin/docker-compose", line 33, in <module>' '    sys.exit(main())' \
        'docker.errors.DockerException: Error while fetching server API version: [Errno 13] Permission denied' \
        'Cannot start service main: endpoint main_1 (30a2efd889277a400dc84e88955d6f786da4d621b90df85da8de590a8ce61147): port is already allocated'
      exit 255
    fi
    echo " Container $project-main  Started" ;;
  down) rm -f "$world/$project" ;;
  restart) printf 'restarted %s\\n' "$*" >>"$world/$project" ;;
  exec) [ "$1" = -T ] && shift; printf '%s\\n' "$*" >"$world/exec-$project" ;;
  *) exit 64 ;;
esac
`;

/** Kills the apply script before (date) or after (sync) the entry of its journal that `KILL_AT` names: `before:3`. */
const shim = (program: string, moment: string, counts: string) => `#!/bin/sh
case "$*" in ${counts})
  n=0; [ ! -s "$COMPOSE_WORLD/../${moment}" ] || read -r n <"$COMPOSE_WORLD/../${moment}"; n=$((n + 1)); echo $n >"$COMPOSE_WORLD/../${moment}"
  if [ "$KILL_AT" = "${moment}:$n" ]; then
    read -r line </proc/$$/stat; set -- $line; : >"$COMPOSE_WORLD/../killed"; kill -9 "-$5"; sleep 5
  fi ;;
esac
exec ${program} "$@"
`;

export interface ComposeContext {
  stackFolder: string;
  /** Where the containers are. */
  containers: string;
  tool: ComposeTool;
  /** The machine, with the programs of this world in its PATH. */
  host: Host;
  /** Ends every process that was started here, whatever became of its parents. */
  killAll(): Promise<number>;
  /** Until nothing that was started here runs. */
  settled(): Promise<void>;
  /** Did it die there? */
  wasKilled(): boolean;
  /** Dies at this moment of the next scripts: `before:3`, `after:3`; undefined lets them live. */
  killAt(moment: string | undefined): Promise<void>;
}

/** A host of its own in a folder, for a compose program that plays. `shell` is what `sh` means there: `['/bin/dash']`. */
export async function createComposeContext(base: string, { shell = [] as readonly string[] } = {}): Promise<ComposeContext> {
  const programs = join(base, 'bin');
  const containers = join(base, 'containers');
  await mkdir(programs, { recursive: true });
  await mkdir(containers, { recursive: true });
  const put = async (name: string, text: string) => {
    await writeFile(join(programs, name), text);
    await chmod(join(programs, name), 0o755);
  };
  await put('compose-double', composeProgram);
  await put('date', shim('/bin/date', 'before', '*'));
  await put('sync', shim('/bin/sync', 'after', '*/journal'));
  const [program, applet] = shell;
  if (program !== undefined && applet === undefined) await symlink(program, join(programs, 'sh'));
  else if (program !== undefined) await put('sh', `#!/bin/dash\nexec ${program} ${applet} "$@"\n`);

  const local = openLocalHost();
  const mark = `QUARTERDECK_TEST_MARK=${base}`;
  let killAt = '';
  const env = () => ({
    PATH: `${programs}${delimiter}${process.env.PATH}`,
    QUARTERDECK_TEST_MARK: base,
    COMPOSE_WORLD: containers,
    KILL_AT: killAt,
    XDG_RUNTIME_DIR: join(base, 'runtime'),
    // What an operator's shell may say; .env is what counts.
    WEB_PORT: '9999',
  });
  await mkdir(join(base, 'runtime'), { recursive: true });
  const host: Host = { ...local, run: (grant, argv, options) => local.run(grant, argv, { ...options, env: { ...options.env, ...env() } }) };
  const marked = async (): Promise<number[]> => {
    const found: number[] = [];
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      if (environment.split('\0').includes(mark)) found.push(Number(pid));
    }
    return found;
  };
  const killAll = async () => {
    let killed = 0;
    for (;;) {
      const pids = await marked();
      if (pids.length === 0) return killed;
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
          killed++;
        } catch {
          // It ended by itself.
        }
      }
    }
  };
  return {
    stackFolder: join(base, 'stack'),
    containers,
    tool: {
      kind: 'docker-compose',
      generation: 2,
      version: '2.40.3',
      argv: [join(programs, 'compose-double')],
      env: { DOCKER_HOST: 'unix:///run/double.sock' },
    },
    host,
    killAll,
    settled: async () => {
      while ((await marked()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    wasKilled: () => existsSync(join(base, 'killed')),
    killAt: async (moment) => {
      killAt = moment ?? '';
      spawnSync('rm', ['-f', ...['before', 'after', 'killed'].map((name) => join(base, name))]);
    },
  };
}

/** Free once no owner's file is in it; the script takes the empty folder away a moment later. */
export const theLock = /^\.quarterdeck\/lock/;
/** What stands in a stack's folder without what is written down of runs. */
export const besideRuns = /^\.quarterdeck\/(?:runs|lock)/;

/** Everything below a folder, with modes, by path. Times and owners are not in it. */
export async function treeOf(folder: string, leaveOut: RegExp = /^$/): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  const walk = async (path: string): Promise<void> => {
    for (const name of (await readdir(join(folder, path))).sort()) {
      const below = path === '' ? name : `${path}/${name}`;
      if (leaveOut.test(below)) continue;
      const facts = await stat(join(folder, below)).catch(() => undefined);
      const mode = facts ? (facts.mode & 0o777).toString(8) : '';
      if (!facts) tree[below] = `-> ${await readlink(join(folder, below))}`;
      else if (facts.isDirectory()) {
        tree[below] = `folder ${mode}`;
        await walk(below);
      } else tree[below] = `${mode} ${await readFile(join(folder, below), 'utf8')}`;
    }
  };
  await walk('');
  return tree;
}
