import type { SecretAnswer } from '../../stack/model.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { SecretChange } from '../flow.ts';
import { applyPlans } from './apply-plans.ts';
import { withJoined } from './joined-services.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { deployed, inspectHost } from './stack-facts.ts';

/** Applies these versions in all components that use them, in one transaction. Returns the services that were recreated or restarted. */
export async function applySecrets(scope: EngineScope, changes: readonly SecretChange[], applied?: () => Promise<void>) {
  const ready: ReadyPlan[] = [];
  const look = await inspectHost(scope);
  for (const component of new Set(changes.map((change) => change.component))) {
    const own = changes.filter((change) => change.component === component);
    const { facts, answers } = await deployed(scope, component, look);
    const versions = own.map(({ variable, version }): [string, SecretAnswer] => [variable, { from: 'keep', version }]);
    const secrets = { ...answers.secrets, ...Object.fromEntries(versions) };
    const rotated = new Set(own.map(({ variable }) => variable));
    ready.push(await planComponent(facts, { ...answers, secrets }, { kind: 'change', rotated }, look.asked));
  }
  await applyPlans(await withJoined(ready), { meanwhile: applied });
  return {
    restarted: ready.flatMap(({ plan }) =>
      plan.services.filter(({ change }) => change === 'recreate' || change === 'restart').map(({ name }) => `${plan.component}/${name}`),
    ),
  };
}
