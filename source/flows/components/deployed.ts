import { Fault } from '../../faults/fault.ts';
import { notDeployed } from '../../stack/apply/confirm-setup-task.ts';
import type { Answers, Deployment } from '../../stack/model.ts';
import { answersOfDeployment } from '../../stack/plan/answers.ts';
import { formContextOf } from '../deploy/form-context.ts';
import { gatherStackFacts, type HostLook, type StackFacts } from '../deploy/stack-facts.ts';
import type { EngineScope } from '../engine-scope.ts';

export interface Deployed {
  facts: StackFacts;
  deployment: Deployment;
  answers: Answers;
}

/** Throws `usage.component` for a component that the catalog does not know, `refused.notOurs` for one that Quarterdeck did not deploy. */
export async function deployed(scope: EngineScope, id: string, look?: HostLook): Promise<Deployed> {
  const { context } = scope;
  const entry = context.catalog.get(id);
  if (!entry)
    throw new Fault('usage.component', `${id} is not in the catalog: what made it has to change it.`, 'Use the tool that deployed it.');
  const facts = await gatherStackFacts(scope, entry, look);
  const { deployment } = facts;
  if (!deployment) throw notDeployed(id, `${facts.stackFolder} has no folder of it`);
  return { facts, deployment, answers: answersOfDeployment(entry, formContextOf(facts, {})) };
}
