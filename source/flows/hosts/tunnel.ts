import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { addressOf, type Tunnel, type TunnelRequest, type Tunnels } from '../../hosts/tunnel.ts';
import type { Session } from '../../session/session.ts';
import { authority } from '../../text/authority.ts';
import { cleanLine } from '../../text/clean.ts';
import { dialledHost } from '../../text/loopback.ts';
import { componentOf } from '../components/service-targets.ts';
import type { FlowOutcome, Lasting, Procedure } from '../flow.ts';
import { portOption } from '../flow-options.ts';

interface TunnelTarget {
  address: { host: string; port: number };
  scheme?: 'http' | 'https';
  /** `the web UI`, `db: port 5432`. */
  label: string;
}

function tunnelTargets({ url, services }: Pick<ComponentView, 'url' | 'services'>): TunnelTarget[] {
  const page = url === undefined ? undefined : addressOf(url);
  const targets: TunnelTarget[] = page ? [{ ...page, label: 'the web UI' }] : [];
  for (const service of services) {
    for (const { address = '', hostPort, protocol } of service.ports) {
      if (hostPort === undefined || protocol !== 'tcp' || targets.some((target) => target.address.port === hostPort)) continue;
      targets.push({ address: { host: dialledHost(address), port: hostPort }, label: `${cleanLine(service.name)}: port ${hostPort}` });
    }
  }
  return targets;
}

export const tunnel: Procedure = async (session, input, context) => {
  const component = componentOf(input);
  const host = context.hostOf(input.engineName);
  const port = portOption(input, 'port');
  const to = portOption(input, 'to');
  const targets = tunnelTargets(component);
  const target = to === undefined ? await choose(session, component, targets) : targets.find(({ address }) => address.port === to);
  if (!target) throw noSuchPort(component, targets, to);
  const there = `${target.scheme ? `${target.scheme}://` : ''}${authority(target.address)}`;
  if (!host.link)
    return {
      message: `${component.id} runs on this machine and needs no tunnel: ${there}`,
      data: { host: input.engineName, component: component.id, url: there, tunnel: false },
    };
  const { tunnels } = context;
  if (!tunnels) throw new Error('tunnels require the app');
  const known = tunnels.find(component.key, target.address.port);
  if (known && (port === undefined || port === known.port)) return outcome(component, known, tunnels);
  const wanted: TunnelRequest = {
    host,
    address: target.address,
    engineName: input.engineName,
    component: component.key,
    name: component.id,
    scheme: target.scheme,
    port,
  };
  const opened = await session.act({
    id: 'tunnel',
    right: 'operate',
    request: `forward ${port === undefined ? 'a free local port' : `127.0.0.1:${port}`} to ${target.address.host}:${target.address.port} on ${host.name}`,
    run: (grant) => tunnels.open(grant, wanted),
  });
  if (!opened) return { message: 'Dry run: no tunnel was opened.' };
  return outcome(component, opened, tunnels);
};

function outcome(component: ComponentView, tunnel: Tunnel, tunnels: Tunnels): FlowOutcome {
  const { host, address, engineName } = tunnel.wanted;
  const { url, port } = tunnel;
  const to = { address: address.host, port: address.port };
  return {
    message: `${url} forwards to ${component.id} on ${host.name}.`,
    data: { host: engineName, component: component.id, url, port, to, tunnel: true },
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
      // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each change is reported once, so that the last report is compared
      const look = () => {
        const { state = 'connected', fault } = host.link?.view ?? {};
        const isAway = state === 'away' || state === 'refused';
        if (isAway && !wasAway) tell('away', `${fault?.message ?? `${host.name} is unreachable.`} The tunnel reconnects automatically.`);
        if (state === 'connected' && wasAway) tell('back', `${host.name} is connected again: ${tunnel.url}`);
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

async function choose(session: Session, component: ComponentView, targets: readonly TunnelTarget[]): Promise<TunnelTarget | undefined> {
  const [first, second] = targets;
  if (first?.scheme || !second) return first;
  if (!session.attended) {
    const message = `${component.id} has no web UI, but several ports: ${targets.map(({ address }) => address.port).join(', ')}.`;
    throw new Fault('usage.port', message, 'Choose a port with --to.');
  }
  const chosen = await session.ask.choice({
    id: 'to',
    label: `Port of ${component.id}`,
    choices: targets.map(({ address, label }) => ({ value: String(address.port), label })),
  });
  return targets.find(({ address }) => String(address.port) === chosen);
}

function noSuchPort(component: ComponentView, targets: readonly TunnelTarget[], to: number | undefined): Fault {
  const known = targets.map(({ address }) => address.port).join(', ');
  return new Fault(
    'refused.noPort',
    to === undefined || known === ''
      ? `${component.id} does not publish a TCP port, or is not running.`
      : `${component.id} does not publish port ${to}.`,
    known === '' ? 'Start the component, or publish a port.' : `Published: ${known}.`,
  );
}
