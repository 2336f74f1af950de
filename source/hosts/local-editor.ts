import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Fault, messageOf } from '../faults/fault.ts';

export interface EditorOptions {
  /** Its ending tells the editor which language it is: `compose.yaml`. */
  name: string;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  /** The operator's terminal, as file descriptors. */
  stdio?: readonly [number, number, number];
}

/** What `$VISUAL` or `$EDITOR` says, with its options, otherwise the first of what most machines have. */
export function editorCommand(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const said = [env['VISUAL'], env['EDITOR']].find((value) => value !== undefined && value.trim() !== '');
  return (said ?? 'vi').trim().split(/\s+/);
}

/**
 * Lets the operator change a text in an editor on this machine. The copy is the operator's alone, and gone afterwards. Throws `unreachable.editor` when the
 * editor cannot be started, `interrupted.editor` when it says that it failed (`:cq` in vi): then nothing is meant to be changed.
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
      throw new Fault({
        code: 'interrupted.editor',
        message: `${program} ended with exit code ${exitCode}, so nothing was changed.`,
        remedy: 'Save and leave the editor without an error to take a change over.',
      });
    }
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function notStarted(program: string, cause: Error): Fault {
  return new Fault({
    code: 'unreachable.editor',
    message: `The editor ${program} cannot be started: ${(cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such program' : messageOf(cause)}.`,
    remedy: 'Set EDITOR to the editor that you use.',
    cause,
  });
}
