import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { Review } from '../../session/session.ts';
import { restoreSentence } from '../../stack/backup/restore-journal.ts';
import { blocking, type Finding, warning } from '../../stack/finding.ts';
import type { Answers, Plan } from '../../stack/model.ts';
import { pinOf } from '../../stack/plan/image-pin.ts';
import { networksOf } from '../../stack/plan/networks.ts';
import { isEmpty, type PlanRequest, planDeploy } from '../../stack/plan/plan.ts';
import { planJson, reviewOf, summaryOf } from '../../stack/plan/plan-text.ts';
import { proxyChanges } from '../../stack/plan/proxy-changes.ts';
import { type HostAnswers, queryHost } from '../../stack/preflight/host-facts.ts';
import { preflight } from '../../stack/preflight/preflight.ts';
import type { StackFacts } from './stack-facts.ts';

export interface ReadyPlan {
  plan: Plan;
  findings: readonly Finding[];
  facts: StackFacts;
  answers: Answers;
  /** The host facts that preflight read, for plans that are created together with this one. */
  asked: HostAnswers;
}

export function planData({ plan, findings, facts }: ReadyPlan): Record<string, unknown> {
  return planJson(plan, findings, isEmpty(plan), facts.scope.session.withoutSecrets);
}

/** If the host has no compose yet, the plan assumes one that supports compose files in full; preflight reports that it is missing. */
const fullCompose: ComposeTool = { kind: 'docker-compose', generation: 2, version: '', argv: ['docker-compose'], env: {} };

/** Changes nothing. Queries the host again unless `asked` has its answers. */
export async function planComponent(
  facts: StackFacts,
  answers: Answers,
  intent: Pick<PlanRequest, 'kind'> & Partial<Pick<PlanRequest, 'newer' | 'pins' | 'rotated' | 'edited' | 'fresh'>>,
  asked: HostAnswers = queryHost(facts.scope.host, facts.scope.engine, facts.scope.signal),
): Promise<ReadyPlan> {
  const { entry, deployment, others, scope } = facts;
  const { session, context, engineName, host, engine, engineFacts, signal } = scope;
  const { catalog } = context;
  // Secrets adopted from a running container were not typed, so they are not masked yet, and may be in the files that a review shows.
  for (const answer of Object.values(answers.secrets)) if (answer.from === 'given') session.hide(answer.value);
  const networks = networksOf(entry, answers.values, catalog);
  const own = planDeploy({
    ...facts,
    ...intent,
    ...{ answers, engineName, networks },
    runtime: engineFacts.kind,
    tool: facts.tool ?? fullCompose,
    images: new Map([...facts.images].map(([reference, image]) => [reference, pinOf(reference, image)])),
  });
  const deployments = deployment ? [...others, deployment] : others;
  const { site, protect, values } = answers;
  const proxy = proxyChanges({ entry, site, protect, ports: own.ports, values, deployments, catalog });
  const plan: Plan = { ...own, files: [...own.files, ...proxy.files], after: [...own.after, ...proxy.after] };
  const findings: Finding[] = [
    ...proxy.findings,
    ...(await preflight(plan, {
      entry,
      answers,
      host,
      engine,
      facts: engineFacts,
      deployments,
      catalog,
      composeTool: facts.tool,
      secretsKnown: facts.secretsKnown,
      secretsMadeMs: facts.secretsMadeMs,
      asked,
      signal,
    })),
    ...facts.unfinished
      .filter(({ transaction }) => transaction.plans.some((other) => other.component === entry.id))
      .map(({ transaction: { run, by }, summary }) => {
        const message = `An earlier change to ${entry.id}, by ${by}, was interrupted. ${summary}`;
        return blocking(`unfinished:${run}`, message, 'Finish or undo that change first: quarterdeck recover');
      }),
    ...facts.restores
      .filter(({ component }) => component === entry.id)
      .map((record) => {
        const advice = record.state === 'replaced' ? 'Finish the restore' : 'Undo the restore, or run it again';
        return blocking(`unfinished:${record.run}`, restoreSentence(record), `${advice}: quarterdeck recover`);
      }),
    ...(deployment?.skipped ?? []).map((name) =>
      warning(
        `left-out:${name}`,
        `${name} is ignored, because Quarterdeck uses only compose.yaml.`,
        `Move the content of ${name} to compose.yaml (quarterdeck edit ${entry.id}), or remove the file.`,
      ),
    ),
    ...facts.problems.map(({ message, remedy }, index) => warning(`stack-folder:${index + 1}`, message, remedy)),
  ];
  return { plan, findings, facts, answers, asked };
}

/** Each plan has its sections and findings under its name. Remedies belong to a form, and only the first plan has one. */
export function reviewTogether(ready: readonly ReadyPlan[], { title, label }: { title: string; label: string }): Review {
  const reviews = ready.map(({ plan, findings }) => ({ id: plan.component, review: reviewOf(plan, findings) }));
  const blocked = reviews.flatMap(({ review }) => review.actions.flatMap((action) => action.blocked ?? []))[0];
  return {
    id: 'plans',
    title,
    sections: reviews.flatMap(({ id, review }) => review.sections.map((section) => ({ ...section, title: `${id}: ${section.title}` }))),
    findings: reviews.flatMap(({ id, review }, index) =>
      review.findings.map(({ remedy, ...finding }) => ({
        ...finding,
        ...(index === 0 ? { id: finding.id, ...(remedy !== undefined && { remedy }) } : { id: `${id}:${finding.id}` }),
      })),
    ),
    summary: summaryOf(ready.map(({ plan }) => plan)),
    actions: [
      { id: 'apply', label, ...(blocked !== undefined && { blocked }) },
      { id: 'cancel', label: 'Cancel' },
    ],
  };
}
