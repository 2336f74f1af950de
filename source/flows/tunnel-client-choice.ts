import { Fault } from '../faults/fault.ts';
import type { TunnelClient } from '../products/tunnel-ui.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { FlowInput } from './flow.ts';
import { unlessLeft } from './left-early.ts';

const left = { message: 'Nothing was changed: the devices are as before.', remedy: 'Start it again whenever you like.' };

/** A name that no device has. Throws `usage.client` for one on the command line that will not do. */
export async function askName(session: Session, { words }: FlowInput, clients: readonly TunnelClient[]): Promise<string> {
  const problem = (text: string) => {
    const name = text.trim();
    if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,39}$/u.test(name)) return 'Up to 40 letters, digits, dots and dashes.';
    return clients.some((one) => one.name === name) ? `${name} is there already.` : undefined;
  };
  const [word, more] = words;
  if (more !== undefined) throw oneTooMany(more);
  if (word === undefined)
    return unlessLeft(
      async () =>
        (
          await session.ask.text({
            id: 'name',
            label: 'What is the device called?',
            help: 'alice-phone. Sends POST /api/wireguard/client.',
            check: problem,
          })
        ).trim(),
      { ...left, message: 'Nobody was let in: the devices are as before.' },
    );
  const wrong = problem(word);
  if (wrong !== undefined)
    throw new Fault({ code: 'usage.client', message: `"${cleanLine(word)}": ${wrong}`, remedy: 'Take another name.' });
  return word.trim();
}

/** The device that is named, or chosen: those that are likely are offered. Throws `usage.client`. */
export async function chosen(
  session: Session,
  { words }: FlowInput,
  clients: readonly TunnelClient[],
  { sends, isLikely = () => true }: { sends: string; isLikely?: (client: TunnelClient) => boolean },
): Promise<TunnelClient> {
  const [word, more] = words;
  if (more !== undefined) throw oneTooMany(more);
  if (clients.length === 0)
    throw new Fault({ code: 'usage.client', message: 'It has no devices yet.', remedy: 'Let one in: quarterdeck clients add COMPONENT' });
  const likely = clients.filter(isLikely);
  const id =
    word ??
    (await unlessLeft(
      () =>
        session.ask.choice({
          id: 'client',
          label: 'Which device?',
          help: `Sends ${sends}`,
          choices: (likely.length > 0 ? likely : clients).map(({ id: value, name, address, enabled }) => ({
            value,
            label: name,
            detail: `${address}, ${enabled ? 'enabled' : 'disabled'}`,
          })),
        }),
      left,
    ));
  const found = clients.filter((one) => one.id === id || one.name === id);
  const [only, another] = found;
  if (only && !another) return only;
  throw new Fault({
    code: 'usage.client',
    message: another ? `${found.length} devices are called "${cleanLine(id)}".` : `There is no device "${cleanLine(id)}".`,
    remedy: another
      ? `Name one by its id: ${found.map((one) => cleanLine(one.id)).join(', ')}.`
      : nameRemedy(
          id,
          clients.map(({ name }) => name),
          'It has none.',
        ),
  });
}

function oneTooMany(word: string): Fault {
  return new Fault({
    code: 'usage.words',
    message: `One device at a time: "${cleanLine(word)}" is one word too many.`,
    remedy: 'Put a name with spaces into quotes.',
  });
}
