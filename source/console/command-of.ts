import type { Flow, FlowInput } from '../flows/flow.ts';
import { shellWord } from '../hosts/ssh/shell-words.ts';
import { hostToName } from '../terminal/commands-for.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';

/** The command that does the same from a shell; empty where there is none. */
export function commandOf(deck: Deck, flow: Flow, { component, entry, service, words, place }: FlowInput): string {
  // What only the console knows, a marked line or a code on the screen, no command can be given.
  if (!deck.flows.some(({ id }) => id === flow.id)) return '';
  const about = flow.about === 'host' ? [] : [service && component ? containerOf(component, service) : (component ?? entry)?.id];
  const host = flow.offline ? undefined : hostToName(deck.fleet.snapshot().places, place);
  const where = deck.options.practice ? ['--practice'] : host === undefined ? [] : ['--host', host];
  const argv = ['quarterdeck', ...flow.verb.split(' '), ...about, ...words, ...where];
  return cleanLine(argv.flatMap((word) => (word ? [shellWord(word)] : [])).join(' '));
}

/** The one service of several that is meant goes by the name of its container. */
function containerOf({ id, services }: NonNullable<FlowInput['component']>, service: string): string {
  return services.find(({ name }) => name === service)?.containerName ?? id;
}
