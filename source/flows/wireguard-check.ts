import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { isOwnFilePrivate } from '../config/own-files.ts';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { ConfigProblem } from '../products/wireguard/config-file.ts';
import { inspectConfig } from '../products/wireguard/inspect-config.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { wireguardCheckAbout } from './about-wireguard.ts';
import type { Flow, FlowInput } from './flow.ts';

/** One that names every network there is stays below this. */
const limitBytes = 1024 * 1024;

export const wireguardCheck: Flow = {
  ...wireguardCheckAbout,
  async run(session, input) {
    const { text, file, isOpen } = await configFile(session, input);
    const { problems, facts, publicKey } = inspectConfig(text);
    const all: ConfigProblem[] = isOpen
      ? [
          {
            level: 'error',
            line: 1,
            column: 1,
            field: '',
            message: 'Others on this machine can read the file, and with it the private key.',
            remedy: `chmod 600 ${file}`,
          },
          ...problems,
        ]
      : [...problems];
    for (const fact of facts) session.show({ kind: 'text', text: cleanLine(fact) });
    if (publicKey !== undefined) session.show({ kind: 'text', text: `Its public key, which the other side has to know: ${publicKey}` });
    for (const [at, { level, line, column, field, message, remedy, rule }] of all.entries())
      session.show({
        kind: 'item',
        id: `problem-${at + 1}`,
        title: cleanLine(`${file}:${line}:${column}${field === '' ? '' : ` ${field}`}`),
        state: level === 'error' ? 'blocked' : 'warning',
        evidence: cleanLine(`${message} ${remedy}${rule === undefined ? '' : ` (${rule})`}`),
      });
    const errors = all.filter(({ level }) => level === 'error').length;
    const warnings = all.length - errors;
    return {
      message:
        all.length === 0
          ? `${cleanLine(file)} is in order.`
          : `${cleanLine(file)}: ${[errors > 0 ? countText(errors, 'mistake') : '', warnings > 0 ? countText(warnings, 'warning') : ''].filter(Boolean).join(', ')}.`,
      data: { file, ...(publicKey !== undefined && { publicKey }), facts, problems: all },
      exitCode: errors > 0 ? 1 : 0,
    };
  },
};

async function configFile(session: Session, { words, stdin }: FlowInput): Promise<{ text: string; file: string; isOpen: boolean }> {
  const [word, more] = words;
  if (more !== undefined)
    throw new Fault({
      code: 'usage.words',
      message: `One file at a time: "${cleanLine(more)}" is one word too many.`,
      remedy: 'Run it once for each file.',
    });
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input', isOpen: false };
  const written =
    word ??
    (await session.ask.text({
      id: 'file',
      label: 'Which configuration?',
      help: 'A file of this machine, as wg-quick reads it.',
      check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
    }));
  const path = resolve(expandHome(written.trim(), homedir()));
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes });
  if (!bytes)
    throw new Fault({ code: 'usage.file', message: `There is no file ${cleanLine(path)}.`, remedy: 'Name a configuration of WireGuard.' });
  return { text: new TextDecoder().decode(bytes), file: cleanLine(written.trim()), isOpen: !(await isOwnFilePrivate(path)) };
}
