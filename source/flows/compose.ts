import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { runComposeCommand } from '../stack/compose-command.ts';
import { type ComposeEffect, composeEffect } from '../stack/compose-effect.ts';
import { readDeployment } from '../stack/read-deployment.ts';
import { projectOf } from '../stack/service-changes.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { namesText } from '../text/words.ts';
import { composeAbout } from './about-stack.ts';
import { exitFailure } from './exec.ts';
import type { Flow, FlowWorld } from './flow.ts';
import { valuesInForce } from './secret-values.ts';
import { componentOf, isUp } from './service-targets.ts';
import { neededComposeTool } from './stack-facts.ts';

const stderrKeptBytes = 16 * 1024;

export const compose: Flow = {
  ...composeAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const { signal } = session;
    const { words } = input;
    if (words.length === 0) {
      throw new Fault({
        code: 'usage.compose',
        message: 'compose needs a command.',
        remedy: `For example: quarterdeck compose ${component.id} -- ps`,
      });
    }
    const host = world.hostOf(input.place);
    const stackFolder = await world.stackFolderOf(input.place, signal);
    const [deployment, tool] = await Promise.all([
      readDeployment(host, stackFolder, component.id, signal),
      neededComposeTool(world, input.place, signal),
    ]);
    if (!deployment) {
      throw new Fault({
        code: 'refused.notOurs',
        message: `${cleanLine(stackFolder)} has no folder of ${component.id}.`,
        remedy: 'Run compose in the folder of its compose file.',
      });
    }
    const secrets = await valuesInForce(session, world, input.place, deployment);
    const effect = composeEffect(words);
    const running = component.services.filter(isUp).flatMap(({ containerId }) => containerId ?? []);
    const exitCode = await session.act({
      id: 'compose',
      right: effect.right,
      request: `${tool.argv.join(' ')} ${shownWords(words, effect)} in ${deployment.folder}`,
      target: { host: input.place, component: component.key },
      ...(!effect.readsOnly && {
        confirmOnProduction: true as const,
        consequences: await consequencesOf(component, effect, world.engineOf(input.place), signal),
      }),
      limitMs: Number.POSITIVE_INFINITY,
      run: async (grant) => {
        const program = await runComposeCommand(grant, host, {
          component: component.id,
          folder: deployment.folder,
          compose: deployment.compose,
          plain: Object.keys(deployment.env),
          tool,
          secrets,
          words,
        });
        if (tool.kind !== 'podman-compose') program.stdin.end(input.stdin ?? '');
        for await (const chunk of program.stdout as AsyncIterable<Buffer>) session.show({ kind: 'output', stream: 'stdout', bytes: chunk });
        const ended = await program.ended;
        const said = Buffer.from(ended.stderr.slice(-stderrKeptBytes));
        if (said.length > 0) session.show({ kind: 'output', stream: 'stderr', bytes: said });
        return ended.exitCode;
      },
      failure: (code) => exitFailure({ exitCode: code }),
    });
    if (exitCode === undefined) return { message: 'Dry run: no command was run.' };
    if (effect.subcommand === 'stop' || effect.subcommand === 'kill') await noteStopped(running, world, input.place, signal);
    world.fleet.refresh(component.key);
    return { message: `compose ended with exit code ${exitCode}.`, data: { exitCode }, exitCode };
  },
};

/** Not every engine reports afterwards that a container was stopped on request. */
async function noteStopped(ids: readonly string[], world: FlowWorld, place: string, signal: AbortSignal): Promise<void> {
  for (const id of ids) {
    const detail = await world.engineOf(place).inspect(id, signal);
    if (detail?.state === 'exited') await world.fleet.whileStopping(id, async () => undefined);
  }
}

/** The audit keeps it, and arguments of a program inside a container may be passwords: of `exec` and `run` it has the subcommand alone. */
function shownWords(words: readonly string[], { subcommand }: ComposeEffect): string {
  if (subcommand !== 'exec' && subcommand !== 'run') return words.map((word) => cleanLine(word)).join(' ');
  const shown = words.slice(0, words.indexOf(subcommand) + 1).map((word) => cleanLine(word));
  return `${shown.join(' ')}, with ${countText(words.length - shown.length, 'argument')}`;
}

async function consequencesOf(component: ComponentView, effect: ComposeEffect, engine: Engine, signal: AbortSignal): Promise<string[]> {
  if (effect.right !== 'destroy') return [];
  const names = component.services.flatMap(({ containerName, containerId }) =>
    containerId === undefined ? [] : [cleanLine(containerName)],
  );
  const lines = [
    names.length === 0
      ? `It may remove containers of ${component.id}, and what was written in them outside of volumes.`
      : `It may stop or remove ${namesText(names)}, and what was written there outside of volumes.`,
  ];
  if (effect.subcommand === undefined) lines.push('Its command cannot be read here: it may delete data too.');
  if (effect.elsewhere)
    lines.push('Its options name other files, another project or another engine: what it removes there is not known here.');
  if (!effect.deletesVolumes) return lines;
  const volumes = (await engine.volumes(signal))
    .filter((volume) => projectOf(volume) === component.project)
    .map(({ name }) => cleanLine(name));
  lines.push(
    volumes.length === 0
      ? 'The volumes of its containers, with everything in them.'
      : `${volumes.length === 1 ? 'The volume' : 'The volumes'} ${namesText(volumes)} and unnamed volumes, with everything in them.`,
  );
  return lines;
}
