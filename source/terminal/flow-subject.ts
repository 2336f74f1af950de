import { Fault } from '../faults/fault.ts';
import type { ComponentView, FleetSnapshot } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';

/** What a flow is about, by the name that was written, and the words behind it. */
export interface WrittenSubject {
  name: string;
  words: readonly string[];
}

/** Takes the name out of the words of the command line. Throws `usage.component` without one, and `usage.words` where there are too many. */
export function subjectOf(flow: Flow, words: readonly string[]): WrittenSubject {
  const { name, words: rest } = flow.subject?.(words) ?? { name: words[0], words: words.slice(1) };
  if (name === undefined || name === '') {
    throw new Fault({
      code: 'usage.component',
      message: `${flow.verb} needs the name of a component.`,
      remedy: `quarterdeck ${flow.verb} COMPONENT${flow.all ? '|all' : ''}${flow.usage ? ` ${flow.usage}` : ''}; "quarterdeck ${flow.about === 'catalog' ? 'catalog list' : 'status'}" lists them.`,
    });
  }
  if (rest.length > 0 && !flow.usage) {
    throw new Fault({
      code: 'usage.words',
      message: `${flow.verb} takes one component, and "${cleanLine(rest[0] ?? '')}" is one word too many.`,
      remedy: `Run it once for each component.`,
    });
  }
  return { name, words: rest };
}

/**
 * The same for a flow about the one component that speaks an API: where there is only one, its name may be left away, and a word that names no component belongs to
 * the flow (`vault read secret/db`). Throws `usage.component` where there is none or the choice is open.
 */
export function speakerOf(
  flow: Flow,
  api: string,
  words: readonly string[],
  { components }: FleetSnapshot,
  named?: string,
): WrittenSubject {
  const [name] = words;
  const speaking = components.filter(({ speaks }) => speaks === api);
  const there = speaking.filter(({ host }) => host === named);
  const [first, ...others] = there.length === 1 ? there : speaking;
  const isNamed =
    name !== undefined &&
    (flow.usage === undefined ||
      components.some(({ id, key, project, host }) => [id, key, `${project}/${id}`, `${host}/${id}`].includes(name)));
  if (isNamed) return subjectOf(flow, words);
  if (!first) {
    throw new Fault({
      code: 'usage.component',
      message: `Nothing that runs here is what "${flow.verb}" is about.`,
      remedy: `quarterdeck ${flow.verb} COMPONENT names one; "quarterdeck catalog list" says what can be deployed.`,
    });
  }
  if (others.length > 0) {
    throw new Fault({
      code: 'usage.component',
      message: `"${flow.verb}" can be about several: ${namesAmong([first, ...others]).join(', ')}.`,
      remedy: `Name one of them behind "${flow.verb}".`,
    });
  }
  return { name: first.key, words };
}

/** What tells components apart on a command line: their ids, or where two hosts have the same one, their keys. */
function namesAmong(components: readonly ComponentView[]): string[] {
  const ids = components.map(({ id }) => id);
  return (new Set(ids).size === ids.length ? ids : components.map(({ key }) => key)).map(cleanLine);
}
