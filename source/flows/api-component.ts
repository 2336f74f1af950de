import type { ContainerDetail } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { entryOf, targetOf } from './call-target.ts';
import { componentOf } from './components/service-targets.ts';
import type { FlowContext, FlowInput } from './flow.ts';

/** Throws `usage.component` if the component has another API. `what` is the expected kind, for the fault: `certificate authority`. */
export async function apiComponentOf(
  { signal }: Pick<Session, 'signal'>,
  input: FlowInput,
  context: FlowContext,
  { name, what }: { name: string; what: string },
) {
  const component = componentOf(input);
  const entry = entryOf(context, component);
  if (entry?.api?.name !== name) {
    const remedy = 'List the components: quarterdeck catalog list';
    throw new Fault('usage.component', `${component.id} is not a known ${what}.`, remedy);
  }
  return { component, entry, api: entry.api, target: await targetOf(context, input.engineName, entry, signal, component) };
}

export function runningContainer({ component: { id }, api, target }: Awaited<ReturnType<typeof apiComponentOf>>): ContainerDetail {
  const container = target.containers.get(api.service ?? '');
  if (container?.state === 'running') return container;
  throw new Fault('unreachable.component', `${id} is not running.`, `Start it: quarterdeck start ${id}`);
}
