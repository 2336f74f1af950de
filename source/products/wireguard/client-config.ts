import { tunnelMtu } from './inspect-config.ts';
import { killSwitchDown, killSwitchUp } from './kill-switch.ts';

/** `linux` is wg-quick. The apps of the others take no commands: a phone refuses a file that has some. */
export type Device = 'linux' | 'phone' | 'desktop';

export interface ClientWanted {
  name: string;
  device: Device;
  /** In the tunnel: `10.8.0.2/32`. */
  addresses: readonly string[];
  serverPublicKey: string;
  /** `vpn.example.net:51820` */
  endpoint: string;
  /** What goes through the tunnel. */
  networks: readonly string[];
  /** Servers that are reached through the tunnel. */
  dns: readonly string[];
  /** Names that they answer; empty for all. */
  domains: readonly string[];
  killSwitch: boolean;
  mtu?: number;
  /** Seconds; keeps the way through a NAT open. */
  keepalive?: number;
}

export interface ClientKeys {
  privateKey: string;
  publicKey: string;
  presharedKey: string | undefined;
}

export function isFullTunnel(networks: readonly string[]): boolean {
  return networks.some((network) => network.endsWith('/0'));
}

/** The client's file. Everything in it was checked before. */
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

/** What the server's file gets. */
export function serverPeer(
  { name, addresses }: Pick<ClientWanted, 'name' | 'addresses'>,
  keys: Pick<ClientKeys, 'publicKey' | 'presharedKey'>,
): string {
  const single = addresses.map((address) => address.replace(/\/\d+$/, address.includes(':') ? '/128' : '/32'));
  return `${[
    `# ${name}`,
    '[Peer]',
    `PublicKey = ${keys.publicKey}`,
    ...(keys.presharedKey === undefined ? [] : [`PresharedKey = ${keys.presharedKey}`]),
    `AllowedIPs = ${single.map((address) => (address.includes('/') ? address : `${address}/${address.includes(':') ? 128 : 32}`)).join(', ')}`,
  ].join('\n')}\n`;
}

/** Only resolvectl can ask one server for some names and leave the others where they are. */
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

/** Why the wish for a kill switch cannot be fulfilled by a file; undefined where it can. */
export function killSwitchProblem({ device, networks }: Pick<ClientWanted, 'device' | 'networks'>): string | undefined {
  if (device === 'phone')
    return 'On a phone it is a switch of the system: Android "Block connections without VPN", iOS "Connect on demand" in the app.';
  if (device === 'desktop') return 'The apps for Windows and macOS have a switch of their own: "Block untunneled traffic".';
  return isFullTunnel(networks)
    ? undefined
    : 'It holds everything back that does not go through the tunnel, so everything has to go through it: 0.0.0.0/0, ::/0.';
}
