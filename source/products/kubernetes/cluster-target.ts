import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { refuseTypedPath } from '../../flows/named-file.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { ClusterApi } from './client/api-client.ts';
import { type ClusterLogin, checkLogin, type Kubeconfig, loginOf, readKubeconfig, runPlugin } from './client/kubeconfig.ts';

async function contextOf(session: Session, config: Kubeconfig, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const [first, second] = config.contexts;
  if (!first) {
    const message = `No contexts in ${config.files.map(cleanLine).join(', ')}.`;
    throw new Fault('usage.context', message, 'Pass another kubeconfig with --kubeconfig FILE.');
  }
  if (!second) return first.name;
  return session.ask.choice({
    id: 'cluster',
    label: 'Cluster',
    choices: config.contexts.map(({ name: value, server, user }) => {
      return { value, label: value, detail: user === '' ? server : `${server} as ${user}` };
    }),
    initial: config.contexts.find(({ current }) => current)?.name ?? first.name,
  });
}

/** Throws if the kubeconfig cannot be used: an expired certificate, a plugin that was not allowed. */
export async function openCluster(session: Session, input: FlowInput, flowContext: FlowContext, named: string | undefined) {
  const host = flowContext.hostOf(input.engineName);
  const kubeconfig = optionOf(input, 'kubeconfig');
  if (kubeconfig !== undefined) refuseTypedPath(session, kubeconfig);
  const config = await readKubeconfig(host, kubeconfig, session.signal);
  const context = await contextOf(session, config, named);
  const login = await loginOf(host, config, context, session.signal);
  if (login.token !== undefined) session.hide(login.token);
  checkLogin(login, Date.now());
  const full = login.exec ? { ...login, ...(await askPlugin(session, input, flowContext, login)) } : login;
  checkLogin(full, Date.now());
  return { api: new ClusterApi(host, full), context, config };
}

/** Prompts before the plugin runs: a kubeconfig may name any program. It runs as written, on the host of the file, and is shown first. */
async function askPlugin(session: Session, { engineName }: FlowInput, flowContext: FlowContext, login: ClusterLogin) {
  const command = (login.exec?.argv ?? []).map(cleanLine).join(' ');
  if (session.dryRun) {
    const message = `Context ${cleanLine(login.context)} uses a credential plugin (${command}), which is not run in a dry run.`;
    throw new Fault('refused.plugin', message, 'Use a context with a token or a certificate for the dry run.');
  }
  if (session.attended) {
    const answer = await askChoice(session, {
      id: 'plugin',
      label: `Run the credential plugin of context ${login.context}`,
      help: `Runs: ${command}`,
      choices: { run: ['Run', 'as set in the kubeconfig'], leave: 'Cancel' },
      initial: 'run',
    });
    if (answer === 'leave') throw new Fault('interrupted.cancelled', 'The credential plugin was not run.', 'Use another context.');
  }
  const credentials = await session.act({
    id: 'plugin',
    right: 'reveal',
    request: `run ${command} to get credentials`,
    run: (grant) => runPlugin(grant, flowContext.hostOf(engineName), login),
  });
  if (credentials?.token !== undefined) session.hide(credentials.token);
  if (credentials?.key !== undefined) session.hide(credentials.key);
  return credentials ?? {};
}
