import { Fault, isAbort, messageOf } from '../../faults/fault.ts';
import { composeLabel } from '../../fleet/grouping.ts';
import { componentsToStart, isMissed, isStale, providersFirst, sealedManagers } from '../../fleet/missing-components.ts';
import type { ComponentView, ServiceView } from '../../fleet/model.ts';
import { isUpState, startProblem, takenPortIn } from '../../fleet/service-state.ts';
import type { Session } from '../../session/session.ts';
import { runComposeCommand } from '../../stack/apply/compose-command.ts';
import { readServices } from '../../stack/plan/compose-document.ts';
import { listDeployments, readDeployment } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { plainWords } from '../../text/program-words.ts';
import { namesText } from '../../text/words.ts';
import { readInterrupted, recoverHalted, settleRotations } from '../backup/recover-halted.ts';
import { startOrder } from '../components/service-targets.ts';
import { start } from '../components/start.ts';
import { showEvidence, waitUntilHealthy } from '../components/wait-until-healthy.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowOutcome } from '../flow.ts';
import { secretValues } from '../secrets/secret-values.ts';
import { applyPlans } from './apply-plans.ts';
import { type Joined, joinedTo, rejoining } from './joined-services.ts';
import { neededComposeTool } from './stack-facts.ts';

interface Failure {
  component: string;
  why: string;
}

export const up = onEngine(async (scope, input, session, context) => {
  const resumed = await startInterrupted(scope);
  const { components } = await context.fleet.settle(session.signal, 'complete');
  const here = components.filter(({ host, deployed }) => host === input.engineName && deployed);
  const names = input.words.filter((word) => word !== 'all');
  const asked = meant(here, names, input.engineName);
  const routes = asked.length > 0 ? await routesIn(scope, here) : (new Map() as Routes);
  const wanted = providersFirst(
    asked,
    (id) => context.catalog.get(id),
    (id) => (routes.get(id) ?? []).map(({ gateway }) => gateway),
  );
  if (wanted.length === 0) {
    await settleRotations(scope);
    const sealed = showSealed(session, sealedIn(components, input.engineName));
    return {
      message: `${resumed.length > 0 ? `Started after an interrupted operation: ${namesText(resumed)}. ` : ''}Nothing to start: ${upText(here, names)}${unwellSentence(here, sealed.ids)}${sealed.sentence}`,
      data: { started: resumed, down: [], sealed: sealed.ids },
    };
  }
  for (const { id } of wanted) session.show({ kind: 'item', id, title: id, state: 'todo' });
  const back: string[] = [];
  const down: Failure[] = [];
  for (const component of wanted) {
    const { id } = component;
    session.show({ kind: 'item', id, title: id, state: 'running' });
    try {
      const all = wanted.map((one) => one.id);
      const evidence = await bringUp(scope, component, { named: input.words.includes(id), routes, wanted: all });
      back.push(id);
      session.show({ kind: 'item', id, title: id, state: 'ok', evidence });
    } catch (thrown) {
      // The other components are still started.
      if (session.readOnly || session.signal.aborted || isAbort(thrown) || (thrown instanceof Fault && thrown.kind === 'interrupted'))
        throw thrown;
      const why = whyDown(scope, id, messageOf(thrown));
      down.push({ component: id, why });
      session.show({ kind: 'item', id, title: id, state: 'blocked', evidence: why });
    }
  }
  // Rotated values are written to their data by programs in containers that run by now.
  const unsettled = await settleRotations(scope).then(
    () => undefined,
    (thrown: unknown) => {
      if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
      return thrown;
    },
  );
  context.fleet.refresh();
  return outcomeOf(session, { back, down, unsettled }, sealedIn(context.fleet.snapshot().components, input.engineName));
});

/** Starts containers that an interrupted backup or a similar flow had stopped. Returns the components. */
async function startInterrupted(scope: EngineScope): Promise<string[]> {
  const { session } = scope;
  const records = (await readInterrupted(scope)).filter(({ secrets }) => !secrets);
  for (const record of records) await recoverHalted(scope, record);
  return session.dryRun ? [] : [...new Set(records.map(({ component }) => cleanLine(component)))];
}

/** Returns the sentences about other states: that none has to be started does not mean that all are healthy. */
function unwellSentence(here: readonly ComponentView[], sealed: readonly string[]): string {
  const those = (severity: 'error' | 'busy') =>
    namesText(
      here.filter(({ id, state }) => state.severity === severity && !sealed.includes(id)).map(({ id, state }) => `${id} (${state.label})`),
    );
  const [unwell, busy] = [those('error'), those('busy')];
  return `${unwell && ` Not healthy: ${unwell}.`}${busy && ` Not ready yet: ${busy}.`}`;
}

function sealedIn(components: readonly ComponentView[], engineName: string): string[] {
  return sealedManagers(components.filter(({ host }) => host === engineName)).map(({ id }) => id);
}

function whyDown({ context, engineName }: EngineScope, id: string, words: string): string {
  const taken = takenPortIn(words)?.address;
  if (taken === undefined) return startProblem(words);
  const holder = context.fleet
    .snapshot()
    .ports.find(({ host, address, port, open, owner }) => host === engineName && open && owner !== id && `${address}:${port}` === taken);
  return holder?.owner ? `port ${taken} is in use by ${cleanLine(holder.owner)}` : startProblem(words);
}

/** A secrets manager that runs again must be unsealed before it can be used. */
function showSealed(session: Session, ids: readonly string[]): { ids: readonly string[]; sentence: string } {
  for (const id of ids)
    session.show({ kind: 'item', id: `unseal ${id}`, title: `Unseal ${id}`, state: 'todo', evidence: `quarterdeck unseal ${id}` });
  const sentence = ` Sealed, so unavailable until unsealed: ${ids.join(', ')}.`;
  return { ids, sentence: ids.length === 0 ? '' : sentence };
}

function meant(here: readonly ComponentView[], names: readonly string[], engineName: string): readonly ComponentView[] {
  if (names.length === 0) return componentsToStart(here);
  return names.flatMap((name) => {
    const found = here.find(({ id }) => id === name);
    if (!found) {
      const message = `${cleanLine(name)} was not deployed by Quarterdeck on ${engineName}.`;
      const remedy = `Deployed: ${here.map(({ id }) => id).join(', ') || 'none'}. To start another component: quarterdeck start ${cleanLine(name)}`;
      throw new Fault('usage.component', message, remedy);
    }
    return found.services.some((service) => isDown(service) || isStale(service)) ? [found] : [];
  });
}

/** Returns the components that need no start, as the end of a sentence. */
function upText(here: readonly ComponentView[], names: readonly string[]): string {
  if (names.length > 0) return `${namesText(names)} ${names.length === 1 ? 'is' : 'are'} running or paused.`;
  if (here.length === 0) return 'Quarterdeck has not deployed any components.';
  return 'all deployed components that should be running are running.';
}

const isDown = ({ state }: ServiceView) => !isUpState(state) && state !== 'completed' && state !== 'paused';

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: three ways to bring services up, with the same evidence if one fails
async function bringUp(
  scope: EngineScope,
  component: ComponentView,
  { named, routes, wanted: all }: { named: boolean; routes: Routes; wanted: readonly string[] },
): Promise<string> {
  const { session, context, engineName } = scope;
  const wanted = component.services.filter((service) => isStale(service) || (named ? isDown(service) : isMissed(service)));
  const sinceMs = Date.now();
  try {
    const joining = (routes.get(component.id) ?? []).find(({ services }) => wanted.some(({ name }) => services.includes(name)));
    if (joining) await joinAgain(scope, { component: component.id, services: joining.services }, joining.gateway);
    else if (wanted.some(({ state }) => state === 'missing')) {
      await composeUp(scope, component);
      // Components that are also to be brought up are handled separately.
      for (const [id, joined] of routes)
        for (const { gateway, services } of joined)
          if (gateway === component.id && !all.includes(id)) await joinAgain(scope, { component: id, services }, gateway);
    } else {
      // Started together, the containers wait for each other.
      const together = component.services.every((service) => wanted.includes(service) || service.state === 'completed');
      const ordered = startOrder(
        wanted,
        ({ name }) => name,
        ({ dependsOn = [] }) => dependsOn,
      );
      const inputs = together ? [{}] : ordered.map(({ name }) => ({ service: name }));
      for (const which of inputs) await start(session, { engineName, component, words: [], options: {}, ...which }, context);
    }
  } catch (thrown) {
    if (!session.signal.aborted && !session.dryRun) await showEvidence(scope, component);
    throw thrown;
  }
  if (session.dryRun) return 'dry-run';
  return (await waitUntilHealthy(scope, component.id, { sinceMs })).state.label;
}

type Routes = ReadonlyMap<string, readonly { gateway: string; services: readonly string[] }[]>;

async function routesIn(scope: EngineScope, here: readonly ComponentView[]): Promise<Routes> {
  const { signal } = scope;
  const { deployments } = await listDeployments(scope.host, await scope.stackFolder(), signal);
  const containers = await scope.engine.list(signal);
  const routes = new Map<string, { gateway: string; services: readonly string[] }[]>();
  for (const deployment of deployments) {
    const services = Object.keys(readServices(deployment.compose));
    const others = deployments.filter(({ component }) => component !== deployment.component && here.some(({ id }) => id === component));
    for (const joined of joinedTo(deployment, services, others, containers))
      routes.set(joined.component, [...(routes.get(joined.component) ?? []), { gateway: deployment.component, services: joined.services }]);
  }
  return routes;
}

/** A mere start would join the previous container's network again. */
async function joinAgain(scope: EngineScope, joined: Joined, gateway: string): Promise<void> {
  await applyPlans([await rejoining(scope, joined, gateway)]);
}

/** Creates missing containers from the compose file, with the secrets in effect; existing containers stay as they are. */
async function composeUp(scope: EngineScope, component: ComponentView): Promise<void> {
  const { session, engineName, host, signal } = scope;
  const [deployment, tool] = await Promise.all([
    readDeployment(host, await scope.stackFolder(), component.id, signal),
    neededComposeTool(scope),
  ]);
  if (!deployment?.record) {
    const message = `The folder of ${component.id} ${deployment ? 'was not created by Quarterdeck' : 'no longer exists'}.`;
    throw new Fault('refused.notOurs', message, `Deploy the component again: quarterdeck deploy ${component.id}`);
  }
  const secrets = await secretValues(scope, component.id, deployment.record.secrets);
  const words = ['up', '-d', '--no-recreate'];
  const ended = await session.act({
    id: `up ${component.id}`,
    right: 'operate',
    request: `${tool.argv.join(' ')} ${words.join(' ')} in ${deployment.folder}`,
    target: { host: engineName, component: component.key },
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      const program = await runComposeCommand(grant, host, { deployment, tool, secrets, words });
      program.stdout.resume();
      return program.ended;
    },
  });
  if (ended === undefined) return;
  const lines = plainWords(ended.stderr).trim().split('\n').map(cleanLine);
  const last = (lines.findLast((line) => line.startsWith('Error: ')) ?? lines.at(-1) ?? '').replace(/^Error: /, '');
  // podman-compose 1.0 reports success whatever happened.
  const stuck = ended.exitCode === 0 ? await notStarted(scope, component) : undefined;
  if (ended.exitCode === 0 && stuck === undefined) return;
  const what = stuck === undefined ? `compose ended with exit code ${ended.exitCode}` : `${stuck} was not started`;
  const message = `${what}${last === '' ? '.' : `: ${last}`}`;
  throw new Fault('failed.up', message, `For details, run: quarterdeck compose ${component.id} -- up -d`);
}

async function notStarted({ engine, signal }: EngineScope, { project }: ComponentView): Promise<string | undefined> {
  const containers = await engine.list(signal);
  const found = containers.find((one) => one.state === 'created' && composeLabel(one, 'project') === project);
  return found && cleanLine(composeLabel(found, 'service') ?? found.name);
}

/** @param seen.unsettled why an interrupted rotation could not be settled */
function outcomeOf(
  session: Session,
  { back, down, unsettled }: { back: readonly string[]; down: readonly Failure[]; unsettled: Fault | undefined },
  ids: readonly string[],
): FlowOutcome {
  if (session.dryRun) return { message: 'Dry run: nothing was started.', data: { started: [], down: [] } };
  const came = back.length > 0 ? `Started: ${back.join(', ')}.` : '';
  const sealed = showSealed(session, ids);
  if (down.length === 0 && !unsettled) return { message: `${came}${sealed.sentence}`, data: { started: back, down, sealed: sealed.ids } };
  const [first, ...more] = down.map(({ component }) => component);
  // If several are down, the list above states the reasons.
  const names = more.length > 0 ? [first, ...more].join(', ') : `${first} (${down[0]?.why.replace(/\.$/, '')})`;
  const parts = [first && `Failed to start: ${names}.`, came, sealed.sentence.trim(), unsettled?.message];
  const logs = `Check the log${more.length === 0 ? '' : 's'}: quarterdeck logs ${first}`;
  const { code, remedy } =
    first === undefined && unsettled
      ? unsettled
      : { code: 'failed.up' as const, remedy: `${logs}${more.length > 0 ? ` (also for ${more.join(', ')})` : ''}.` };
  throw new Fault(code, parts.filter(Boolean).join(' '), remedy);
}
