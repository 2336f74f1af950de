import type { HostSettings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { hostsListAbout } from './about-hosts.ts';
import type { Flow, FlowWorld } from './flow.ts';
import type { FarEngine, FarHost, HostBook } from './host-book.ts';
import { bookOf } from './host-choice.ts';
import { connectTo, engineText, faultData, roundTripOf } from './host-look.ts';

interface Row {
  name: string;
  ssh: string | null;
  state: string;
  roundTripMs: number | null;
  engines: readonly { place: string; address: string; kind: string | null; version: string | null }[];
  shown: string;
  fault?: Fault;
}

export const hostsList: Flow = {
  ...hostsListAbout,
  async run(session, _, world) {
    const book = bookOf(world);
    const hosts = Object.entries(await book.list());
    session.progress({ id: 'connect', label: `Connecting to ${hosts.length === 1 ? hosts[0]?.[0] : `${hosts.length} hosts`}` });
    const far = await Promise.all(hosts.map(([name, settings]) => rowOf(book, name, settings, session.signal)));
    session.progress({ id: 'connect', label: '', done: true });
    const rows = [...here(world), ...far];
    session.show({
      kind: 'table',
      columns: ['host', 'address', 'state', 'round trip', 'engines'],
      align: ['left', 'left', 'left', 'right', 'left'],
      rows: rows.map(({ name, ssh, state, roundTripMs, shown }) => [
        name,
        cleanLine(ssh ?? 'this machine'),
        state,
        roundTripMs === null ? '' : `${roundTripMs} ms`,
        shown,
      ]),
    });
    for (const { name, fault } of far) if (fault) session.show({ kind: 'text', text: `${name}: ${fault.message} ${fault.remedy}` });
    const away = far.filter(({ fault }) => fault).length;
    return {
      message:
        far.length === 0
          ? 'No host beside this machine. To add one: quarterdeck hosts add NAME [user@]host'
          : away === 0
            ? `${far.length === 1 ? 'It is' : `All ${far.length} are`} connected.`
            : `${far.length - away} of ${far.length} connected.`,
      data: {
        hosts: rows.map(({ shown: _shown, fault, ...row }) => ({ ...row, ...(fault && { fault: faultData(fault) }) })),
      },
    };
  },
};

/** This machine, as the fleet knows it; not at all where there is no engine here. */
function here(world: FlowWorld): Row[] {
  const places = world.fleet.snapshot().places.filter(({ hostKind, engine }) => hostKind === 'local' && engine.address !== '');
  if (places.length === 0) return [];
  const engines = places.map(({ name, engine }) => ({
    place: name,
    address: engine.address,
    kind: engine.kind ?? null,
    version: engine.version || null,
  }));
  const shown = engines.map(({ kind, version }) => `${kind ?? 'unknown'} ${version ?? ''}`.trim()).join(', ');
  return [{ name: 'local', ssh: null, state: 'here', roundTripMs: null, engines, shown }];
}

async function rowOf(book: HostBook, name: string, settings: HostSettings, signal: AbortSignal): Promise<Row> {
  const row = { name, ssh: settings.ssh, roundTripMs: null, engines: [] };
  try {
    const host = await connectTo(book, name, settings, signal);
    const [roundTripMs, engines] = await Promise.all([roundTripOf(host, signal), enginesOf(book, name, host, signal)]);
    return {
      ...row,
      state: 'connected',
      roundTripMs: roundTripMs ?? null,
      engines: engines.map(({ place, url, facts }) => ({
        place,
        address: url,
        kind: facts?.kind ?? null,
        version: facts?.version ?? null,
      })),
      shown: engines.length === 0 ? 'none' : engines.map(engineText).join(', '),
    };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof Fault)) throw thrown;
    return { ...row, state: thrown.kind === 'refused' ? 'refused' : 'away', shown: '', fault: thrown };
  }
}

/** A host without an engine is connected all the same. */
function enginesOf(book: HostBook, name: string, host: FarHost, signal: AbortSignal): Promise<readonly FarEngine[]> {
  return book.engines(name, host, signal).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === 'unreachable.noEngine') return [];
    throw thrown;
  });
}
