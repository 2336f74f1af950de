import { killSwitchDown, killSwitchUp } from '../../../config-files/wireguard/kill-switch.ts';
import { wordsOf } from '../../../text/words.ts';

/** `linux` is wg-quick. The apps of other devices run no commands: a phone refuses a file that contains some. */
export type Device = 'linux' | 'phone' | 'desktop';

export type ClientSettings = ReturnType<typeof wantedOf>;

/** Reads the values of the form, which were checked there. */
export function wantedOf(values: Readonly<Record<string, string>>) {
  const text = (id: string) => (values[id] ?? '').trim();
  const words = (id: string): readonly string[] => wordsOf(text(id));
  // resolvectl writes ~ in front of such a domain; it is added later where it is required.
  const domains: readonly string[] = words('domains').map((domain) => domain.replace(/^~/, ''));
  return {
    name: text('name'),
    device: text('device') as Device,
    /** Addresses in the tunnel: `10.8.0.2/32`. */
    addresses: words('addresses'),
    serverPublicKey: text('serverPublicKey'),
    endpoint: text('endpoint'),
    networks: words('networks'),
    dns: words('dns'),
    /** Domains that they resolve; empty for all. */
    domains,
    killSwitch: text('killSwitch') === 'yes',
    mtu: Number(text('mtu')),
    /** Interval in seconds, which keeps the NAT mapping open; 0 for none. */
    keepalive: Number(text('keepalive')),
    presharedKey: text('presharedKey') === 'yes',
  };
}

export type ClientKeys = Record<'privateKey' | 'publicKey', string> & { presharedKey: string | undefined };

export const isFullTunnel = (networks: readonly string[]): boolean => networks.some((network) => network.endsWith('/0'));

export function clientConfig(wanted: ClientSettings, keys: Pick<ClientKeys, 'privateKey' | 'presharedKey'>): string {
  const { dns, domains } = wanted;
  const servers = isSplitDns(wanted) ? [] : [...dns, ...(dns.length > 0 ? domains : [])];
  const lines = [
    `# ${wanted.name}`,
    '[Interface]',
    `PrivateKey = ${keys.privateKey}`,
    `Address = ${wanted.addresses.join(', ')}`,
    ...(servers.length === 0 ? [] : [`DNS = ${servers.join(', ')}`]),
    `MTU = ${wanted.mtu}`,
    ...commandLines(wanted),
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

export function serverPeer({ name, addresses }: Pick<ClientSettings, 'name' | 'addresses'>, keys: Omit<ClientKeys, 'privateKey'>): string {
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
function isSplitDns({ device, dns, domains, networks }: ClientSettings): boolean {
  return device === 'linux' && dns.length > 0 && domains.length > 0 && !isFullTunnel(networks);
}

function commandLines(wanted: ClientSettings): string[] {
  const { dns, domains, killSwitch, device } = wanted;
  const resolved = `resolvectl dns %i ${dns.join(' ')}; resolvectl domain %i ${domains.map((domain) => `~${domain}`).join(' ')}`;
  const commands = [
    ...(isSplitDns(wanted) ? [{ up: resolved, down: 'resolvectl revert %i' }] : []),
    ...(killSwitch && device === 'linux' ? [{ up: killSwitchUp, down: killSwitchDown }] : []),
  ];
  return [...commands.map(({ up }) => `PostUp = ${up}`), ...commands.map(({ down }) => `PreDown = ${down}`)];
}

/** Returns why a configuration file cannot provide a kill switch; undefined if it can. */
export function killSwitchProblem({ device, networks }: Pick<ClientSettings, 'device' | 'networks'>): string | undefined {
  if (device === 'phone')
    return 'On a phone, use its own settings: "Block connections without VPN" on Android, or "On-Demand Activation" in the app on iOS.';
  if (device === 'desktop') return 'The Windows app has its own kill switch, "Block untunneled traffic"; the macOS app has none.';
  return isFullTunnel(networks) ? undefined : 'A kill switch requires that all traffic uses the tunnel (0.0.0.0/0, ::/0).';
}
