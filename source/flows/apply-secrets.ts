import type { Session } from '../session/session.ts';
import type { SecretAnswer } from '../stack/model.ts';
import { applyPlans } from './apply-plans.ts';
import type { FlowWorld, SecretChange } from './flow.ts';
import { withJoined } from './joined-services.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { lookAtHost } from './stack-facts.ts';
import { standing } from './standing.ts';

/** Puts versions of secrets in force in all that use them, in one transaction. Answers the services whose containers were made anew. */
export async function applySecrets(
  session: Session,
  world: FlowWorld,
  place: string,
  changes: readonly SecretChange[],
  applied?: () => Promise<void>,
): Promise<{ restarted: readonly string[] }> {
  const ready: ReadyPlan[] = [];
  const look = await lookAtHost(session, world, place);
  for (const component of new Set(changes.map((change) => change.component))) {
    const own = changes.filter((change) => change.component === component);
    const { facts, answers } = await standing(session, world, place, component, look);
    const versions = own.map(({ variable, version }): [string, SecretAnswer] => [variable, { from: 'keep', version }]);
    ready.push(
      await planComponent(
        session,
        world,
        facts,
        { ...answers, secrets: { ...answers.secrets, ...Object.fromEntries(versions) } },
        { kind: 'change', rotated: new Set(own.map(({ variable }) => variable)) },
        look.asked,
      ),
    );
  }
  await applyPlans(session, world, await withJoined(session, world, ready), { ...(applied && { meanwhile: applied }) });
  return {
    restarted: ready.flatMap(({ plan }) =>
      plan.services.filter(({ change }) => change === 'recreate' || change === 'restart').map(({ name }) => `${plan.component}/${name}`),
    ),
  };
}
