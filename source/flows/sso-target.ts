import type { CallTarget } from '../calls/call.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Fleet } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import { type PortalConfig, readPortalConfig } from '../products/sso-config.ts';
import { SsoPortal } from '../products/sso-portal.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { entryOf, targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';

/** A portal that runs, and all that its flows need of it. */
export interface RunningPortal {
  /** Id of the component. */
  id: string;
  place: string;
  entry: CatalogEntry;
  target: CallTarget;
  host: Host;
  engine: Engine;
  container: ContainerDetail;
  portal: SsoPortal;
  config: PortalConfig;
  stackFolder: string;
  fleet: Fleet;
}

/** Throws `usage.component` for what is no portal, `unreachable.component` where it does not run. */
export async function portalOf(session: Session, input: FlowInput, world: FlowWorld): Promise<RunningPortal> {
  const component = componentOf(input);
  const { id } = component;
  const entry = entryOf(world, component);
  if (entry?.speaks?.api !== 'authelia') {
    throw new Fault({
      code: 'usage.component',
      message: `${id} is no single sign-on portal that is known here.`,
      remedy: 'Name one that is: quarterdeck catalog list',
    });
  }
  const { signal } = session;
  const stackFolder = await world.stackFolderOf(input.place, signal);
  const target = await targetOf(world, input.place, entry, signal, component);
  const container = target.containers.get(entry.speaks.service ?? '');
  if (container?.state !== 'running') {
    throw new Fault({ code: 'unreachable.component', message: `${id} is not running.`, remedy: `Start it: quarterdeck start ${id}` });
  }
  const engine = world.engineOf(input.place);
  const portal = new SsoPortal(engine, container);
  const config = readPortalConfig(await portal.configuration(signal));
  return { id, place: input.place, entry, target, host: target.host, engine, container, portal, config, stackFolder, fleet: world.fleet };
}
