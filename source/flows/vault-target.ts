import { findAddress } from '../calls/find-address.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { SecretsManager } from '../products/secrets-manager.ts';
import { VaultApi, type VaultPlace } from '../products/vault-api.ts';
import type { FlowWorld } from './flow.ts';
import { entryOf, targetOf } from './secret-proof.ts';

/** Is it a path-addressed secrets manager that runs? */
export function isVault({ speaks, state }: ComponentView): boolean {
  return speaks === 'vault' && (state === 'running' || state === 'healthy' || state === 'unhealthy' || state === 'starting');
}

/** Where the API of this component is, over TLS if that is what its port speaks. Throws `unreachable.component`. */
export async function vaultPlaceOf(world: FlowWorld, component: ComponentView, signal: AbortSignal): Promise<VaultPlace> {
  const entry = entryOf(world, component);
  const port = entry?.speaks?.port;
  if (!entry || !port) {
    throw new Fault({
      code: 'usage.component',
      message: `${component.id} is no path-addressed secrets manager.`,
      remedy: 'Name one that is: quarterdeck catalog list',
    });
  }
  const target = await targetOf(world, component.host, entry, signal, component);
  const address = findAddress(target, port);
  if (typeof address === 'string')
    throw new Fault({ code: 'unreachable.component', message: address, remedy: `Start it: quarterdeck start ${component.id}` });
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  const plain: VaultPlace = { host: target.host, address, tls: false, basePath: '', shown: `${component.id} (${host}:${address.port})` };
  // What is asked first carries no secret, so that it may go in the clear.
  const { status, words } = await new VaultApi({ ...plain, address: { ...address, near: true } }).send(
    'GET',
    'sys/seal-status',
    undefined,
    signal,
  );
  return status === 400 && /https server/i.test(words) ? { ...plain, tls: true } : plain;
}

export async function secretsManagerOf(world: FlowWorld, component: ComponentView, signal: AbortSignal): Promise<SecretsManager> {
  return new SecretsManager(await vaultPlaceOf(world, component, signal));
}
