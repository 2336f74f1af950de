import { pick } from '../../app/pick.ts';
import type { Flow } from '../../flows/flow.ts';
import type { VerbContext } from '../command.ts';

export async function runFlowsVerb({ output, options }: VerbContext, flows: readonly Flow[]): Promise<number> {
  if (options.json) {
    const flowJson = (flow: Flow) => ({
      ...pick(flow, 'id', 'verb', 'title', 'summary', 'right', 'about'),
      usage: flow.usage ?? '',
      flags: Object.keys(flow.flags ?? {}),
    });
    output.json({ schema: 1, flows: flows.map(flowJson) });
    return 0;
  }
  const rows = flows.map(({ verb, right, about, title }) => [verb, right, about, title]);
  const columns = [
    { heading: 'VERB', paint: (cell: string) => output.paint('accent', cell) },
    { heading: 'RIGHT' },
    { heading: 'TARGET' },
    { heading: 'DESCRIPTION', least: 20 },
  ];
  output.table(columns, rows);
  return 0;
}
