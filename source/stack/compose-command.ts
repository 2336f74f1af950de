import { interpolate } from '../catalog/interpolation.ts';
import { isReserved } from '../catalog/variable-names.ts';
import type { ComposeTool } from '../engine/compose-tool.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host, PipedProgram } from '../hosts/host.ts';
import { composeFilesScript } from './apply-script-parts.ts';
import { plainName, shellCommand, shellWord } from './apply-shell.ts';
import { secretFilesOf } from './compose-editor.ts';

export interface ComposeCommand {
  /** Catalog id; the name of the project. */
  component: string;
  /** Absolute, of the component. */
  folder: string;
  /** Its compose.yaml. */
  compose: string;
  /** Names that its .env sets. */
  plain: readonly string[];
  tool: ComposeTool;
  /** By variable; for the one process, never in argv. */
  secrets: Readonly<Record<string, string>>;
  words: readonly string[];
}

/**
 * Runs one compose command in a component's folder, with its secrets in its environment. podman-compose copies what it interpolates, and from 1.1 on what stands in
 * an `env_file`, into podman's argv: there the files hold names alone, podman takes the values out of its environment, and the files are gone when it has ended.
 * Throws `refused.podmanCompose` where two services want different values under one name.
 */
export async function runComposeCommand(grant: Grant, host: Host, command: ComposeCommand): Promise<PipedProgram> {
  const { folder, compose, tool, secrets, words } = command;
  const names = words[0]?.startsWith('-') ? '' : '-f compose.yaml $qd_override_ ';
  const line = `${shellCommand(tool.argv)} ${names}-p ${shellCommand([command.component, ...words])}`;
  const templates = secretFilesOf(compose);
  const env = { ...tool.env, ...(tool.kind === 'podman-compose' ? containerValues(templates, secrets) : secrets) };
  const prepare = `${composeFilesScript}qd_files
unset ${foreignNames(command, env).join(' ')}`;
  if (tool.kind !== 'podman-compose') return host.pipe(grant, ['sh', '-c', `${prepare}\nexec ${line}`], { cwd: folder, env });
  const files = Object.entries(templates).map(
    ([service, names]) =>
      `printf '%s' ${shellWord(
        Object.keys(names)
          .map((name) => `${name}\n`)
          .join(''),
      )} >"$qd_folder/"${shellWord(`${plainName(service)}.env`)} || exit 1`,
  );
  const program = await host.pipe(grant, ['sh', '-s'], { cwd: folder, env });
  // Read whole before it begins: what stands behind it is never taken for the program's input.
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
${files.join('\n')}
QUARTERDECK_SECRETS=$qd_folder ${line} </dev/null
}
qd_main
`);
  return program;
}

/** What the operator's own environment must not say in the place of the component's files. */
function foreignNames({ compose, plain }: ComposeCommand, given: Readonly<Record<string, string>>): string[] {
  const used = [...compose.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name = '']) => name);
  return [...new Set([...composeVariables, ...used, ...plain])].filter(
    (name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && given[name] === undefined && !isReserved(name),
  );
}

const composeVariables = [
  'COMPOSE_FILE',
  'COMPOSE_PATH_SEPARATOR',
  'COMPOSE_PROJECT_NAME',
  'COMPOSE_PROFILES',
  'COMPOSE_ENV_FILES',
  'COMPOSE_REMOVE_ORPHANS',
];

/** What containers get, by the name inside. */
function containerValues(
  templates: Readonly<Record<string, Readonly<Record<string, string>>>>,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const names of Object.values(templates)) {
    for (const [name, template] of Object.entries(names)) {
      const value = interpolate(template, secrets);
      if (values[name] !== undefined && values[name] !== value) {
        throw new Fault({
          code: 'refused.podmanCompose',
          message: `Two services want different values of ${name}, and podman-compose can be given only one without showing it to other users.`,
          remedy: 'Install docker-compose on that host: it serves Podman too.',
        });
      }
      values[name] = value;
    }
  }
  return values;
}
