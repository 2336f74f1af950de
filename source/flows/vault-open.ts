import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { type SealStatus, SecretsManager } from '../products/secrets-manager.ts';
import type { VaultPlace } from '../products/vault-api.ts';
import type { SecretName } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { componentOf } from './service-targets.ts';
import { vaultPlaceOf } from './vault-target.ts';

/** A secrets manager that is open, and where it is. */
export interface OpenVault {
  component: ComponentView;
  place: VaultPlace;
  manager: SecretsManager;
  status: SealStatus;
  /** Of an act. */
  target: VaultTarget;
}

export interface VaultTarget {
  host: string;
  component: string;
  /** Where it is not called like the component: a host can have several. */
  project?: string;
}

export function targetOfVault({ id, project }: ComponentView, host: string): VaultTarget {
  return { host, component: id, ...(project !== '' && project !== id && { project }) };
}

/** Throws `refused.sealed` and `refused.notInitialised`: behind the seal nothing can be asked. */
export async function openVaultOf(session: Session, input: FlowInput, world: FlowWorld): Promise<OpenVault> {
  const component = componentOf(input);
  const place = await vaultPlaceOf(world, component, session.signal);
  const manager = new SecretsManager(place);
  const status = await manager.seal(session.signal);
  if (!status.initialized) {
    throw new Fault({
      code: 'refused.notInitialised',
      message: `${component.id} is not initialised: there is nothing in it yet.`,
      remedy: `quarterdeck init ${component.id}`,
    });
  }
  if (status.sealed) {
    throw new Fault({
      code: 'refused.sealed',
      message: `${component.id} is sealed (${status.progress} of ${status.threshold} key shares given).`,
      remedy: `quarterdeck unseal ${component.id}`,
    });
  }
  return { component, place, manager, status, target: targetOfVault(component, input.place) };
}

/** What "vault login" keeps a token under: beside the secrets of the component, not among them, since those go into its backups. */
export function keptTokenName({ host, component, project }: VaultTarget): SecretName {
  return `${host}/${project === undefined ? '' : `${project}.`}${component}.login/TOKEN`;
}

/**
 * The token that something is done with: typed, or, where nothing is typed, the one that "vault login" keeps. It goes into a header and nowhere else.
 * @param may what its policy has to allow, for the help: `sudo on sys/seal`
 * @param next what is asked for afterwards, where that is more than one would think
 */
export async function tokenFor(
  session: Session,
  world: FlowWorld,
  target: OpenVault['target'],
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
    // With nobody there the kept one is what is meant.
    if (!(thrown instanceof Fault) || thrown.code !== 'usage.unanswered') throw thrown;
    unanswered = thrown;
  }
  if (typed.trim() !== '') return { token: typed.trim(), isKept: false };
  const kept = await (await world.vault(session)).read(keptTokenName(target), session.signal);
  if (kept === undefined) {
    if (unanswered) {
      throw new Fault({
        code: 'usage.unanswered',
        message: `No token is kept for ${target.component}, and nobody is there to type one.`,
        remedy: `Keep one: quarterdeck vault login ${target.component}. Or pipe one in: --answers - takes {"${id}": "..."}.`,
        cause: unanswered,
      });
    }
    throw new Fault({
      code: 'usage.token',
      message: `No token is kept for ${target.component}.`,
      remedy: `Type one, or keep one: quarterdeck vault login ${target.component}`,
    });
  }
  session.hide(kept);
  return { token: kept, isKept: true };
}
