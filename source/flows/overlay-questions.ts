import { Fault } from '../faults/fault.ts';
import type { OverlayMesh } from '../products/overlay-book.ts';
import type { NodeWanted } from '../products/overlay-certificates.ts';
import { isNetwork } from '../products/wireguard/network-words.ts';
import { durationProblem, parseDuration } from '../session/answer-checks.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wordsOf } from '../text/words.ts';
import type { FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { dayText } from './overlay-mesh.ts';

export async function nodeOf(session: Session, input: FlowInput, mesh: OverlayMesh): Promise<NodeWanted> {
  const name = await wordOr(session, input, {
    id: 'name',
    label: 'Which node?',
    help:
      mesh.nodes.length > 0
        ? `Signed already: ${mesh.nodes
            .map((node) => node.name)
            .slice(0, 8)
            .join(', ')}. The same name renews.`
        : 'What it is called in the mesh: nas.',
  });
  const before = mesh.nodes.find((node) => node.name === name);
  const networkProblem = (text: string) => {
    const network = text.trim();
    if (!network.includes('/') || !isNetwork(network)) return 'Write its address with the prefix of the mesh: 10.1.0.2/24';
    const other = mesh.nodes.find((node) => node.name !== name && node.network.split('/')[0] === network.split('/')[0]);
    return other ? `${other.name} has that address.` : undefined;
  };
  const given = input.options['ip'];
  if (typeof given === 'string') throwIf('--ip', networkProblem(given));
  const network =
    typeof given === 'string'
      ? given.trim()
      : before && !session.attended
        ? before.network
        : (
            await session.ask.text({
              id: 'ip',
              label: 'Its address in the mesh',
              initial: before?.network ?? nextAddress(mesh),
              check: networkProblem,
            })
          ).trim();
  const groups = await listOr(
    session,
    input,
    'groups',
    'Groups',
    'What firewall rules call it, with commas: servers. May be empty.',
    before?.groups ?? [],
    (word) => (/^[\w.:@-]{1,60}$/.test(word) ? undefined : 'Letters, digits, dots and dashes.'),
  );
  const subnetsGiven = input.options['subnets'];
  const subnets = typeof subnetsGiven === 'string' ? wordsOf(subnetsGiven) : (before?.subnets ?? []);
  for (const one of subnets) throwIf('--subnets', one.includes('/') && isNetwork(one) ? undefined : `"${cleanLine(one)}" is no network.`);
  const seconds = typeof input.options['for'] === 'string' ? await secondsOf(session, input, '', '') : undefined;
  if (seconds !== undefined && Date.now() + seconds * 1000 > mesh.authority.untilMs)
    throw new Fault({
      code: 'usage.duration',
      message: `None can be good for longer than the authority, which ends ${dayText(mesh.authority.untilMs)}.`,
      remedy: 'Leave --for away: it is then good as long.',
    });
  return { name, network, groups, subnets, seconds };
}

/** The one behind the highest that was given, in the network of the first. */
export function nextAddress({ nodes }: OverlayMesh): string {
  const parts = nodes.flatMap(({ network }) => {
    const [, head, last, prefix] = /^(\d+\.\d+\.\d+\.)(\d+)(\/\d+)$/.exec(network) ?? [];
    return head !== undefined && prefix !== undefined ? [{ head, last: Number(last), prefix }] : [];
  });
  const [first] = parts;
  if (!first) return '10.1.0.1/24';
  const highest = Math.max(...parts.filter(({ head }) => head === first.head).map(({ last }) => last));
  return highest < 254 ? `${first.head}${highest + 1}${first.prefix}` : '';
}

export async function wordOr(
  session: Session,
  { words }: FlowInput,
  question: { id: string; label: string; help?: string; initial?: string },
): Promise<string> {
  const [word] = wordsUpTo(1, { words }, { takes: 'One at a time', remedy: 'Put a name with spaces into quotes.' });
  const check = (text: string) =>
    /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(text.trim()) ? undefined : 'Up to 60 letters, digits, dots and dashes.';
  if (word === undefined) return (await session.ask.text({ ...question, check })).trim();
  throwIf('The name', check(word));
  return word.trim();
}

export async function listOr(
  session: Session,
  { options }: FlowInput,
  id: string,
  label: string,
  help: string,
  before: readonly string[],
  each: (word: string) => string | undefined,
): Promise<readonly string[]> {
  const check = (text: string) =>
    wordsOf(text)
      .map(each)
      .find((problem) => problem !== undefined);
  const given = options[id];
  if (typeof given === 'string') {
    throwIf(`--${id}`, check(given));
    return wordsOf(given);
  }
  if (!session.attended) return before;
  return wordsOf(await session.ask.text({ id, label, help, initial: before.join(', '), check }));
}

export async function secondsOf(session: Session, { options }: FlowInput, initial: string, help: string): Promise<number | undefined> {
  const given = options['for'];
  if (typeof given !== 'string') return session.ask.duration({ id: 'for', label: 'How long is it good?', initial, help });
  throwIf('--for', durationProblem(given) ?? (parseDuration(given) === 0 ? 'It would be over at once.' : undefined));
  return parseDuration(given);
}

export function throwIf(what: string, problem: string | undefined): void {
  if (problem !== undefined)
    throw new Fault({ code: 'usage.overlay', message: `${what}: ${problem}`, remedy: 'Look: quarterdeck overlay sign --help' });
}
