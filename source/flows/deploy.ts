import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { answersOf, parseSet } from '../stack/answers.ts';
import type { Finding } from '../stack/finding.ts';
import { formOf } from '../stack/form.ts';
import { isEmpty } from '../stack/plan.ts';
import { planJson, reviewOf } from '../stack/plan-text.ts';
import { blocking } from '../stack/preflight-context.ts';
import { instanceAdvice, isForeignProject, isInstance } from '../stack/preflight-instances.ts';
import { cleanLine } from '../text/clean.ts';
import { deployAbout } from './about-stack.ts';
import { applyPlans } from './apply-plans.ts';
import { planDependants } from './dependants.ts';
import { exitFailure } from './exec.ts';
import { dutiesToDo } from './first-run.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { formContextOf } from './form-context.ts';
import { withJoined } from './joined-services.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { reviewTogether } from './review-together.ts';
import { hasContainer } from './service-targets.ts';
import { gatherStackFacts, type StackFacts } from './stack-facts.ts';

/** From "I want one" to a healthy one: a form, a plan to look at, and then all of it or nothing. For one that is there already: the same, with what stands there. */
export const deploy: Flow = {
  ...deployAbout,
  async run(session, input, world) {
    const entry = entryOf(input);
    const set = input.options['set'];
    const words = typeof set === 'string' ? [set] : Array.isArray(set) ? (set as readonly string[]) : [];
    const facts = await gatherStackFacts(session, world, input.place, entry);
    return deployWith(session, world, facts, parseSet(words, entry, facts.source), {
      fresh: input.options['fresh'] === true,
      second: input.options['second-instance'] === true,
    });
  },
};

function entryOf(input: FlowInput) {
  if (input.entry) return input.entry;
  throw new Fault({
    code: 'usage.component',
    message: 'No component was named.',
    remedy: 'Name one; "quarterdeck catalog list" lists them.',
  });
}

async function deployWith(
  session: Session,
  world: FlowWorld,
  first: StackFacts,
  given: Readonly<Record<string, string>>,
  // `within`: begins the names of all steps of one that is deployed in the middle of another, so that no two of one run are the same.
  // `second`: the operator knows of the instances that run already.
  { fresh, second = false, within = '' }: { fresh: boolean; second?: boolean; within?: string },
): Promise<FlowOutcome> {
  let facts = first;
  let values = given;
  let answered: Readonly<Record<string, string>> | undefined;
  for (let round = 1; ; round++) {
    const { entry } = facts;
    const context = formContextOf(world, facts, values);
    // Each round is a form of its own for the journal: what was answered before stands in it.
    const form = { ...formOf(entry, context), id: round === 1 ? `${within}deploy` : `${within}deploy-${round}` };
    answered ??= await session.fill(form);
    const answers = answersOf(entry, context, answered);
    session.progress({ id: 'plan', label: 'Looking at the host' });
    const planned = await planComponent(session, world, facts, answers, {
      kind: facts.deployment || facts.containers.length > 0 ? 'change' : 'deploy',
      ...(fresh && { fresh }),
    });
    const all = [...planned.findings, ...instancesOnOtherEngines(world, facts)];
    const ready = { ...planned, findings: second ? all.map(acceptInstance) : all };
    session.progress({ id: 'plan', label: 'Looked at the host', done: true });
    const { plan, findings } = ready;
    if (isEmpty(plan) && findings.every(({ level }) => level !== 'blocking')) {
      return {
        message: `${entry.id}: there is nothing to change, it is so already.`,
        data: planJson(plan, findings, isEmpty(plan), session.withoutSecrets),
      };
    }
    const [first = ready, ...others] = await withJoined(session, world, [ready, ...(await planDependants(session, world, ready))]);
    const own = reviewOf(first.plan, first.findings);
    const review =
      others.length === 0
        ? own
        : reviewTogether([first, ...others], {
            title: `${own.title}, and with it ${others.map((other) => other.plan.component).join(', ')}`,
            label: 'Apply all of it',
          });
    const choice = await session.review({ ...review, id: `${within}plan-${round}` });
    if (
      session.rehearsing &&
      findings.some((finding) => (isInstance(finding) || isForeignProject(finding)) && finding.level === 'blocking')
    ) {
      const reasons = findings.filter(({ level }) => level === 'blocking');
      throw new Fault({
        code: 'refused.preflight',
        message: [`${own.title} cannot be done now.`, ...reasons.map(({ message }) => message)].join(' '),
        remedy: [...new Set(reasons.map(({ advice }) => advice))].join(' '),
      });
    }
    if (session.rehearsing)
      return { message: 'Rehearsed: nothing was changed.', data: planJson(plan, findings, isEmpty(plan), session.withoutSecrets) };
    if (choice === 'apply') return finish(session, world, [first, ...others]);
    if (choice === 'edit') {
      values = { ...values, ...plainOf(form, answered) };
      answered = undefined;
      continue;
    }
    if (!choice.startsWith('remedy:')) {
      throw new Fault({
        code: 'interrupted.cancelled',
        message: `Nothing was changed: ${entry.id} was not deployed.`,
        remedy: 'Start it again whenever you like.',
      });
    }
    const finding = findings.find(({ id }) => `remedy:${id}` === choice);
    const changed = await remedy(session, world, facts, finding, `${within}${round}-`);
    if (changed) {
      answered = { ...answered, ...changed };
      values = { ...values, ...changed };
    }
    facts = await gatherStackFacts(session, world, facts.place, entry);
  }
}

/** The same product on another engine of the same machine: Podman beside Docker. */
function instancesOnOtherEngines({ fleet }: FlowWorld, { place, entry, deployment }: StackFacts): Finding[] {
  if (deployment?.record) return [];
  const { places, components } = fleet.snapshot();
  const machineOf = (name: string) => places.find((one) => one.name === name)?.machine;
  const beside = components.filter(
    ({ id, entry: known = id, host, services }) =>
      known === entry.id && host !== place && machineOf(host) === machineOf(place) && services.some(hasContainer),
  );
  return beside.map(({ id, host, word }) =>
    blocking(
      `instance:${host}/${id}`,
      `${entry.id} is on another engine of this machine already: ${id} on ${cleanLine(host)} (${cleanLine(word)}).`,
      instanceAdvice(entry.id),
    ),
  );
}

/** For `--second-instance`: it is still shown, and no longer in the way. */
function acceptInstance(finding: Finding): Finding {
  return isInstance(finding) ? { ...finding, level: 'warning', advice: 'The new instance starts with data of its own.' } : finding;
}

/** What was typed, but for secrets: those are asked again. */
function plainOf(form: ReturnType<typeof formOf>, answered: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    form.fields.flatMap(({ id, kind }) => (kind !== 'secret' && answered[id] !== undefined ? [[id, answered[id]]] : [])),
  ) as Record<string, string>;
}

/** Does what one key of a review stands for. Answers the values that it sets. */
async function remedy(
  session: Session,
  world: FlowWorld,
  facts: StackFacts,
  finding: Finding | undefined,
  within: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const what = finding?.remedy;
  if (!finding || !what) return undefined;
  if (what.kind === 'set') return { ...what.values, ...(what.site !== undefined && { site: what.site }) };
  if (what.kind === 'deploy') {
    const entry = world.catalog.get(what.component);
    if (!entry) return undefined;
    const outcome = await deployWith(
      session,
      world,
      await gatherStackFacts(session, world, facts.place, entry),
      {},
      {
        fresh: false,
        within: `${within}${entry.id}-`,
      },
    );
    session.show({ kind: 'text', text: outcome.message });
    return undefined;
  }
  if (what.kind === 'flow') {
    const { flows } = await import('./registry.ts');
    const flow = flows.find(({ id }) => id === what.flow);
    if (!flow) throw new Fault({ code: 'failed.remedy', message: `There is no procedure ${what.flow}.`, remedy: finding.advice });
    const outcome = await flow.run(session, { place: facts.place, words: [], options: what.options }, world);
    session.show({ kind: 'text', text: outcome.message });
    return undefined;
  }
  const { argv } = what;
  const outcome = await session.act({
    id: `${within}remedy ${finding.id}`,
    right: 'operate',
    title: what.label,
    request: argv.join(' '),
    target: { host: facts.place, component: facts.entry.id },
    run: (grant) => facts.host.run(grant, argv, { signal: grant.signal, limitMs: 60_000 }),
    failure: exitFailure,
  });
  if (outcome && outcome.exitCode !== 0) {
    throw new Fault({
      code: 'failed.remedy',
      message: `${argv[0] ?? ''} ended with exit code ${outcome.exitCode}: ${cleanLine(new TextDecoder().decode(outcome.stderr).trim().split('\n').at(-1) ?? '')}`,
      remedy: finding.advice,
    });
  }
  return undefined;
}

async function finish(session: Session, world: FlowWorld, all: readonly [ReadyPlan, ...ReadyPlan[]]): Promise<FlowOutcome> {
  const { run, component } = await applyPlans(session, world, all);
  const [ready, ...others] = all;
  const { entry, place } = ready.facts;
  const url = ready.answers.site ? `https://${ready.answers.site}` : component?.url;
  const parts = [
    `${entry.id} is deployed: ${component?.word ?? 'not seen yet'}${url ? `, at ${cleanLine(url)}` : ''}.`,
    others.length > 0 ? `Changed with it: ${others.map((other) => other.plan.component).join(', ')}.` : '',
  ].filter(Boolean);
  const items = dutiesToDo(entry, component);
  return {
    message: parts.join(' '),
    ...(items.length > 0 && { todo: { component: entry.id, items } }),
    data: {
      component: entry.id,
      host: place,
      run,
      state: component?.state,
      word: component?.word,
      ...(url && { url }),
      ...(items.length > 0 && { todo: items.map(({ id, title, detail }) => ({ id, title, ...(detail !== '' && { detail }) })) }),
      ...planJson(ready.plan, ready.findings, false, session.withoutSecrets),
    },
  };
}
