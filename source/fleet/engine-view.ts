import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { EngineWatch } from './engine-watch.ts';
import type { ConnectionView, EngineView, FleetSnapshot, LinkView } from './model.ts';
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

export function disconnectedFault(name: string, { code, message, remedy, cause }: Partial<LinkView> = {}): Fault {
  const missing = 'Start the engine. The console reconnects automatically.';
  return new Fault(code ?? 'unreachable.engine', message ?? `The engine of ${name} is not connected.`, remedy ?? missing, { cause });
}

/** Throws when no engine answers: the fault of the first engine. With several, all are named, and their code is the one they share. */
export function throwIfNothingAnswers({ engines }: FleetSnapshot): void {
  if (engines.some(({ engine }) => engine.reachable)) return;
  const [first] = engines;
  // Engines of one unreachable machine have the same message.
  const messages = [...new Set(engines.map(({ link }) => link.message).filter((message) => message !== undefined))];
  const [code = 'unreachable.engine', another] = new Set(engines.map(({ link }) => link.code));
  const message = messages.length > 0 ? messages.join(' ') : 'No container engine was found on this machine.';
  const remedy = first?.link.remedy ?? 'Start Docker or Podman, or set DOCKER_HOST to the address of the engine.';
  throw new Fault(another === undefined ? code : 'unreachable.engine', message, remedy, { cause: first?.link.cause });
}

/** Containers with an address of their own whose ports are unknown: ports that no image exposes get no row. */
function ownAddressNotes(watch: EngineWatch): string[] {
  if (watch.lanNetworks.size === 0) return [];
  return [...watch.containers.values()].flatMap(({ id, name, state }) => {
    const { addresses, exposed } = watch.onLan(id);
    if (state !== 'running' || addresses.length === 0 || exposed.length > 0) return [];
    const shown = addresses.map((address) => cleanLine(address)).join(', ');
    return `${cleanLine(name)} has its own address on the network (${shown}): all ports that it listens on can be reached there.`;
  });
}
