import type { ComposeTool } from '../engine/compose-tool.ts';
import type { Session } from '../session/session.ts';
import type { Finding } from '../stack/finding.ts';
import { askHost, type HostAnswers } from '../stack/host-answers.ts';
import { pinOf } from '../stack/image-pin.ts';
import type { Answers, CheckedPlan, Plan } from '../stack/model.ts';
import { networksOf } from '../stack/networks.ts';
import { type PlanRequest, planDeploy } from '../stack/plan.ts';
import { preflight } from '../stack/preflight.ts';
import { proxyChanges } from '../stack/proxy-changes.ts';
import { restoreSentence } from '../stack/restore-journal.ts';
import type { FlowWorld } from './flow.ts';
import type { StackFacts } from './stack-facts.ts';

/** What a plan is about beyond its answers: see PlanRequest. */
export type PlanIntent = Pick<PlanRequest, 'kind'> & Partial<Pick<PlanRequest, 'newer' | 'pins' | 'rotated' | 'edited' | 'fresh'>>;

/** A plan that is ready to be looked at, and what it was made of. */
export interface ReadyPlan extends CheckedPlan {
  facts: StackFacts;
  answers: Answers;
  /** What preflight asked of the host, for plans that are made together with this one. */
  asked: HostAnswers;
}

/** Where the host has no compose yet, the plan is shown as for one that reads compose files in full; preflight says that it is missing. */
const fullCompose: ComposeTool = { kind: 'docker-compose', generation: 2, version: '', argv: ['docker-compose'], env: {} };

/** The plan, what it changes at the reverse proxy, and all that preflight has to say. Changes nothing. The host is asked anew unless `asked` has its answers. */
export async function planComponent(
  session: Session,
  world: FlowWorld,
  facts: StackFacts,
  answers: Answers,
  intent: PlanIntent,
  asked: HostAnswers = askHost(facts.host, facts.engine, session.signal),
): Promise<ReadyPlan> {
  const { entry, deployment, others, place } = facts;
  // What is taken over from a running container was typed by nobody, and may stand in the files that a review shows.
  for (const answer of Object.values(answers.secrets)) if (answer.from === 'given') session.hide(answer.value);
  const networks = networksOf(entry, answers.values, world.catalog);
  const own = planDeploy({
    ...intent,
    entry,
    source: facts.source,
    answers,
    deployment,
    place,
    stackFolder: facts.stackFolder,
    runtime: facts.engineFacts.kind,
    tool: facts.tool ?? fullCompose,
    networks,
    networksThere: facts.networksThere,
    containers: facts.containers,
    images: new Map([...facts.images].map(([reference, image]) => [reference, pinOf(reference, image)])),
  });
  const deployments = deployment ? [...others, deployment] : others;
  const { site, protect, values } = answers;
  const proxy = proxyChanges({ entry, site, protect, ports: own.ports, values, deployments, catalog: world.catalog });
  const plan: Plan = { ...own, files: [...own.files, ...proxy.files], after: [...own.after, ...proxy.after] };
  const findings: Finding[] = [
    ...proxy.findings,
    ...(await preflight(plan, {
      entry,
      answers,
      host: facts.host,
      engine: facts.engine,
      facts: facts.engineFacts,
      deployments,
      catalog: world.catalog,
      composeTool: facts.tool,
      secretsKnown: facts.secretsKnown,
      secretsMadeMs: facts.secretsMadeMs,
      asked,
      signal: session.signal,
    })),
    ...facts.unfinished
      .filter(({ transaction }) => transaction.plans.some((other) => other.component === entry.id))
      .map(({ transaction, sentence }) => ({
        id: `unfinished:${transaction.run}`,
        level: 'blocking' as const,
        message: `An earlier change of it, by ${transaction.by}, broke off. ${sentence}`,
        advice: 'Finish it or take it back first: quarterdeck recover.',
      })),
    ...facts.restores
      .filter(({ component }) => component === entry.id)
      .map((record) => ({
        id: `unfinished:${record.run}`,
        level: 'blocking' as const,
        message: restoreSentence(record),
        advice: 'Undo it, or run it again: quarterdeck recover.',
      })),
    ...(deployment?.leftOut ?? []).map((name) => ({
      id: `left-out:${name}`,
      level: 'warning' as const,
      message: `${name} lies beside compose.yaml and is left out: compose is told to read compose.yaml alone.`,
      advice: `Put what it says into compose.yaml (quarterdeck edit ${entry.id}), or remove it.`,
    })),
    ...facts.problems.map(({ message, remedy }, index) => ({
      id: `stack-folder:${index + 1}`,
      level: 'warning' as const,
      message,
      advice: remedy,
    })),
  ];
  return { plan, findings, facts, answers, asked };
}
