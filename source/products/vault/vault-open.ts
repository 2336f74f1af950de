import { httpEndpointOf } from '../../calls/http-client.ts';
import type { HttpEndpoint } from '../../calls/http-exchange.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { entryOf, targetOf } from '../../flows/call-target.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { SecretsManager } from './client/secrets-manager.ts';
import { withProtocol } from './client/vault-api.ts';

async function vaultEndpointOf(context: FlowContext, component: ComponentView, signal: AbortSignal): Promise<HttpEndpoint> {
  const entry = entryOf(context, component);
  const port = entry?.api?.port;
  if (!entry || !port) {
    const remedy = 'Name one that is: quarterdeck catalog list';
    throw new Fault('usage.component', `${component.id} is no path-addressed secrets manager.`, remedy);
  }
  const target = await targetOf(context, component.host, entry, signal, component);
  return withProtocol(httpEndpointOf(target, port), signal);
}

export async function secretsManagerOf(context: FlowContext, component: ComponentView, signal: AbortSignal): Promise<SecretsManager> {
  return new SecretsManager(await vaultEndpointOf(context, component, signal));
}

export type OpenVault = Awaited<ReturnType<typeof openVaultOf>>;

type VaultTarget = ReturnType<typeof targetOfVault>;

/** The project is set if it differs from the component's name: a host can have several. */
export function targetOfVault({ id, project }: ComponentView, host: string) {
  return { host, component: id, ...(project !== '' && project !== id && { project }) };
}

/** Throws `refused.sealed` and `refused.notInitialised`: a sealed server answers no queries. */
export async function openVaultOf(session: Session, input: FlowInput, context: FlowContext) {
  const component = componentOf(input);
  const endpoint = await vaultEndpointOf(context, component, session.signal);
  const manager = new SecretsManager(endpoint);
  const status = await manager.seal(session.signal);
  if (!status.initialized) {
    const message = `${component.id} is not initialised: there is nothing in it yet.`;
    throw new Fault('refused.notInitialised', message, `quarterdeck init ${component.id}`);
  }
  if (status.sealed) {
    const message = `${component.id} is sealed (${status.progress} of ${status.threshold} key shares given).`;
    throw new Fault('refused.sealed', message, `quarterdeck unseal ${component.id}`);
  }
  return { component, endpoint, manager, status, target: targetOfVault(component, input.engineName) };
}

/** The token of "vault login" is not among the secrets of the component: those are included in its backups. */
export function keptTokenName({ host, component, project }: VaultTarget): SecretName {
  return `${host}/${project ? `${project}.` : ''}${component}.login/TOKEN`;
}

export async function forgetToken(session: Session, context: FlowContext, target: VaultTarget): Promise<void> {
  const name = keptTokenName(target);
  const secrets = await context.vault(session);
  await session.act({ id: 'forget', right: 'operate', request: `forget ${name}`, target, run: (grant) => secrets.remove(grant, name) });
}

/** Prompts for a token; an empty answer selects the stored one. `may`: what its policy has to allow. `next`: what is prompted for then. */
export async function tokenFor(
  session: Session,
  context: FlowContext,
  target: VaultTarget,
  { may, id = 'token', label, next = '' }: { may: string; id?: string; label?: string; next?: string },
): Promise<{ token: string; isKept: boolean }> {
  let typed = '';
  let unanswered: unknown;
  try {
    typed = await session.ask.secret({
      id,
      label: label ?? `Token for ${target.component}`,
      help: `It needs ${may}. It goes into a header, and is not kept here. Empty takes the one that "vault login" keeps.${next === '' ? '' : ` ${next}`}`,
    });
  } catch (thrown) {
    // An unattended session uses the stored token.
    if (!(thrown instanceof Fault) || thrown.code !== 'usage.unanswered') throw thrown;
    unanswered = thrown;
  }
  if (typed.trim() !== '') return { token: typed.trim(), isKept: false };
  const kept = await (await context.vault(session)).read(keptTokenName(target), session.signal);
  if (kept === undefined && unanswered) {
    throw new Fault(
      'usage.unanswered',
      `No token is kept for ${target.component}, and nobody is there to type one.`,
      `Keep one: quarterdeck vault login ${target.component}. Or pipe one in: --answers - takes {"${id}": "..."}.`,
      { cause: unanswered },
    );
  }
  if (kept === undefined) {
    const remedy = `Type one, or keep one: quarterdeck vault login ${target.component}`;
    throw new Fault('usage.token', `No token is kept for ${target.component}.`, remedy);
  }
  session.hide(kept);
  return { token: kept, isKept: true };
}

/** Throws `refused.unattended`: a secret that is shown once requires an operator who sees it. */
export function requirePerson({ attended }: Session, why: string, remedy = 'Run it in a terminal, with the holders at hand.'): void {
  if (!attended) throw new Fault('refused.unattended', why, remedy);
}
