import { isOwnFilePrivate } from '../../config/own-files.ts';
import type { ConfigProblem } from '../../config-files/problem.ts';
import { inspectConfig } from '../../config-files/wireguard/inspect-config.ts';
import { showProblems } from '../../flows/catalog/config-problems.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { fileWord, readNamedFile } from '../../flows/named-file.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';

export const wireguardCheck: Procedure = async (session, input) => {
  const { text, file, isOpen } = await configFile(session, input);
  const { problems, facts, publicKey } = inspectConfig(text);
  const open: ConfigProblem = {
    ...{ level: 'error', line: 1, column: 1, field: '' },
    message: 'Others on this machine can read the file, and with it the private key.',
    remedy: `chmod 600 ${file}`,
  };
  const all = [...(isOpen ? [open] : []), ...problems];
  for (const fact of facts) session.show({ kind: 'text', text: cleanLine(fact) });
  if (publicKey !== undefined) session.show({ kind: 'text', text: `Its public key, which the other side has to know: ${publicKey}` });
  const { errors, reported } = showProblems(session, file, all);
  return {
    message: all.length === 0 ? `${cleanLine(file)} is in order.` : `${cleanLine(file)}: ${reported}.`,
    data: { file, ...(publicKey !== undefined && { publicKey }), facts, problems: all },
    exitCode: errors > 0 ? 1 : 0,
  };
};

async function configFile(session: Session, { words, stdin }: FlowInput): Promise<{ text: string; file: string; isOpen: boolean }> {
  const [word] = wordsUpTo(1, { words }, { takes: 'One file at a time', remedy: 'Run it once for each file.' });
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input', isOpen: false };
  const written = await fileWord(session, word, { label: 'Which configuration?', help: 'A file of this machine, as wg-quick reads it.' });
  const { text, file, path } = await readNamedFile(session, written, 'Name a configuration of WireGuard.');
  return { text, file, isOpen: !(await isOwnFilePrivate(path)) };
}
