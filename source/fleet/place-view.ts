import type { PlaceView, WayView } from './model.ts';
import type { PlaceWatch } from './place-watch.ts';
import { ownAddressNote, placeNotes } from './ports.ts';

/** A place as it is shown. `way` is how the machine itself is reached. */
export function viewOfPlace(watch: PlaceWatch, way: WayView | undefined): PlaceView {
  const { facts, engine, clockAheadMs } = watch;
  return {
    name: watch.name,
    machine: watch.host.name,
    hostKind: watch.host.kind,
    ...(way && { way }),
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
    notes: [...(facts ? placeNotes(facts) : []), ...ownAddressNotes(watch)],
  };
}

/** Ports that no image exposes are no rows. */
function ownAddressNotes(watch: PlaceWatch): string[] {
  return [...watch.containers.values()].flatMap(({ id, name, state }) => {
    const { addresses, exposed } = watch.onLan(id);
    return state === 'running' && addresses.length > 0 && exposed.length === 0 ? [ownAddressNote(name, addresses)] : [];
  });
}
