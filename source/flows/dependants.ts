import type { Session } from '../session/session.ts';
import { answersOf } from '../stack/answers.ts';
import { hostPortOf } from '../stack/base-url.ts';
import { consumerProposals } from '../stack/networks.ts';
import { isEmpty } from '../stack/plan.ts';
import { carriedInto } from '../stack/ports.ts';
import type { FlowWorld } from './flow.ts';
import { formContextOf } from './form-context.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { gatherStackFacts } from './stack-facts.ts';

/**
 * What has to change elsewhere together with a plan: fields of other components that name a port of this one, when it moves (R89), and components that use it and
 * are not on its network yet. Only those that were deployed from here.
 */
export async function planDependants(session: Session, world: FlowWorld, { facts, plan, answers, asked }: ReadyPlan): Promise<ReadyPlan[]> {
  const { entry, deployment, others, place } = facts;
  const wanted = new Map<string, { values: Record<string, string>; why: string[] }>();
  const want = (component: string, values: Readonly<Record<string, string>>, why: string) => {
    const one = wanted.get(component) ?? { values: {}, why: [] };
    Object.assign(one.values, values);
    one.why.push(why);
    wanted.set(component, one);
  };
  for (const port of entry.ports) {
    const from = deployment && hostPortOf(port, deployment.env);
    const to = hostPortOf(port, answers.values);
    if (from === undefined || to === undefined || from === to) continue;
    for (const { component, variable, value } of carriedInto(from, to, others))
      want(component, { [variable]: value }, `${variable} follows the ${port.name} port of ${entry.id} from ${from} to ${to} (R89).`);
  }
  if (plan.services.some(({ change }) => change !== 'keep'))
    for (const { component, values, why } of consumerProposals(entry, others, world.catalog)) want(component, values, why);

  const ready: ReadyPlan[] = [];
  for (const [component, { values, why }] of wanted) {
    const other = world.catalog.get(component);
    if (!other || !others.find((one) => one.component === component)?.record) continue;
    const its = await gatherStackFacts(session, world, place, other, facts.look);
    const itsAnswers = answersOf(other, formContextOf(world, its, values), {});
    const planned = await planComponent(session, world, its, itsAnswers, { kind: 'change' }, asked);
    if (!isEmpty(planned.plan)) ready.push({ ...planned, plan: { ...planned.plan, notes: [...why, ...planned.plan.notes] } });
  }
  return ready;
}
