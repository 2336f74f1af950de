import { isReserved } from '../../catalog/variable-names.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host, PipedProgram } from '../../hosts/host.ts';
import type { Deployment, Values } from '../model.ts';
import { composeFilesScript } from './script-parts.ts';
import { envFileLines, environmentForPodman } from './script-steps.ts';
import { shellCommand } from './shell.ts';

export interface ComposeCommand {
  deployment: Pick<Deployment, 'component' | 'folder' | 'compose' | 'env'>;
  tool: ComposeTool;
  /** Values by variable; for the one process only, never in argv. */
  secrets: Readonly<Record<string, string>>;
  words: readonly string[];
  /** The program's input; podman-compose gets none. */
  stdin?: string | Uint8Array;
}

/**
 * podman-compose copies interpolated values, and from 1.1 on the content of an `env_file`, into podman's argv: there the files contain only
 * names, podman reads the values from its environment, and the files are deleted when it has ended. Throws `refused.podmanCompose`.
 */
export async function runComposeCommand(grant: Grant, host: Host, command: ComposeCommand): Promise<PipedProgram> {
  const { deployment, tool, secrets, words } = command;
  const { component, folder, compose } = deployment;
  const names = words[0]?.startsWith('-') ? '' : '-f compose.yaml $qd_override_ ';
  const line = `${shellCommand(tool.argv)} ${names}-p ${shellCommand([component, ...words])}`;
  const env = { ...tool.env, ...(tool.kind === 'podman-compose' ? environmentForPodman(compose, secrets) : secrets) };
  const prepare = `${composeFilesScript}qd_files
unset ${foreignNames(command, env).join(' ')}`;
  if (tool.kind !== 'podman-compose') {
    const program = await host.pipe(grant, ['sh', '-c', `${prepare}\nexec ${line}`], { cwd: folder, env });
    program.stdin.end(command.stdin);
    return program;
  }
  const program = await host.pipe(grant, ['sh', '-s'], { cwd: folder, env });
  // The script is read as a whole before it starts: the data after it never become the program's input.
  program.stdin.end(`qd_main() {
${prepare}
umask 077
for qd_base in "$XDG_RUNTIME_DIR" /dev/shm; do
  [ -n "$qd_base" ] && [ -d "$qd_base" ] && [ -w "$qd_base" ] && break
done
qd_folder=$(mktemp -d "$qd_base/quarterdeck-compose-XXXXXX") || exit 1
trap 'rm -rf "$qd_folder"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
trap 'exit 129' HUP
${envFileLines(compose, '$qd_folder').join('\n')}
QUARTERDECK_SECRETS=$qd_folder ${line} </dev/null
}
qd_main
`);
  return program;
}

/** Variables of the operator's own environment that must not override the component's files. */
function foreignNames({ deployment: { compose, env } }: ComposeCommand, given: Values): string[] {
  const used = [...compose.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name = '']) => name);
  return [...new Set([...composeVariables, ...used, ...Object.keys(env)])].filter(
    (name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && given[name] === undefined && !isReserved(name),
  );
}

const composeVariables =
  'COMPOSE_FILE COMPOSE_PATH_SEPARATOR COMPOSE_PROJECT_NAME COMPOSE_PROFILES COMPOSE_ENV_FILES COMPOSE_REMOVE_ORPHANS'.split(' ');
