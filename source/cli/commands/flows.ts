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
  output.list(flows, {
    COMMAND: { cell: ({ verb }) => verb, paint: (cell) => output.paint('accent', cell) },
    RIGHT: ({ right }) => right,
    TARGET: ({ about }) => about,
    DESCRIPTION: { cell: ({ title }) => title, least: 20 },
  });
  return 0;
}
