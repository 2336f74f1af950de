import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { blocking, type Finding } from '../../stack/finding.ts';
import type { Values } from '../../stack/model.ts';
import { answersOf, parseSet } from '../../stack/plan/answers.ts';
import { formOf } from '../../stack/plan/form.ts';
import { consumerProposals } from '../../stack/plan/networks.ts';
import { isEmpty } from '../../stack/plan/plan.ts';
import { reviewOf } from '../../stack/plan/plan-text.ts';
import { carriedInto, hostPortOf } from '../../stack/plan/ports.ts';
import { instanceAdvice, isForeignProject, isInstance } from '../../stack/preflight/instances.ts';
import { cleanLine } from '../../text/clean.ts';
import { exitFailure } from '../components/exec.ts';
import { hasContainer } from '../components/service-targets.ts';
import { onEngine } from '../engine-scope.ts';
import type { FlowOutcome, Todo } from '../flow.ts';
import { optionsOf } from '../flow-options.ts';
import { cancelled } from '../prompt-cancelled.ts';
import { applyPlans } from './apply-plans.ts';
import { withJoined } from './joined-services.ts';
import { planComponent, planData, type ReadyPlan, reviewTogether } from './plan-component.ts';
import { formContextOf, gatherStackFacts, type StackFacts } from './stack-facts.ts';

export const deploy = onEngine(async (scope, input) => {
  const { entry } = input;
  if (!entry) throw new Fault('usage.component', 'A component is required.', 'List components: quarterdeck catalog list');
  const facts = await gatherStackFacts(scope, entry);
  return deployWith(facts, parseSet(optionsOf(input, 'set') ?? [], entry, facts.source), {
    fresh: input.options['fresh'] === true,
    second: input.options['second-instance'] === true,
  });
});

interface DeployOptions {
  fresh?: boolean;
  /** The operator knows of the existing instances. */
  second?: boolean;
  /** Prefix of all step names of a deploy within another flow, so that they are unique in the run. */
  within?: string;
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each round of form, plan and review continues with the answers of the last
async function deployWith(first: StackFacts, given: Values, { fresh, second, within = '' }: DeployOptions): Promise<FlowOutcome> {
  const { scope, entry } = first;
  const { session } = scope;
  let facts = first;
  let values = given;
  let answered: Values | undefined;
  for (let round = 1; ; round++) {
    const context = formContextOf(facts, values);
    // Each round is a separate form in the journal, filled in with the previous answers.
    const form = { ...formOf(entry, context), id: round === 1 ? `${within}deploy` : `${within}deploy-${round}` };
    answered ??= await session.fill(form);
    const answers = answersOf(entry, context, answered);
    session.progress({ id: 'plan', label: 'Checking the host' });
    const kind = facts.deployment || facts.containers.length > 0 ? 'change' : 'deploy';
    const planned = await planComponent(facts, answers, { kind, fresh: fresh || undefined });
    const all = [...planned.findings, ...instancesOnOtherEngines(facts)];
    // With `--second-instance`, the finding is still shown, but no longer blocks.
    const accepted = { level: 'warning', advice: 'The new instance starts without data.' } as const;
    const ready = { ...planned, findings: all.map((one) => (second && isInstance(one) ? { ...one, ...accepted } : one)) };
    session.progress({ id: 'plan', label: 'Checked the host', done: true });
    const { plan, findings } = ready;
    if (isEmpty(plan) && findings.every(({ level }) => level !== 'blocking'))
      return { message: `${entry.id} is up to date.`, data: planData(ready) };
    const [first = ready, ...others] = await withJoined([ready, ...(await planDependants(ready))]);
    const own = reviewOf(first.plan, first.findings);
    const review =
      others.length === 0
        ? own
        : reviewTogether([first, ...others], {
            title: `${own.title}, and change ${others.map((other) => other.plan.component).join(', ')}`,
            label: 'Apply all',
          });
    const choice = await session.review({ ...review, id: `${within}plan-${round}` });
    if (session.dryRun && findings.some((finding) => (isInstance(finding) || isForeignProject(finding)) && finding.level === 'blocking')) {
      const reasons = findings.filter(({ level }) => level === 'blocking');
      const message = [`"${own.title}" is not possible now.`, ...reasons.map(({ message }) => message)].join(' ');
      throw new Fault('refused.preflight', message, [...new Set(reasons.map(({ advice }) => advice))].join(' '));
    }
    if (session.dryRun) return { message: 'Dry run: nothing was changed.', data: planData(ready) };
    if (choice === 'apply') return finish([first, ...others]);
    if (choice === 'edit') {
      values = { ...values, ...plainOf(form, answered) };
      answered = undefined;
      continue;
    }
    if (!choice.startsWith('remedy:')) throw cancelled(`${entry.id} was not ${kind === 'change' ? 'changed' : 'deployed'}.`);
    const finding = findings.find(({ id }) => `remedy:${id}` === choice);
    const changed = await remedy(facts, finding, `${within}${round}-`);
    answered = { ...answered, ...changed };
    values = { ...values, ...changed };
    facts = await gatherStackFacts(scope, entry);
  }
}

/** Returns a finding for each instance of the product on another engine of the same machine: Podman beside Docker. */
function instancesOnOtherEngines({ scope: { engineName, context }, entry, deployment }: StackFacts): Finding[] {
  if (deployment?.record) return [];
  const { engines, components } = context.fleet.snapshot();
  const machineOf = (name: string) => engines.find((one) => one.name === name)?.machine;
  const beside = components.filter(
    ({ id, entry: known = id, host, services }) =>
      known === entry.id && host !== engineName && machineOf(host) === machineOf(engineName) && services.some(hasContainer),
  );
  return beside.map(({ id, host, state }) =>
    blocking(
      `instance:${host}/${id}`,
      `${entry.id} already exists on another engine of this machine: ${id} on ${cleanLine(host)} (${cleanLine(state.label)}).`,
      instanceAdvice(entry.id),
    ),
  );
}

function plainOf(form: ReturnType<typeof formOf>, answered: Values): Record<string, string> {
  return Object.fromEntries(
    form.fields.flatMap(({ id, kind }) => (kind !== 'secret' && answered[id] !== undefined ? [[id, answered[id]]] : [])),
  ) as Record<string, string>;
}

async function remedy({ scope, entry: { id } }: StackFacts, finding: Finding | undefined, within: string): Promise<Values | undefined> {
  const { session, context, engineName, host } = scope;
  const what = finding?.remedy;
  if (!finding || !what) return undefined;
  if (what.kind === 'set') return what.values;
  if (what.kind === 'deploy') {
    const entry = context.catalog.get(what.component);
    if (!entry) return undefined;
    const outcome = await deployWith(await gatherStackFacts(scope, entry), {}, { within: `${within}${entry.id}-` });
    session.show({ kind: 'text', text: outcome.message });
    return undefined;
  }
  if (what.kind === 'flow') {
    const flow = context.flowOf?.(what.flow);
    if (!flow) throw new Fault('failed.remedy', `Unknown procedure ${what.flow}.`, finding.advice);
    const outcome = await flow.run(session, { engineName, words: [], options: what.options }, context);
    session.show({ kind: 'text', text: outcome.message });
    return undefined;
  }
  const { argv } = what;
  const outcome = await session.act({
    id: `${within}remedy ${finding.id}`,
    right: 'operate',
    title: what.label,
    request: argv.join(' '),
    target: { host: engineName, component: id },
    run: (grant) => host.run(grant, argv, { signal: grant.signal, limitMs: 60_000 }),
    failure: exitFailure,
  });
  if (outcome && outcome.exitCode !== 0) {
    const last = cleanLine(new TextDecoder().decode(outcome.stderr).trim().split('\n').at(-1) ?? '');
    throw new Fault('failed.remedy', `${argv[0] ?? ''} ended with exit code ${outcome.exitCode}: ${last}`, finding.advice);
  }
  return undefined;
}

function setupTasksToDo(entry: CatalogEntry, component: ComponentView | undefined): readonly Todo[] {
  if (component === undefined) return [];
  const done = new Set(component.setupTasks.filter((task) => task.done).map(({ id }) => id));
  return entry.firstRun
    .filter(({ id }) => !done.has(id))
    .map(({ id, title, detail, done: condition }) => ({
      ...{ id, title: cleanLine(title).replace(/\.$/, ''), detail: cleanLine(detail) },
      byHand: condition === undefined,
    }));
}

async function finish(all: readonly [ReadyPlan, ...ReadyPlan[]]): Promise<FlowOutcome> {
  const { run, component } = await applyPlans(all);
  const [ready, ...others] = all;
  const { entry, scope } = ready.facts;
  const url = ready.answers.site ? `https://${ready.answers.site}` : component?.url;
  const parts = [
    `Deployed ${entry.id}: ${component?.state.label ?? 'state unknown'}${url ? `, at ${cleanLine(url)}` : ''}.`,
    others.length > 0 ? `Also changed: ${others.map((other) => other.plan.component).join(', ')}.` : '',
  ].filter(Boolean);
  const items = setupTasksToDo(entry, component);
  return {
    message: parts.join(' '),
    ...(items.length > 0 && { todo: { component: entry.id, items } }),
    data: {
      component: entry.id,
      host: scope.engineName,
      run,
      state: component?.state,
      ...(url && { url }),
      ...(items.length > 0 && { todo: items.map(({ id, title, detail }) => ({ id, title, ...(detail !== '' && { detail }) })) }),
      ...planData(ready),
    },
  };
}

/** Plans what other components require: fields that name a port which changes (R89), and joining this component's network. */
async function planDependants({ facts, plan, answers, asked }: ReadyPlan): Promise<ReadyPlan[]> {
  const { scope, entry, deployment, others } = facts;
  const { catalog } = scope.context;
  const wanted = new Map<string, { values: Record<string, string>; why: string[] }>();
  const want = (component: string, values: Values, why: string) => {
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
      want(component, { [variable]: value }, `${variable} changes from ${from} to ${to}, to match the ${port.name} port of ${entry.id}.`);
  }
  if (plan.services.some(({ change }) => change !== 'keep'))
    for (const { component, values, why } of consumerProposals(entry, others, catalog)) want(component, values, why);

  const ready: ReadyPlan[] = [];
  for (const [component, { values, why }] of wanted) {
    const other = catalog.get(component);
    if (!other || !others.find((one) => one.component === component)?.record) continue;
    const its = await gatherStackFacts(scope, other, facts);
    const itsAnswers = answersOf(other, formContextOf(its, values), {});
    const planned = await planComponent(its, itsAnswers, { kind: 'change' }, asked);
    if (!isEmpty(planned.plan)) ready.push({ ...planned, plan: { ...planned.plan, notes: [...why, ...planned.plan.notes] } });
  }
  return ready;
}
