import { lacksLogin } from '../catalog/standing-checks.ts';
import { answersOfContainers } from '../stack/adopt-answers.ts';
import type { FormContext } from '../stack/form.ts';
import { usedAddresses } from '../stack/networks.ts';
import { isProtected, proxyId } from '../stack/proxy-changes.ts';
import type { FlowWorld } from './flow.ts';
import type { StackFacts } from './stack-facts.ts';

/** What a form begins with. Where containers run, their secrets are taken over; where nobody of us made the folder, their plain values too. */
export function formContextOf(world: FlowWorld, facts: StackFacts, values: Readonly<Record<string, string>>): FormContext {
  const { entry, source, deployment, others, secretsKnown, hasData, engineFacts } = facts;
  const running = answersOfContainers(entry, source, facts.details);
  const portal = world.catalog.entries.find(({ site }) => site?.portal !== undefined);
  const deployed = others.some(({ component }) => component === portal?.id);
  const proxy = others.find(({ component }) => component === proxyId);
  return {
    source,
    ...(deployment && { deployment }),
    others,
    secretsKnown,
    imported: running.secrets,
    hasData,
    runtime: engineFacts.kind,
    suggested: usedAddresses(
      entry,
      world.catalog,
      others.map(({ component }) => component),
    ),
    ...(portal && { portal: { id: portal.id, deployed } }),
    behindPortal: isProtected(proxy, deployment?.record?.site ?? '') || (lacksLogin(entry) && deployed),
    values: deployment ? values : { ...running.values, ...values },
  };
}
