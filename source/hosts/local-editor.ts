import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Fault, messageOf } from '../faults/fault.ts';

export interface EditorOptions {
  /** Its extension sets the language in the editor: `compose.yaml`. */
  name: string;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  /** The operator's terminal, as file descriptors. */
  stdio?: readonly [number, number, number];
}

/** Returns `$VISUAL` or `$EDITOR` with its options, otherwise vi. */
export function editorCommand(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const said = [env['VISUAL'], env['EDITOR']].find((value) => value !== undefined && value.trim() !== '');
  return (said ?? 'vi').trim().split(/\s+/);
}

/**
 * Opens a text in an editor on this machine. Only the operator can read the temporary copy, which is deleted afterwards. Throws
 * `unreachable.editor` when the editor cannot be started, and `interrupted.editor` when it exits with an error (`:cq` in vi): then
 * nothing is changed.
 */
export async function editText(text: string, { name, env, signal, stdio = [0, 1, 2] }: EditorOptions): Promise<string> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-edit-'));
  const file = join(folder, name.replace(/.*\//, '') || 'text');
  try {
    await writeFile(file, text, { mode: 0o600 });
    const [program = '', ...words] = editorCommand(env);
    const exitCode = await new Promise<number>((resolve, reject) => {
      const child = spawn(program, [...words, file], { stdio: [...stdio], signal });
      child.once('error', (cause) => reject(signal.aborted ? (signal.reason as Error) : notStarted(program, cause)));
      child.once('close', (code) => resolve(code ?? 128));
    });
    if (exitCode !== 0) {
      const message = `${program} ended with exit code ${exitCode}, so nothing was changed.`;
      throw new Fault('interrupted.editor', message, 'To apply a change, save the file and exit the editor without an error.');
    }
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function notStarted(program: string, cause: Error): Fault {
  const message = `The editor ${program} cannot be started: ${(cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'program not found' : messageOf(cause)}.`;
  return new Fault('unreachable.editor', message, 'Set VISUAL, or EDITOR if VISUAL is not set, to an installed editor.', { cause });
}
