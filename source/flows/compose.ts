import { Fault } from '../faults/fault.ts';
import { runComposeCommand } from '../stack/compose-command.ts';
import { readDeployment } from '../stack/read-deployment.ts';
import { cleanLine } from '../text/clean.ts';
import { composeAbout } from './about-stack.ts';
import type { Flow } from './flow.ts';
import { valuesInForce } from './secret-values.ts';
import { componentOf } from './service-targets.ts';
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
        remedy: 'Run compose where its own folder is, or deploy it from here to take it over.',
      });
    }
    const secrets = await valuesInForce(session, world, input.place, deployment);
    const exitCode = await session.act({
      id: 'compose',
      right: 'operate',
      request: `${tool.argv.join(' ')} ${words.map((word) => cleanLine(word)).join(' ')} in ${deployment.folder}`,
      target: { host: input.place, component: component.key },
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
    });
    if (exitCode === undefined) return { message: 'Rehearsed: nothing was run.' };
    world.fleet.refresh(component.key);
    return { message: `compose ended with exit code ${exitCode}.`, data: { exitCode }, exitCode };
  },
};
