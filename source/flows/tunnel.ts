import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { addressOf, type Tunnel, type Tunnels, type TunnelWanted } from '../hosts/tunnel.ts';
import { cleanLine } from '../text/clean.ts';
import { tunnelAbout } from './about-tunnel.ts';
import type { Flow, FlowOutcome, Lasting } from './flow.ts';
import { portOption } from './flow-options.ts';
import { componentOf } from './service-targets.ts';

interface Way {
  address: { host: string; port: number };
  scheme?: 'http' | 'https';
  /** `the page`, `db: port 5432`. */
  label: string;
}

const everywhere: ReadonlySet<string> = new Set(['', '0.0.0.0']);

/** What of a component can be reached on its machine: its page first, then every TCP port that is published. */
export function waysTo({ url, services }: Pick<ComponentView, 'url' | 'services'>): Way[] {
  const page = url === undefined ? undefined : addressOf(url);
  const ways: Way[] = page ? [{ ...page, label: 'the page' }] : [];
  for (const service of services) {
    for (const { address = '', hostPort, protocol } of service.ports) {
      if (hostPort === undefined || protocol !== 'tcp' || ways.some((way) => way.address.port === hostPort)) continue;
      const host = everywhere.has(address) ? '127.0.0.1' : address === '::' ? '::1' : address;
      ways.push({ address: { host, port: hostPort }, label: `${cleanLine(service.name)}: port ${hostPort}` });
    }
  }
  return ways;
}

export const tunnel: Flow = {
  ...tunnelAbout,
  async run(session, input, world): Promise<FlowOutcome> {
    const component = componentOf(input);
    const host = world.hostOf(input.place);
    const port = portOption(input, 'port');
    const to = portOption(input, 'to');
    const ways = waysTo(component);
    const way = to === undefined ? await choose(session, component, ways) : ways.find(({ address }) => address.port === to);
    if (!way) throw noSuchWay(component, ways, to);
    const there = `${way.scheme ? `${way.scheme}://` : ''}${way.address.host.includes(':') ? `[${way.address.host}]` : way.address.host}:${way.address.port}`;
    if (!host.link) {
      return {
        message: `${component.id} runs on this machine, nothing has to be led there: ${there}`,
        data: { host: input.place, component: component.id, url: there, tunnel: false },
      };
    }
    const { tunnels } = world;
    if (!tunnels) throw new Error('tunnels belong to the deck');
    const known = tunnels.find(component.key, way.address.port);
    if (known && (port === undefined || port === known.port)) return outcome(component, known, tunnels);
    const wanted: TunnelWanted = {
      host,
      address: way.address,
      place: input.place,
      component: component.key,
      name: component.id,
      ...(way.scheme && { scheme: way.scheme }),
      ...(port !== undefined && { port }),
    };
    const opened = await session.act({
      id: 'tunnel',
      right: 'operate',
      request: `Lead 127.0.0.1:${port ?? 'a free port'} of this machine to ${way.address.host}:${way.address.port} of ${host.name}`,
      target: { host: input.place, component: component.key },
      run: (grant) => tunnels.open(grant, wanted),
    });
    if (!opened) return { message: 'Rehearsed: no tunnel was opened.' };
    return outcome(component, opened, tunnels);
  },
};

function outcome(component: ComponentView, tunnel: Tunnel, tunnels: Tunnels): FlowOutcome {
  const { host, address, place } = tunnel.wanted;
  return {
    message: `${tunnel.url} leads to ${component.id} on ${host.name}.`,
    data: {
      host: place,
      component: component.id,
      url: tunnel.url,
      port: tunnel.port,
      to: { address: address.host, port: address.port },
      tunnel: true,
    },
    lasts: lastingOf(tunnel, tunnels),
  };
}

function lastingOf(tunnel: Tunnel, tunnels: Tunnels): Lasting {
  const { host } = tunnel.wanted;
  return {
    closed: tunnel.closed,
    close: () => tunnel.close(),
    follow(tell) {
      let wasAway = false;
      let trouble: string | undefined;
      const look = () => {
        const { state = 'connected', fault } = host.link?.view ?? {};
        const isAway = state === 'away' || state === 'refused';
        if (isAway && !wasAway) tell('away', `${fault?.message ?? `${host.name} is away.`} The tunnel waits for it.`);
        if (state === 'connected' && wasAway) tell('back', `${host.name} is back: ${tunnel.url} leads there again.`);
        if (isAway || state === 'connected') wasAway = isAway;
        const message = isAway ? undefined : tunnel.trouble?.message;
        if (message !== undefined && message !== trouble) tell('trouble', message);
        trouble = message;
      };
      const stops = [host.link?.subscribe(look), tunnels.subscribe(look)];
      look();
      return () => {
        for (const stop of stops) stop?.();
      };
    },
  };
}

async function choose(session: Parameters<Flow['run']>[0], component: ComponentView, ways: readonly Way[]): Promise<Way | undefined> {
  const [first, second] = ways;
  if (first?.scheme || !second) return first;
  if (!session.attended) {
    throw new Fault({
      code: 'usage.port',
      message: `${component.id} has no page, and several ports: ${ways.map(({ address }) => address.port).join(', ')}.`,
      remedy: 'Name one of them with --to.',
    });
  }
  const chosen = await session.ask.choice({
    id: 'to',
    label: `Which port of ${component.id}?`,
    choices: ways.map(({ address, label }) => ({ value: String(address.port), label })),
  });
  return ways.find(({ address }) => String(address.port) === chosen);
}

function noSuchWay(component: ComponentView, ways: readonly Way[], to: number | undefined): Fault {
  const known = ways.map(({ address }) => address.port).join(', ');
  return new Fault({
    code: 'refused.noPort',
    message:
      to === undefined || known === ''
        ? `${component.id} has no port that is published and open for TCP now.`
        : `${component.id} publishes no port ${to}.`,
    remedy: known === '' ? 'Start it, or publish a port; what is not published cannot be reached.' : `Published: ${known}.`,
  });
}
