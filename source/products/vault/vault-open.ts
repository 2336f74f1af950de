import { httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { entryOf, targetOf } from '../../flows/call-target.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { SecretsManager } from './client/secrets-manager.ts';
import { withProtocol } from './client/vault-api.ts';

export async function secretsManagerOf(context: FlowContext, component: ComponentView, signal: AbortSignal): Promise<SecretsManager> {
  const entry = entryOf(context, component);
  const port = entry?.api?.port;
  if (!entry || !port) {
    const remedy = 'To list the components: quarterdeck status';
    throw new Fault('usage.component', `${component.id} is not a path-based secrets manager.`, remedy);
  }
  const target = await targetOf(context, component.host, entry, signal, component);
  return new SecretsManager(await withProtocol(httpEndpointOf(target, port), signal));
}

/** The secrets manager of a flow, with the session that works on it. */
export type FlowVault = Awaited<ReturnType<typeof vaultOf>>;

export async function vaultOf(session: Session, input: FlowInput, context: FlowContext) {
  const component = componentOf(input);
  const manager = await secretsManagerOf(context, component, session.signal);
  return { session, context, component, manager, endpoint: manager.endpoint, status: await manager.seal(session.signal) };
}

/** Throws `refused.sealed` and `refused.notInitialised`: a sealed server answers no queries. */
export async function openVaultOf(session: Session, input: FlowInput, context: FlowContext): Promise<FlowVault> {
  const vault = await vaultOf(session, input, context);
  const { initialized, sealed, progress, threshold } = vault.status;
  const { id } = vault.component;
  if (!initialized) throw new Fault('refused.notInitialised', `${id} is not initialised.`, `quarterdeck init ${id}`);
  if (!sealed) return vault;
  throw new Fault('refused.sealed', `${id} is sealed (${progress} of ${threshold} key shares entered).`, `quarterdeck unseal ${id}`);
}

/** Creates a flow on an open secrets manager. */
export function onOpenVault(run: (vault: FlowVault, input: FlowInput) => Promise<FlowOutcome>): Procedure {
  return async (session, input, context) => run(await openVaultOf(session, input, context), input);
}

/**
 * The token of "vault login" is not among the secrets of the component: those are included in its backups. The name has the project if it
 * differs from the component's: a host can have several.
 */
export function keptTokenName({ host, id, project }: ComponentView): SecretName {
  return `${host}/${project !== '' && project !== id ? `${project}.` : ''}${id}.login/TOKEN`;
}

export async function readKeptToken({ session, context, component }: FlowVault): Promise<string | undefined> {
  const kept = await (await context.vault(session)).read(keptTokenName(component), session.signal);
  if (kept !== undefined) session.hide(kept);
  return kept;
}

export async function forgetToken({ session, context, component }: FlowVault): Promise<void> {
  const name = keptTokenName(component);
  const secrets = await context.vault(session);
  await session.act({ id: 'forget', right: 'operate', request: `forget ${name}`, run: (grant) => secrets.remove(grant, name) });
}

/** Prompts for a token; an empty answer selects the stored one. `may`: what its policy has to allow. `next`: what is prompted for then. */
export async function tokenFor(
  vault: FlowVault,
  { may, id = 'token', label, next = '' }: { may: string; id?: string; label?: string; next?: string },
): Promise<{ token: string; isKept: boolean }> {
  const { id: name } = vault.component;
  let typed = '';
  let unanswered: unknown;
  try {
    typed = await vault.session.ask.secret({
      id,
      label: label ?? `Token for ${name}`,
      help: `The token requires ${may}. The entered token is not stored. Leave empty to use the token stored by quarterdeck vault login ${name}.${next === '' ? '' : ` ${next}`}`,
    });
  } catch (thrown) {
    // An unattended session uses the stored token.
    if (!(thrown instanceof Fault) || thrown.code !== 'usage.unanswered') throw thrown;
    unanswered = thrown;
  }
  if (typed.trim() !== '') return { token: typed.trim(), isKept: false };
  const kept = await readKeptToken(vault);
  if (kept !== undefined) return { token: kept, isKept: true };
  if (!unanswered)
    throw new Fault('usage.token', `No token is stored for ${name}.`, `Enter a token, or store one: quarterdeck vault login ${name}`);
  const remedy = `Store a token: quarterdeck vault login ${name}. Or pipe {"${id}": "..."} to --answers -.`;
  throw new Fault('usage.unanswered', `Cannot prompt without a terminal: no token is stored for ${name}.`, remedy, { cause: unanswered });
}

/** Throws `refused.unattended`: a secret that is shown once requires an operator who sees it. */
export function requirePerson({ attended }: Session, why: string, remedy = 'Use a terminal, with the key holders present.'): void {
  if (!attended) throw new Fault('refused.unattended', why, remedy);
}
