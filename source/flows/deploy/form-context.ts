import { lacksLogin } from '../../catalog/built-in-checks.ts';
import { answersOfContainers } from '../../stack/plan/adopt-answers.ts';
import type { FormContext } from '../../stack/plan/form.ts';
import { usedAddresses } from '../../stack/plan/networks.ts';
import { isProtected, proxyId } from '../../stack/plan/proxy-changes.ts';
import type { StackFacts } from './stack-facts.ts';

/** If containers run, their secrets are adopted; if the folder was not created by Quarterdeck, their plain values too. */
export function formContextOf(facts: StackFacts, values: Readonly<Record<string, string>>): FormContext {
  const { scope, entry, source, deployment, others, secretsKnown, hasData } = facts;
  const { catalog } = scope.context;
  const running = answersOfContainers(entry, source, facts.details);
  const portal = catalog.entries.find(({ site }) => site?.portal !== undefined);
  const ids = others.map(({ component }) => component);
  const deployed = portal !== undefined && ids.includes(portal.id);
  const proxy = others.find(({ component }) => component === proxyId);
  return {
    source,
    deployment,
    others,
    secretsKnown,
    imported: running.secrets,
    hasData,
    runtime: scope.engineFacts.kind,
    suggested: usedAddresses(entry, catalog, ids),
    portal: portal && { id: portal.id, deployed },
    behindPortal: isProtected(proxy, deployment?.record?.site ?? '') || (lacksLogin(entry) && deployed),
    values: deployment ? values : { ...running.values, ...values },
  };
}
