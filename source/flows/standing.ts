import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { answersOfDeployment } from '../stack/answers.ts';
import { notDeployed } from '../stack/confirm-duty.ts';
import type { Answers } from '../stack/model.ts';
import type { FlowWorld } from './flow.ts';
import { formContextOf } from './form-context.ts';
import { gatherStackFacts, type HostLook, type StackFacts } from './stack-facts.ts';

/** A component that was deployed from here, with the answers that are in force. */
export interface Standing {
  facts: StackFacts;
  answers: Answers;
}

/** Throws `usage.component` for what the catalog does not know, `refused.notOurs` for what was not deployed from here. */
export async function standing(session: Session, world: FlowWorld, place: string, id: string, look?: HostLook): Promise<Standing> {
  const entry = world.catalog.get(id);
  if (!entry) {
    throw new Fault({
      code: 'usage.component',
      message: `${id} is not in the catalog: what made it has to change it.`,
      remedy: 'Use the tool that deployed it.',
    });
  }
  const facts = await gatherStackFacts(session, world, place, entry, look);
  if (!facts.deployment) {
    throw notDeployed(id, `${facts.stackFolder} has no folder of it`);
  }
  return { facts, answers: answersOfDeployment(entry, formContextOf(world, facts, {})) };
}
