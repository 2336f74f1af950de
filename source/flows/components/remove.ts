import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import { deployedEntry, removeDeployed } from './remove-deployed.ts';
import { watchContainer } from './service.ts';
import { componentOf, sentenceAbout, serviceTargets } from './service-targets.ts';
import { isStopped, stop } from './stop.ts';

const seenLimitMs = 30_000;

export const remove = onEngine(async (scope, input, session, context) => {
  const component = componentOf(input);
  const deployed = await deployedEntry(scope, input);
  if (deployed) return removeDeployed(scope, input, deployed);
  const { engine } = scope;
  let force = input.options.force === true;
  const volumes = input.options.volumes === true;
  const targets = (await serviceTargets(scope, input)).reverse();
  let details = await inspectAll(scope, targets);
  const running = details.filter((detail) => !isStopped(detail));
  if (running.length > 0 && !force) {
    const still = `${namesText(running.map(({ name }) => cleanLine(name)))} ${running.length === 1 ? 'is' : 'are'} still running.`;
    if (!session.attended) {
      const remedy = `Stop ${component.id} first (quarterdeck stop ${component.id}), or pass --force to kill its processes.`;
      throw new Fault('refused.running', still, remedy);
    }
    const how = await session.ask.choice({
      id: 'running',
      label: still,
      choices: [
        { value: 'stop', label: 'Stop first', detail: 'its processes can shut down cleanly' },
        { value: 'kill', label: 'Kill' },
      ],
    });
    if (how === 'kill') force = true;
    else {
      await stop(session, input, context);
      details = await inspectAll(scope, targets);
    }
  }
  const names = details.map(({ name }) => cleanLine(name));
  const removed: string[] = [];
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove the container${names.length === 1 ? '' : 's'} ${namesText(names)}`,
    request: names.map((name) => `DELETE /containers/${name}?force=${force}&v=${volumes}`).join(', '),
    consequences: details.flatMap((detail) => consequencesOf(detail, component, { force, volumes })),
    done: async () => details.length === 0,
    run: async (grant) => {
      const writer = engine.writer(grant);
      for (const [index, { id, name: raw }] of details.entries()) {
        const name = cleanLine(raw);
        session.progress({ id: 'remove', label: `Removing ${name}`, fraction: index / details.length });
        await writer.remove(id, { force, volumes });
        const isGone = (detail: ContainerDetail | undefined) => detail === undefined;
        const watch = { limitMs: seenLimitMs, otherwise: 'was not removed' };
        await watchContainer({ engine, signal: grant.signal }, { id, name }, isGone, watch);
        removed.push(name);
      }
    },
  });
  session.progress({ id: 'remove', label: `Removed ${component.id}`, fraction: 1, done: true });
  context.fleet.refresh(component.key);
  if (session.dryRun) return { message: 'Dry run: nothing was removed.' };
  return { message: removed.length > 0 ? sentenceAbout(component.id, removed, 'Removed') : `${component.id} has no containers.` };
});

async function inspectAll({ engine, signal }: EngineScope, targets: readonly { id: string }[]): Promise<ContainerDetail[]> {
  const details: ContainerDetail[] = [];
  for (const { id } of targets) {
    const detail = await engine.inspect(id, signal);
    if (detail) details.push(detail);
  }
  return details;
}

/** Returns the name of an anonymous volume, which is 64 hex digits; if only its path on the disk is known, the path contains the name. */
export function anonymousVolume(source: string): string | undefined {
  return /(?:^|\/)([0-9a-f]{64})(?:\/_data)?$/.exec(source)?.[1];
}

function consequencesOf(detail: ContainerDetail, component: ComponentView, { force, volumes }: { force: boolean; volumes: boolean }) {
  const name = cleanLine(detail.name);
  const lines = [`The container ${name} (${cleanLine(detail.image)}) is removed, with the data in it outside of volumes.`];
  if (force && !isStopped(detail)) lines.push(`${name} is running; its processes are killed.`);
  const kept: string[] = [];
  for (const mount of detail.mounts) {
    if (mount.kind !== 'volume') continue;
    const anonymous = anonymousVolume(mount.source);
    const target = cleanLine(mount.target);
    const end = volumes ? ' is deleted, with all of its data.' : ' is kept, but no container will use it.';
    if (anonymous === undefined) kept.push(`${cleanLine(mount.source)} (${target})`);
    else lines.push(`The anonymous volume ${anonymous.slice(0, 12)} (mounted at ${target} in ${name})${end}`);
  }
  if (kept.length > 0) lines.push(`Kept: ${kept.length === 1 ? 'volume' : 'volumes'} ${kept.join(', ')}.`);
  lines.push(recreatorOf(detail, component));
  return lines;
}

function recreatorOf(detail: ContainerDetail, component: ComponentView): string {
  const name = cleanLine(detail.name);
  const unit = detail.labels['PODMAN_SYSTEMD_UNIT'];
  if (unit) return `The systemd unit ${cleanLine(unit)} recreates ${name} when it starts.`;
  const project = detail.labels['com.docker.compose.project'] ?? detail.labels['io.podman.compose.project'];
  if (project) {
    const folder = detail.labels['com.docker.compose.project.working_dir'];
    return `"compose up" for the project ${cleanLine(project)}${folder ? ` in ${cleanLine(folder)}` : ''} recreates ${name}.`;
  }
  if (component.origin && component.project !== '') return `${name} was created by ${component.origin}, which may recreate it.`;
  return `No compose project or systemd unit recreates ${name}; its options and environment may exist only in this container.`;
}
