import type { ComposeTool } from '../engine/compose-tool.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host, PipedProgram } from '../hosts/host.ts';
import { shellCommand, shellWord } from './apply-shell.ts';
import { fillSecretFile, secretFilesOf } from './compose-editor.ts';

export interface ComposeCommand {
  /** Absolute, of the component. */
  folder: string;
  /** Its compose.yaml. */
  compose: string;
  tool: ComposeTool;
  /** By variable; for the one process, never in argv. */
  secrets: Readonly<Record<string, string>>;
  words: readonly string[];
}

/**
 * Runs one compose command in a component's folder, with its secrets. docker-compose has them in its environment; podman-compose, which copies interpolated
 * values into argv, in files on a filesystem in memory that are gone when it has ended.
 */
export async function runComposeCommand(grant: Grant, host: Host, command: ComposeCommand): Promise<PipedProgram> {
  const { folder, compose, tool, secrets, words } = command;
  const argv = [...tool.argv, ...words];
  if (tool.kind !== 'podman-compose') return host.pipe(grant, argv, { cwd: folder, env: { ...tool.env, ...secrets } });
  const files = Object.entries(secretFilesOf(compose)).map(
    ([service, templates]) =>
      `printf '%s' ${shellWord(fillSecretFile(templates, secrets))} >"$qd_folder/"${shellWord(`${service}.env`)} || exit 1`,
  );
  const program = await host.pipe(grant, ['sh', '-s'], { cwd: folder, env: tool.env });
  // Read whole before it begins: what stands behind it is never taken for the program's input.
  program.stdin.end(`qd_main() {
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
QUARTERDECK_SECRETS=$qd_folder ${shellCommand(argv)} </dev/null
}
qd_main
`);
  return program;
}
