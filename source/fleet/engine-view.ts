import { cleanLine } from '../text/clean.ts';
import type { EngineWatch } from './engine-watch.ts';
import type { ConnectionView, EngineView } from './model.ts';
import { engineNotes } from './ports.ts';

export function toEngineView(watch: EngineWatch, connection: ConnectionView | undefined): EngineView {
  const { facts, engine, clockAheadMs } = watch;
  return {
    name: watch.name,
    machine: watch.host.name,
    hostKind: watch.host.kind,
    ...(connection && { connection }),
    ...(clockAheadMs !== 0 && { clockAheadMs }),
    engine: {
      kind: facts?.kind,
      version: facts?.version ?? '',
      apiVersion: facts?.apiVersion ?? '',
      rootless: facts?.rootless ?? false,
      address: engine?.address.url ?? '',
      origin: engine?.address.origin ?? '',
      reachable: watch.link.state === 'connected',
    },
    link: watch.link,
    notes: [...(facts ? engineNotes(facts) : []), ...ownAddressNotes(watch)],
  };
}

/** Containers with an address of their own whose ports are unknown: ports that no image exposes get no row. */
function ownAddressNotes(watch: EngineWatch): string[] {
  return [...watch.containers.values()].flatMap(({ id, name, state }) => {
    const { addresses, exposed } = watch.onLan(id);
    if (state !== 'running' || addresses.length === 0 || exposed.length > 0) return [];
    const shown = addresses.map((address) => cleanLine(address)).join(', ');
    return `${cleanLine(name)} has an address of its own on the network (${shown}): every port that it listens on can be reached there.`;
  });
}
