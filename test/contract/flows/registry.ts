import { flows } from '../../../source/app/flow-registry.ts';
import type { Flow } from '../../../source/flows/flow.ts';

export function flowOf(id: string): Flow {
  const flow = flows.find((one) => one.id === id);
  if (!flow) throw new Error(`no flow ${id}`);
  return flow;
}
