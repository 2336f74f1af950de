import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { runComposeCommand } from '../../stack/apply/compose-command.ts';
import { type ComposeEffect, composeEffect } from '../../stack/plan/compose-effect.ts';
import { projectOf } from '../../stack/plan/service-changes.ts';
import { readDeployment } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { namesText } from '../../text/words.ts';
import { neededComposeTool } from '../deploy/stack-facts.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import { valuesInForce } from '../secrets/secret-values.ts';
import { exitFailure } from './exec.ts';
import { componentOf, isUp } from './service-targets.ts';

const stderrKeptBytes = 16 * 1024;

export const compose = onEngine(async (scope, input, session, context) => {
  const { host } = scope;
  const component = componentOf(input);
  const { signal } = session;
  const { words } = input;
  if (words.length === 0)
    throw new Fault('usage.compose', 'A compose command is required.', `For example: quarterdeck compose ${component.id} -- ps`);
  const stackFolder = await scope.stackFolder();
  const [deployment, tool] = await Promise.all([readDeployment(host, stackFolder, component.id, signal), neededComposeTool(scope)]);
  if (!deployment) {
    const message = `${cleanLine(stackFolder)} has no folder for ${component.id}.`;
    throw new Fault('refused.notOurs', message, 'Run compose in the folder that contains the compose file.');
  }
  const secrets = await valuesInForce(scope, deployment);
  const effect = composeEffect(words);
  const running = component.services.filter(isUp).flatMap(({ containerId }) => containerId ?? []);
  const exitCode = await session.act({
    id: 'compose',
    right: effect.right,
    request: `${tool.argv.join(' ')} ${shownWords(words, effect)} in ${deployment.folder}`,
    ...(!effect.readsOnly && {
      confirmOnProduction: true as const,
      consequences: await consequencesOf(scope, component, effect),
    }),
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      const program = await runComposeCommand(grant, host, { deployment, tool, secrets, words, stdin: input.stdin });
      for await (const chunk of program.stdout as AsyncIterable<Buffer>) session.show({ kind: 'output', stream: 'stdout', bytes: chunk });
      const ended = await program.ended;
      const stderr = Buffer.from(ended.stderr.slice(-stderrKeptBytes));
      if (stderr.length > 0) session.show({ kind: 'output', stream: 'stderr', bytes: stderr });
      return ended.exitCode;
    },
    failure: (code) => exitFailure({ exitCode: code }),
  });
  if (exitCode === undefined) return { message: 'Dry run: no command was run.' };
  if (effect.subcommand === 'stop' || effect.subcommand === 'kill') await noteStopped(scope, running);
  context.fleet.refresh(component.key);
  return { message: `compose ended with exit code ${exitCode}.`, data: { exitCode }, exitCode };
});

/** Not every engine reports afterwards that a container was stopped on request. */
async function noteStopped({ context, engine, signal }: EngineScope, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const detail = await engine.inspect(id, signal);
    if (detail?.state === 'exited') await context.fleet.whileStopping(id, async () => undefined);
  }
}

/** Arguments of a program inside a container may be passwords: for `exec` and `run` only the subcommand is recorded. */
function shownWords(words: readonly string[], { subcommand }: ComposeEffect): string {
  if (subcommand !== 'exec' && subcommand !== 'run') return words.map((word) => cleanLine(word)).join(' ');
  const shown = words.slice(0, words.indexOf(subcommand) + 1).map((word) => cleanLine(word));
  return `${shown.join(' ')}, with ${countText(words.length - shown.length, 'argument')}`;
}

async function consequencesOf({ engine, signal }: EngineScope, component: ComponentView, effect: ComposeEffect): Promise<string[]> {
  if (effect.right !== 'destroy') return [];
  const names = component.services.flatMap(({ containerName, containerId }) =>
    containerId === undefined ? [] : [cleanLine(containerName)],
  );
  const lines = [
    names.length === 0
      ? `The command may remove containers of ${component.id}. Data in them outside of volumes would be lost.`
      : `The command may stop or remove ${namesText(names)}. Data in removed containers outside of volumes would be lost.`,
  ];
  if (effect.subcommand === undefined) lines.push('The effect of this command is unknown; it may delete data.');
  if (effect.elsewhere) lines.push('The command uses other files, another project or another engine; what it removes there is unknown.');
  if (!effect.deletesVolumes) return lines;
  const volumes = (await engine.volumes(signal))
    .filter((volume) => projectOf(volume) === component.project)
    .map(({ name }) => cleanLine(name));
  const are = effect.subcommand === 'down' ? 'are' : 'may be';
  lines.push(
    volumes.length === 0
      ? `The volumes of ${component.id} ${are} deleted, with all of their data.`
      : `${volumes.length === 1 ? 'The volume' : 'The volumes'} ${namesText(volumes)} and all anonymous volumes ${are} deleted, with all of their data.`,
  );
  return lines;
}
