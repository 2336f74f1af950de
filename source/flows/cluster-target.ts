import { ClusterApi } from '../cluster/api-client.ts';
import { checkLogin, runPlugin } from '../cluster/credentials.ts';
import { type ClusterLogin, type Kubeconfig, loginOf, readKubeconfig } from '../cluster/kubeconfig.ts';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { refuseTypedPath } from './named-file.ts';

export interface OpenCluster {
  api: ClusterApi;
  context: string;
  config: Kubeconfig;
}

/** The context that is meant: the one that was named, the only one, or the one that is chosen. */
async function contextOf(session: Session, config: Kubeconfig, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const [first, second] = config.contexts;
  if (!first) {
    throw new Fault({
      code: 'usage.context',
      message: `${config.files.map(cleanLine).join(', ')} has no context.`,
      remedy: 'Name another kubeconfig with --kubeconfig FILE.',
    });
  }
  if (!second) return first.name;
  return session.ask.choice({
    id: 'cluster',
    label: 'Which cluster?',
    choices: config.contexts.map(({ name, server, user }) => ({
      value: name,
      label: name,
      detail: `${server}${user === '' ? '' : ` as ${user}`}`,
    })),
    initial: config.contexts.find(({ current }) => current)?.name ?? first.name,
  });
}

/** Reads the kubeconfig of the host and opens the cluster of a context. Throws what keeps it from being used: a certificate that ended, a plugin that nobody allows. */
export async function openCluster(session: Session, input: FlowInput, world: FlowWorld, named: string | undefined): Promise<OpenCluster> {
  const host = world.hostOf(input.place);
  const { kubeconfig } = input.options;
  if (typeof kubeconfig === 'string') refuseTypedPath(session, kubeconfig);
  const config = await readKubeconfig(host, typeof kubeconfig === 'string' ? kubeconfig : undefined, session.signal);
  const context = await contextOf(session, config, named);
  const login = await loginOf(host, config, context, session.signal);
  if (login.token !== undefined) session.hide(login.token);
  checkLogin(login, Date.now());
  const full = login.exec ? { ...login, ...(await askPlugin(session, input, world, login)) } : login;
  checkLogin(full, Date.now());
  return { api: new ClusterApi(host, full), context, config };
}

/** A kubeconfig may name any program. It is run as it is written, on the host that the file is on, and it is seen before. */
async function askPlugin(session: Session, input: FlowInput, world: FlowWorld, login: ClusterLogin): Promise<Partial<ClusterLogin>> {
  const { exec } = login;
  if (!exec) return {};
  const command = exec.argv.map(cleanLine).join(' ');
  if (session.rehearsing) {
    throw new Fault({
      code: 'refused.plugin',
      message: `Context ${cleanLine(login.context)} logs in with a program (${command}), and a rehearsal runs none.`,
      remedy: 'Rehearse with a context that has a token or a certificate.',
    });
  }
  if (session.attended) {
    const answer = await session.ask.choice({
      id: 'plugin',
      label: `Context ${login.context} logs in with a program. Run it?`,
      help: `Runs: ${command}`,
      choices: [
        { value: 'run', label: 'Run it', detail: 'as the kubeconfig says' },
        { value: 'leave', label: 'Leave' },
      ],
      initial: 'run',
    });
    if (answer === 'leave') throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was run.', remedy: 'Use another context.' });
  }
  const credentials = await session.act({
    id: 'plugin',
    right: 'reveal',
    request: `runs ${command} for credentials`,
    target: { host: input.place },
    run: (grant) => runPlugin(grant, world.hostOf(input.place), login),
  });
  if (credentials?.token !== undefined) session.hide(credentials.token);
  if (credentials?.key !== undefined) session.hide(credentials.key);
  return credentials ?? {};
}
