import type { Flow } from '../flows/flow.ts';
import { tableLines } from './table.ts';
import type { VerbContext } from './verb.ts';

/** `flows`: everything that can be done, with its verb and the right that it takes. */
export async function runFlowsVerb({ output, options }: VerbContext, flows: readonly Flow[]): Promise<number> {
  if (options.json) {
    output.json({
      schema: 1,
      flows: flows.map(({ id, verb, title, summary, right, about, usage, flags }) => ({
        id,
        verb,
        title,
        summary,
        right,
        about,
        usage: usage ?? '',
        flags: Object.keys(flags ?? {}),
      })),
    });
    return 0;
  }
  const rows = flows.map(({ verb, right, about, title }) => [verb, right, about, title]);
  const columns = [
    { heading: 'VERB', paint: (cell: string) => output.paint('accent', cell) },
    { heading: 'RIGHT' },
    { heading: 'ABOUT' },
    { heading: 'WHAT IT DOES', least: 20 },
  ];
  for (const line of tableLines(columns, rows, { width: output.columns, heading: (text) => output.paint('faint', text) }))
    output.line(line);
  return 0;
}
