import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { type IngressRule, readIngress, ruleFor } from '../products/ingress-rules.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { ingressCheckAbout } from './about-ingress.ts';
import { showProblems } from './config-problems.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { type NamedFile, readNamedFile } from './named-file.ts';

const limitBytes = 1024 * 1024;
/** Where the catalog's outbound tunnel has it, below the stack's folder. */
const deployedFile = 'outbound-tunnel/files/config.yml';

export const ingressCheck: Flow = {
  ...ingressCheckAbout,
  async run(session, input, world) {
    const { text, file, addresses } = await configFile(session, input, world);
    const { rules, problems } = readIngress(text);
    const { errors, told } = showProblems(session, file, problems);
    const matches = addresses.map((address) => ({ address, at: ruleFor(rules, address) }));
    if (addresses.length > 0)
      session.show({
        kind: 'table',
        columns: ['address', 'rule', 'name', 'path', 'leads to'],
        align: ['left', 'right', 'left', 'left', 'left'],
        rows: matches.map(({ address, at }) => [cleanLine(address), ...ruleCells(at === undefined ? undefined : rules[at], at)]),
      });
    else if (rules.length > 0 && problems.every(({ level }) => level !== 'error'))
      session.show({
        kind: 'table',
        columns: ['rule', 'name', 'path', 'leads to'],
        align: ['right', 'left', 'left', 'left'],
        rows: rules.map((rule, at) => ruleCells(rule, at)),
      });
    return {
      message: cleanLine(problems.length === 0 ? `${file}: ${countText(rules.length, 'rule')}, in order.` : `${file}: ${told}.`),
      data: {
        file,
        rules,
        problems,
        matches: matches.map(({ address, at }) => ({ address, ...(at !== undefined && { rule: at + 1, service: rules[at]?.service }) })),
      },
      exitCode: errors > 0 ? 1 : 0,
    };
  },
};

function ruleCells(rule: IngressRule | undefined, at: number | undefined): string[] {
  if (!rule || at === undefined) return ['', 'no address', '', ''];
  return [String(at + 1), rule.hostname || 'every name', rule.path || 'every path', rule.service].map(cleanLine);
}

function ownFile(session: Session, word: string): Promise<NamedFile> {
  return readNamedFile(session, word, 'Name the configuration of the tunnel, or nothing for the deployed one.');
}

async function configFile(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
): Promise<{ text: string; file: string; addresses: readonly string[] }> {
  const { words, stdin } = input;
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input', addresses: words };
  const [word, ...addresses] = words;
  // An address in the place of the file: that of the deployed tunnel is meant.
  const isAddress = word !== undefined && /^https?:\/\//i.test(word);
  if (word !== undefined && !isAddress) return { ...(await ownFile(session, word)), addresses };
  const path = posix.join(await world.stackFolderOf(input.place, session.signal), deployedFile);
  const bytes = await world.hostOf(input.place).files.read(path, { signal: session.signal, limitBytes });
  if (!bytes && session.attended) {
    const written = await session.ask.text({
      id: 'file',
      label: 'Which configuration?',
      help: `A file of this machine, as cloudflared reads it. On ${input.place} no outbound tunnel is deployed.`,
      check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
    });
    return { ...(await ownFile(session, written.trim())), addresses: words };
  }
  if (!bytes)
    throw new Fault({
      code: 'usage.file',
      message: `No outbound tunnel is deployed there: ${cleanLine(path)} is missing.`,
      remedy: 'Name the file of its configuration: quarterdeck ingress check config.yml',
    });
  return { text: new TextDecoder().decode(bytes), file: cleanLine(path), addresses: isAddress ? [word, ...addresses] : addresses };
}
