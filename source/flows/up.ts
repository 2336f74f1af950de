import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import { isMissed, isStale, providersFirst, sealedManagers, toBringUp } from '../fleet/come-back.ts';
import { composeLabel } from '../fleet/grouping.ts';
import type { ComponentView, ServiceView } from '../fleet/model.ts';
import { isUpState, startProblem, takenPortIn } from '../fleet/service-state.ts';
import type { Session } from '../session/session.ts';
import { runComposeCommand } from '../stack/compose-command.ts';
import { listDeployments, readDeployment } from '../stack/read-deployment.ts';
import { readServices } from '../stack/service-changes.ts';
import { cleanLine } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import { namesText } from '../text/words.ts';
import { upAbout } from './about-stack.ts';
import { applyPlans } from './apply-plans.ts';
import type { Flow, FlowOutcome, FlowWorld } from './flow.ts';
import { type Joined, joinedTo, rejoining } from './joined-services.ts';
import { readInterrupted, recoverHalted, settleRotations } from './recover-halted.ts';
import { secretValues } from './secret-values.ts';
import { neededComposeTool } from './stack-facts.ts';
import { start } from './start.ts';
import { showEvidence, waitUntilHealthy } from './wait-until-healthy.ts';

interface Failure {
  component: string;
  why: string;
}

export const up: Flow = {
  ...upAbout,
  async run(session, input, world) {
    const resumed = await startInterrupted(session, world, input.place);
    const { components } = await world.fleet.settle(session.signal, { complete: true });
    const here = components.filter(({ host, deployed }) => host === input.place && deployed);
    const asked = meant(here, input.words);
    const routes = asked.length > 0 ? await routesIn(session, world, input.place, here) : (new Map() as Routes);
    const wanted = providersFirst(
      asked,
      (id) => world.catalog.get(id),
      (id) => (routes.get(id) ?? []).map(({ gateway }) => gateway),
    );
    if (wanted.length === 0) {
      await settleRotations(session, world, input.place);
      const sealed = tellSealed(session, sealedIn(components, input.place));
      return {
        message: `${resumed.length > 0 ? `Started what an interrupted flow had stopped: ${namesText(resumed)}. ` : ''}Everything that was deployed from here runs, or was stopped by an operator.${unwellSentence(here, sealed.ids)}${sealed.sentence}`,
        data: { back: resumed, down: [], sealed: sealed.ids },
      };
    }
    for (const { id } of wanted) session.show({ kind: 'item', id, title: id, state: 'todo' });
    const back: string[] = [];
    const down: Failure[] = [];
    for (const component of wanted) {
      const { id } = component;
      session.show({ kind: 'item', id, title: id, state: 'running' });
      try {
        const word = await bringUp(session, world, input.place, component, {
          named: input.words.includes(id),
          routes,
          wanted: wanted.map((one) => one.id),
        });
        back.push(id);
        session.show({ kind: 'item', id, title: id, state: 'ok', evidence: word });
      } catch (thrown) {
        // The others are brought up all the same.
        if (session.signal.aborted || isAbort(thrown) || (thrown instanceof Fault && thrown.kind === 'interrupted')) throw thrown;
        const why = whyDown(world, input.place, id, messageOf(thrown));
        down.push({ component: id, why });
        session.show({ kind: 'item', id, title: id, state: 'blocked', evidence: why });
      }
    }
    // Their data are told by programs in containers that run by now.
    const unsettled = await settleRotations(session, world, input.place).then(
      () => undefined,
      (thrown: unknown) => {
        if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
        return thrown;
      },
    );
    world.fleet.refresh();
    return outcomeOf(session, { back, down, unsettled }, sealedIn(world.fleet.snapshot().components, input.place));
  },
};

/** What an interrupted backup or the like had stopped is started first. Answers the components. */
async function startInterrupted(session: Session, world: FlowWorld, place: string): Promise<string[]> {
  const records = (await readInterrupted(session, world, place)).filter(({ secrets }) => !secrets);
  for (const record of records) await recoverHalted(session, world, place, record);
  return session.rehearsing ? [] : [...new Set(records.map(({ component }) => cleanLine(component)))];
}

/** There is nothing to start, which is not to say that all is well. */
function unwellSentence(here: readonly ComponentView[], sealed: readonly string[]): string {
  const unwell = here.filter(({ id, tone }) => tone === 'bad' && !sealed.includes(id)).map(({ id, word }) => `${id} (${word})`);
  return unwell.length === 0 ? '' : ` Not healthy: ${namesText(unwell)}.`;
}

function sealedIn(components: readonly ComponentView[], place: string): string[] {
  return sealedManagers(components.filter(({ host }) => host === place)).map(({ id }) => id);
}

/** Why it is still down, and who has its port where somebody has. */
function whyDown(world: FlowWorld, place: string, id: string, words: string): string {
  const taken = takenPortIn(words)?.address;
  if (taken === undefined) return startProblem(words);
  const holder = world.fleet
    .snapshot()
    .ports.find(({ host, address, port, open, owner }) => host === place && open && owner !== id && `${address}:${port}` === taken);
  return holder?.owner ? `port ${taken} is taken by ${cleanLine(holder.owner)}` : startProblem(words);
}

/** A secrets manager that runs again is of no use before people have opened it. */
function tellSealed(session: Session, ids: readonly string[]): { ids: readonly string[]; sentence: string } {
  for (const id of ids)
    session.show({ kind: 'item', id: `unseal ${id}`, title: `Unseal ${id}`, state: 'todo', evidence: `quarterdeck unseal ${id}` });
  if (ids.length === 0) return { ids, sentence: '' };
  return { ids, sentence: ` Sealed until key shares open ${ids.length === 1 ? 'it' : 'them'}: ${ids.join(', ')}.` };
}

/** Named ones as they are; without a name all that should run. Throws `usage.component`. */
function meant(here: readonly ComponentView[], words: readonly string[]): readonly ComponentView[] {
  const names = words.filter((word) => word !== 'all');
  if (names.length === 0) return toBringUp(here);
  return names.flatMap((name) => {
    const found = here.find(({ id }) => id === name);
    if (!found) {
      throw new Fault({
        code: 'usage.component',
        message: `${cleanLine(name)} was not deployed from here.`,
        remedy: `Those that were: ${here.map(({ id }) => id).join(', ') || 'none'}. "quarterdeck start ${cleanLine(name)}" starts what others made.`,
      });
    }
    return found.services.some((service) => isDown(service) || isStale(service)) ? [found] : [];
  });
}

const isDown = ({ state }: ServiceView) => !isUpState(state) && state !== 'finished' && state !== 'paused';

/** Answers how it is seen afterwards. */
async function bringUp(
  session: Session,
  world: FlowWorld,
  place: string,
  component: ComponentView,
  { named, routes, wanted: all }: { named: boolean; routes: Routes; wanted: readonly string[] },
): Promise<string> {
  const wanted = component.services.filter((service) => isStale(service) || (named ? isDown(service) : isMissed(service)));
  const sinceMs = Date.now();
  try {
    const joining = (routes.get(component.id) ?? []).find(({ services }) => wanted.some(({ name }) => services.includes(name)));
    if (joining) await joinAgain(session, world, place, { component: component.id, services: joining.services }, joining.gateway);
    else if (wanted.some(({ state }) => state === 'missing')) {
      await composeUp(session, world, place, component);
      // Who is to be brought up too has its own turn.
      for (const [id, joined] of routes)
        for (const { gateway, services } of joined)
          if (gateway === component.id && !all.includes(id)) await joinAgain(session, world, place, { component: id, services }, gateway);
    } else {
      // Started together they wait for each other.
      const together = component.services.every((service) => wanted.includes(service) || service.state === 'finished');
      const inputs = together ? [{}] : inOrder(wanted).map(({ name }) => ({ service: name }));
      for (const which of inputs) await start.run(session, { place, component, words: [], options: {}, ...which }, world);
    }
  } catch (thrown) {
    if (!session.signal.aborted && !session.rehearsing) await showEvidence(session, world, place, component);
    throw thrown;
  }
  if (session.rehearsing) return 'rehearsed';
  return (await waitUntilHealthy(session, world, place, component.id, { sinceMs })).word;
}

/** By component: which of its services are in the network of which other component's container (R15). */
type Routes = ReadonlyMap<string, readonly { gateway: string; services: readonly string[] }[]>;

async function routesIn(session: Session, world: FlowWorld, place: string, here: readonly ComponentView[]): Promise<Routes> {
  const { signal } = session;
  const { deployments } = await listDeployments(world.hostOf(place), await world.stackFolderOf(place, signal), signal);
  const containers = await world.engineOf(place).list(signal);
  const routes = new Map<string, { gateway: string; services: readonly string[] }[]>();
  for (const deployment of deployments) {
    const services = Object.keys(readServices(deployment.compose));
    const others = deployments.filter(({ component }) => component !== deployment.component && here.some(({ id }) => id === component));
    for (const joined of joinedTo(deployment, services, others, containers))
      routes.set(joined.component, [...(routes.get(joined.component) ?? []), { gateway: deployment.component, services: joined.services }]);
  }
  return routes;
}

/** What is in another's network, and has lost it or never found it, is made again: a start alone leads back to the container that it knew. */
async function joinAgain(session: Session, world: FlowWorld, place: string, joined: Joined, gateway: string): Promise<void> {
  await applyPlans(session, world, [await rejoining(session, world, place, joined, gateway)]);
}

/** Who is needed first; circles as they come. */
function inOrder(services: readonly ServiceView[]): ServiceView[] {
  const ordered = new Set<ServiceView>();
  const visiting = new Set<ServiceView>();
  const visit = (service: ServiceView) => {
    if (visiting.has(service)) return;
    visiting.add(service);
    for (const name of service.dependsOn ?? []) {
      const other = services.find((candidate) => candidate.name === name);
      if (other) visit(other);
    }
    ordered.add(service);
  };
  for (const service of services) visit(service);
  return [...ordered];
}

/** Makes containers that are missing, as the compose file says, with the secrets in force; those that are there stay as they are. */
async function composeUp(session: Session, world: FlowWorld, place: string, component: ComponentView): Promise<void> {
  const { signal } = session;
  const host = world.hostOf(place);
  const [deployment, tool] = await Promise.all([
    readDeployment(host, await world.stackFolderOf(place, signal), component.id, signal),
    neededComposeTool(world, place, signal),
  ]);
  if (!deployment?.record) {
    throw new Fault({
      code: 'refused.notOurs',
      message: `There is no folder of ${component.id} any more${deployment ? ' that was written from here' : ''}.`,
      remedy: `Deploy it anew: quarterdeck deploy ${component.id}`,
    });
  }
  const secrets = await secretValues(session, world, place, component.id, deployment.record.secrets);
  const words = ['up', '-d', '--no-recreate'];
  const ended = await session.act({
    id: `up ${component.id}`,
    right: 'operate',
    request: `${tool.argv.join(' ')} ${words.join(' ')} in ${deployment.folder}`,
    target: { host: place, component: component.key },
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      const { folder, compose, env } = deployment;
      const command = { component: component.id, folder, compose, plain: Object.keys(env), tool, secrets, words };
      const program = await runComposeCommand(grant, host, command);
      if (tool.kind !== 'podman-compose') program.stdin.end('');
      program.stdout.resume();
      return program.ended;
    },
  });
  if (ended === undefined) return;
  const lines = plainWords(ended.stderr).trim().split('\n').map(cleanLine);
  const last = (lines.findLast((line) => line.startsWith('Error: ')) ?? lines.at(-1) ?? '').replace(/^Error: /, '');
  // podman-compose 1.0 says that all is well whatever happened.
  const stuck = ended.exitCode === 0 ? await notStarted(world, place, component, signal) : undefined;
  if (ended.exitCode === 0 && stuck === undefined) return;
  const what = stuck === undefined ? `compose ended with exit code ${ended.exitCode}` : `${stuck} was not started`;
  throw new Fault({
    code: 'failed.up',
    message: `${what}${last === '' ? '.' : `: ${last}`}`,
    remedy: `Run it by hand to see more: quarterdeck compose ${component.id} -- up -d`,
  });
}

/** A service whose container was made, and never ran. */
async function notStarted(world: FlowWorld, place: string, { project }: ComponentView, signal: AbortSignal): Promise<string | undefined> {
  const containers = await world.engineOf(place).list(signal);
  const found = containers.find((one) => one.state === 'created' && composeLabel(one, 'project') === project);
  return found && cleanLine(composeLabel(found, 'service') ?? found.name);
}

/** @param seen.unsettled why an interrupted rotation could not be settled */
function outcomeOf(
  session: Session,
  { back, down, unsettled }: { back: readonly string[]; down: readonly Failure[]; unsettled: Fault | undefined },
  ids: readonly string[],
): FlowOutcome {
  if (session.rehearsing) return { message: 'Rehearsed: nothing was started.', data: { back: [], down: [] } };
  const came = back.length > 0 ? `Came back: ${back.join(', ')}.` : '';
  const sealed = tellSealed(session, ids);
  if (down.length === 0 && !unsettled) return { message: `${came}${sealed.sentence}`, data: { back, down, sealed: sealed.ids } };
  const names = down.map(({ component }) => component);
  throw new Fault({
    code: down.length === 0 && unsettled ? unsettled.code : 'failed.up',
    message: [
      // Of several the list above says why.
      down.length > 0 &&
        `Did not come back: ${down.map(({ component, why }) => (down.length > 1 ? component : `${component} (${why.replace(/\.$/, '')})`)).join(', ')}.`,
      came,
      sealed.sentence.trim(),
      unsettled?.message,
    ]
      .filter(Boolean)
      .join(' '),
    remedy:
      down.length === 0 && unsettled
        ? unsettled.remedy
        : `${names.length === 1 ? 'Its log says' : 'Their logs say'} more: quarterdeck logs ${names[0]}${names.length > 1 ? `, and so on for ${names.slice(1).join(', ')}` : ''}.`,
  });
}
