import { cleanLine } from '../text/clean.ts';
import type { Checklist, ChecklistItem, ItemState } from './checklist.ts';

const marks: Record<ItemState, string> = { todo: '[ ]', running: '[ ]', ok: '[x]', warning: '[x]', blocked: '[ ]', skipped: '[-]' };

/** Nothing from outside becomes a heading, a link, a table or HTML. */
function safe(text: string): string {
  return cleanLine(text).replace(/[\\`*_[\]<>#|]/g, '\\$&');
}

/** A line of a code block; a fence in it would end the block. */
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

/** The checklist as Markdown: for a ticket, a wiki, or whoever goes on with it. */
export function checklistReport(checklist: Checklist, { nowMs = Date.now(), outcome = '' } = {}): string {
  const { title, begun, facts, items } = checklist;
  const count = (state: ItemState) => items.filter((item) => item.state === state).length;
  const counts = (['ok', 'warning', 'blocked', 'skipped', 'todo'] as const).flatMap((state) =>
    count(state) > 0 ? [`${count(state)} ${state}`] : [],
  );
  const sections = [...new Set(items.map(({ section }) => section))];
  return [
    `# ${safe(title)}`,
    '',
    `Begun by ${safe(begun.by)} on ${begun.at.slice(0, 16).replace('T', ' ')} UTC; as of ${new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
    ...(outcome === '' ? [] : ['', safe(outcome)]),
    '',
    ...Object.entries(facts).map(([name, value]) => `- ${safe(name)}: ${safe(value)}`),
    `- ${counts.join(', ')}`,
    ...sections.flatMap((section) => [
      '',
      `## ${safe(section)}`,
      '',
      ...items.filter((item) => item.section === section).flatMap(itemLines),
    ]),
    '',
  ].join('\n');
}
