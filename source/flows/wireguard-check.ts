import { isOwnFilePrivate } from '../config/own-files.ts';
import type { ConfigProblem } from '../products/config-problem.ts';
import { inspectConfig } from '../products/wireguard/inspect-config.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wireguardCheckAbout } from './about-wireguard.ts';
import { showProblems } from './config-problems.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { readNamedFile } from './named-file.ts';

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
    const { errors, told } = showProblems(session, file, all);
    return {
      message: all.length === 0 ? `${cleanLine(file)} is in order.` : `${cleanLine(file)}: ${told}.`,
      data: { file, ...(publicKey !== undefined && { publicKey }), facts, problems: all },
      exitCode: errors > 0 ? 1 : 0,
    };
  },
};

async function configFile(session: Session, { words, stdin }: FlowInput): Promise<{ text: string; file: string; isOpen: boolean }> {
  const [word] = wordsUpTo(1, { words }, { takes: 'One file at a time', remedy: 'Run it once for each file.' });
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input', isOpen: false };
  const written =
    word ??
    (await session.ask.text({
      id: 'file',
      label: 'Which configuration?',
      help: 'A file of this machine, as wg-quick reads it.',
      check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
    }));
  const { text, file, path } = await readNamedFile(session, written.trim(), 'Name a configuration of WireGuard.');
  return { text, file, isOpen: !(await isOwnFilePrivate(path)) };
}
