import { cleanLine } from '../text/clean.ts';
import type { Checklist, ChecklistItem, ItemState } from './checklist.ts';

const marks: Record<ItemState, string> = { todo: '[ ]', running: '[ ]', ok: '[x]', warning: '[x]', blocked: '[ ]', skipped: '[-]' };

/** Escapes outside text, so that it cannot become a heading, a link, a table or HTML. */
function safe(text: string): string {
  return cleanLine(text).replace(/[\\`*_[\]<>#|]/g, '\\$&');
}

/** A fence in a line of a code block would end the block. */
const verbatim = (text: string): string => cleanLine(text).replaceAll('```', "'''");

function itemLines({ title, state, summary, evidence, advice, reason, by, at }: ChecklistItem): string[] {
  const who = by && at && state !== 'todo' ? ` (${safe(by)}, ${at.slice(0, 16).replace('T', ' ')} UTC)` : '';
  return [
    `- ${marks[state]} **${safe(title)}**: ${state}${summary === '' ? '' : `. ${safe(summary)}`}${who}`,
    ...(reason === undefined ? [] : [`  - Skipped because: ${safe(reason)}`]),
    ...(advice === undefined || state === 'ok' ? [] : [`  - ${safe(advice)}`]),
    ...(evidence.length === 0 ? [] : ['', '  ```', ...evidence.map((line) => `  ${verbatim(line)}`), '  ```', '']),
  ];
}

export function checklistReport(checklist: Checklist, { nowMs = Date.now(), outcome = '' } = {}): string {
  const { title, started, facts, items } = checklist;
  const states = Map.groupBy(items, ({ state }) => state);
  const counts = (['ok', 'warning', 'blocked', 'skipped', 'todo'] as const).flatMap((state) => {
    const { length } = states.get(state) ?? [];
    return length > 0 ? [`${length} ${state}`] : [];
  });
  return [
    `# ${safe(title)}`,
    '',
    `Begun by ${safe(started.by)} on ${started.at.slice(0, 16).replace('T', ' ')} UTC; as of ${new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
    ...(outcome === '' ? [] : ['', safe(outcome)]),
    '',
    ...Object.entries(facts).map(([name, value]) => `- ${safe(name)}: ${safe(value)}`),
    `- ${counts.join(', ')}`,
    ...[...Map.groupBy(items, ({ section }) => section)].flatMap(([section, inIt]) => [
      '',
      `## ${safe(section)}`,
      '',
      ...inIt.flatMap(itemLines),
    ]),
    '',
  ].join('\n');
}
