import { tunnelMtu } from '../../../config-files/wireguard/inspect-config.ts';
import { killSwitchDown, killSwitchUp } from '../../../config-files/wireguard/kill-switch.ts';

/** `linux` is wg-quick. The apps of other devices run no commands: a phone refuses a file that contains some. */
export type Device = 'linux' | 'phone' | 'desktop';

export interface ClientWanted {
  name: string;
  device: Device;
  /** Addresses in the tunnel: `10.8.0.2/32`. */
  addresses: readonly string[];
  serverPublicKey: string;
  endpoint: string;
  networks: readonly string[];
  dns: readonly string[];
  /** Domains that they resolve; empty for all. */
  domains: readonly string[];
  killSwitch: boolean;
  mtu?: number;
  /** Interval in seconds; keeps the NAT mapping open. */
  keepalive?: number;
}

export type ClientKeys = Record<'privateKey' | 'publicKey', string> & { presharedKey: string | undefined };

export function isFullTunnel(networks: readonly string[]): boolean {
  return networks.some((network) => network.endsWith('/0'));
}

/** Returns the client's configuration file. All values were checked before. */
export function clientConfig(wanted: ClientWanted, keys: Pick<ClientKeys, 'privateKey' | 'presharedKey'>): string {
  const { up, down } = commandsOf(wanted);
  const dns = dnsLine(wanted);
  const lines = [
    `# ${wanted.name}`,
    '[Interface]',
    `PrivateKey = ${keys.privateKey}`,
    `Address = ${wanted.addresses.join(', ')}`,
    ...(dns === '' ? [] : [`DNS = ${dns}`]),
    `MTU = ${wanted.mtu ?? tunnelMtu}`,
    ...up.map((command) => `PostUp = ${command}`),
    ...down.map((command) => `PreDown = ${command}`),
    '',
    '[Peer]',
    `PublicKey = ${wanted.serverPublicKey}`,
    ...(keys.presharedKey === undefined ? [] : [`PresharedKey = ${keys.presharedKey}`]),
    `AllowedIPs = ${wanted.networks.join(', ')}`,
    `Endpoint = ${wanted.endpoint}`,
    ...(wanted.keepalive ? [`PersistentKeepalive = ${wanted.keepalive}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

export function serverPeer(
  { name, addresses }: Pick<ClientWanted, 'name' | 'addresses'>,
  keys: Pick<ClientKeys, 'publicKey' | 'presharedKey'>,
): string {
  const single = addresses.map((address) => `${address.replace(/\/\d+$/, '')}/${address.includes(':') ? 128 : 32}`);
  return `${[
    `# ${name}`,
    '[Peer]',
    `PublicKey = ${keys.publicKey}`,
    ...(keys.presharedKey === undefined ? [] : [`PresharedKey = ${keys.presharedKey}`]),
    `AllowedIPs = ${single.join(', ')}`,
  ].join('\n')}\n`;
}

/** Reports whether only some domains use these DNS servers, which only resolvectl supports. */
function isSplitDns({ device, dns, domains, networks }: ClientWanted): boolean {
  return device === 'linux' && dns.length > 0 && domains.length > 0 && !isFullTunnel(networks);
}

function dnsLine(wanted: ClientWanted): string {
  return isSplitDns(wanted) ? '' : [...wanted.dns, ...(wanted.dns.length > 0 ? wanted.domains : [])].join(', ');
}

function commandsOf(wanted: ClientWanted): { up: string[]; down: string[] } {
  const up: string[] = [];
  const down: string[] = [];
  if (isSplitDns(wanted)) {
    up.push(`resolvectl dns %i ${wanted.dns.join(' ')}; resolvectl domain %i ${wanted.domains.map((domain) => `~${domain}`).join(' ')}`);
    down.push('resolvectl revert %i');
  }
  if (wanted.killSwitch && wanted.device === 'linux') {
    up.push(killSwitchUp);
    down.push(killSwitchDown);
  }
  return { up, down };
}

/** Returns why a configuration file cannot provide a kill switch; undefined if it can. */
export function killSwitchProblem({ device, networks }: Pick<ClientWanted, 'device' | 'networks'>): string | undefined {
  if (device === 'phone')
    return 'On a phone it is a switch of the system: Android "Block connections without VPN", iOS "Connect on demand" in the app.';
  if (device === 'desktop') return 'The apps for Windows and macOS have a switch of their own: "Block untunneled traffic".';
  return isFullTunnel(networks)
    ? undefined
    : 'It holds everything back that does not go through the tunnel, so everything has to go through it: 0.0.0.0/0, ::/0.';
}
