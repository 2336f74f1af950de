import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import { showProblems } from '../../flows/catalog/config-problems.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { fileWord, readNamedFile } from '../../flows/named-file.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { readIngress, ruleFor } from './client/ingress-rules.ts';

const limitBytes = 1024 * 1024;
/** Path of the catalog's outbound tunnel, below the stack's folder. */
const deployedFile = 'outbound-tunnel/files/config.yml';

export const ingressCheck: Procedure = async (session, input, context) => {
  const { text, file, addresses } = await configFile(session, input, context);
  const { rules, problems } = readIngress(text);
  const { errors, reported } = showProblems(session, file, problems);
  const matches = addresses.map((address) => {
    const at = ruleFor(rules, address);
    return { address, at, rule: at === undefined ? undefined : rules[at] };
  });
  const columns: Columns<(typeof matches)[number]> = {
    ...(addresses.length > 0 && { ADDRESS: ({ address }: { address: string }) => cleanLine(address) }),
    RULE: ({ at }) => (at === undefined ? '' : String(at + 1)),
    NAME: ({ rule }) => (rule ? cleanLine(rule.hostname || 'every name') : rules.length === 0 ? 'no rule' : 'invalid address'),
    PATH: ({ rule }) => (rule ? cleanLine(rule.path || 'every path') : ''),
    TARGET: ({ rule }) => cleanLine(rule?.service ?? ''),
  };
  const all = rules.map((rule, at) => ({ address: '', rule, at }));
  if (addresses.length > 0) showList(session, matches, columns, { right: ['RULE'] });
  else if (errors === 0) showList(session, all, columns, { right: ['RULE'] });
  return {
    message: cleanLine(problems.length === 0 ? `${file}: ${countText(rules.length, 'rule')}, no problems found.` : `${file}: ${reported}.`),
    data: {
      file,
      rules,
      problems,
      matches: matches.map(({ address, at, rule }) => ({ address, ...(at !== undefined && { rule: at + 1, service: rule?.service }) })),
    },
    exitCode: errors > 0 ? 1 : 0,
  };
};

async function configFile(session: Session, input: FlowInput, context: FlowContext) {
  const { words, stdin } = input;
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input', addresses: words };
  const [word, ...addresses] = words;
  // The argument is an address, not a file: the deployed tunnel is used.
  const isAddress = word !== undefined && /^https?:\/\//i.test(word);
  const remedy = 'Pass a tunnel configuration file, or no file to check the deployed tunnel.';
  if (word !== undefined && !isAddress) return { ...(await readNamedFile(session, word, remedy)), addresses };
  const path = posix.join(await context.stackFolderOf(input.engineName, session.signal), deployedFile);
  const bytes = await context.hostOf(input.engineName).files.read(path, { signal: session.signal, limitBytes });
  if (!bytes && session.attended) {
    const help = `No configuration of a deployed outbound tunnel was found on ${input.engineName}. Enter the path of a cloudflared configuration file on this machine.`;
    const written = await fileWord(session, undefined, { label: 'Configuration', help });
    return { ...(await readNamedFile(session, written, remedy)), addresses: words };
  }
  if (!bytes) {
    const message = `No configuration of a deployed outbound tunnel was found: ${cleanLine(path)} is missing.`;
    throw new Fault('usage.file', message, 'Pass a configuration file: quarterdeck ingress check config.yml');
  }
  return { text: new TextDecoder().decode(bytes), file: cleanLine(path), addresses: isAddress ? [word, ...addresses] : addresses };
}
