import type { Flow, FlowInput } from '../flows/flow.ts';
import { shellWord } from '../hosts/ssh/shell-words.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';

/** What does the same from a shell: a run in the console teaches its verb. */
export function commandOf(deck: Deck, flow: Flow, { component, entry, service, words, place }: FlowInput): string {
  const about = flow.about === 'host' ? [] : [service && component ? containerOf(component, service) : (component ?? entry)?.id];
  const where = deck.options.practice ? ['--practice'] : flow.offline || place === 'local' ? [] : ['--host', place];
  const argv = ['quarterdeck', ...flow.verb.split(' '), ...about, ...words, ...where];
  return cleanLine(argv.flatMap((word) => (word ? [shellWord(word)] : [])).join(' '));
}

/** The one service of several that is meant goes by the name of its container. */
function containerOf({ id, services }: NonNullable<FlowInput['component']>, service: string): string {
  return services.find(({ name }) => name === service)?.containerName ?? id;
}
