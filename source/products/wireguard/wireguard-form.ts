import { tunnelMtu } from '../../config-files/wireguard/inspect-config.ts';
import { endpointProblem } from '../../config-files/wireguard/inspect-peers.ts';
import { isDomain, isNetwork, isOwnAddress } from '../../config-files/wireguard/network-words.ts';
import { keyProblem } from '../../config-files/wireguard/wireguard-keys.ts';
import { choicesOf } from '../../flows/ask-choice.ts';
import type { Form, FormField } from '../../session/session.ts';
import { isAddress } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import { wordsOf } from '../../text/words.ts';
import { isFullTunnel, killSwitchProblem, wantedOf } from './client/client-config.ts';

/** The minimum of IPv6 (RFC 8200). */
const leastMtu = 1280;

function each(text: string, isGood: (word: string) => boolean, what: string): string | undefined {
  const wrong = wordsOf(text).find((word) => !isGood(word));
  return wrong === undefined ? undefined : `"${cleanLine(wrong.slice(0, 40))}" is not a valid ${what}.`;
}

const yesNo = choicesOf({ yes: 'yes', no: 'no' });

type Field = Omit<FormField, 'kind' | 'required' | 'section'> & Partial<Pick<FormField, 'kind' | 'required'>>;

function section(name: string, fields: readonly Field[]): FormField[] {
  return fields.map((field) => ({ kind: 'text', required: true, section: name, ...field }));
}

/** Returns the form for a device and its server. It is long because it is a list: its fields have no logic except their checks. */
export function clientForm(name: string): Form {
  return {
    id: 'wireguard',
    title: 'Tunnel for a device',
    fields: [
      ...section('Device', [
        {
          ...{ id: 'name', label: 'Device', value: name },
          help: 'Name of the device, e.g. alice-phone.',
          check: (text) => (/^[\w .@-]{1,40}$/.test(text.trim()) ? undefined : 'Enter 1 to 40 letters, digits, spaces or . _ @ -'),
        },
        {
          ...{ id: 'device', label: 'Kind', kind: 'choice', value: 'linux' },
          choices: choicesOf({ linux: 'Linux (wg-quick)', phone: 'Phone (QR code)', desktop: 'Windows or macOS' }),
          help: 'A kill switch and split DNS use commands that only wg-quick runs; the apps do not run them.',
        },
        {
          ...{ id: 'addresses', label: 'Address in the tunnel', value: '10.8.0.2/32' },
          help: 'Use an address that no other device has; separate several addresses with commas.',
          check: (text) => (wordsOf(text).length === 0 ? 'Enter an address.' : each(text, isOwnAddress, 'device address')),
        },
      ]),
      ...section('Server', [
        {
          ...{ id: 'serverPublicKey', label: 'Server public key', value: '' },
          help: 'Shown by "wg show" on the server; not a secret.',
          check: (text) => keyProblem(text),
        },
        {
          ...{ id: 'endpoint', label: 'Server address', value: '' },
          help: 'Address and port at which devices reach the server from outside, e.g. vpn.example.net:51820.',
          check: endpointProblem,
        },
        {
          ...{ id: 'presharedKey', label: 'Preshared key', kind: 'choice', value: 'yes' },
          choices: yesNo,
          help: 'An additional shared secret that protects traffic recorded today from being decrypted by quantum computers later.',
        },
      ]),
      ...section('Traffic', [
        {
          ...{ id: 'networks', label: 'Routed networks', value: '0.0.0.0/0, ::/0' },
          help: '0.0.0.0/0, ::/0 routes all traffic; 10.8.0.0/24, 192.168.1.0/24 routes only traffic to these networks.',
          check: (text) =>
            wordsOf(text).length === 0
              ? 'Enter at least one network.'
              : each(text, (word) => word.includes('/') && isNetwork(word), 'network with a prefix length'),
        },
        {
          ...{ id: 'dns', label: 'DNS through the tunnel', value: '' },
          required: false,
          help: 'Addresses of DNS servers, comma-separated. If empty, the device uses its own DNS servers.',
          check: (text) => each(text, isAddress, 'address'),
        },
        {
          ...{ id: 'domains', label: 'Only for these names', value: '' },
          required: false,
          help: 'Split DNS, e.g. lan, home.arpa. On Linux, if only some networks are routed, the device uses its own DNS servers for other names; otherwise, these are search domains.',
          check: (text) => each(text, isDomain, 'name'),
        },
        {
          ...{ id: 'killSwitch', label: 'Kill switch', kind: 'choice', value: 'no' },
          choices: yesNo,
          help: 'While the tunnel is up, no traffic bypasses it. Linux only.',
        },
        {
          ...{ id: 'mtu', label: 'MTU', value: String(tunnelMtu) },
          help: `${tunnelMtu} works for most connections, 1412 behind PPPoE.`,
          check: (text) =>
            /^\d{3,5}$/.test(text.trim()) && Number(text) >= leastMtu && Number(text) <= tunnelMtu
              ? undefined
              : `Enter a number from ${leastMtu} to ${tunnelMtu}, because larger packets would be fragmented.`,
        },
        {
          ...{ id: 'keepalive', label: 'Keep-alive', value: '25' },
          help: 'Seconds between packets that keep a NAT mapping open; 0 disables them.',
          check: (text) =>
            /^\d{1,5}$/.test(text.trim()) && Number(text) <= 65_535 ? undefined : 'Enter a number of seconds from 0 to 65535.',
        },
      ]),
    ],
    check: problemsBetween,
  };
}

function problemsBetween(values: Readonly<Record<string, string>>): Partial<Record<string, string>> {
  const { device, networks, dns, domains, killSwitch } = wantedOf(values);
  const problems = {
    killSwitch: killSwitch ? killSwitchProblem({ device, networks }) : undefined,
    domains: domains.length > 0 && dns.length === 0 ? 'These names require a DNS server. Set "DNS through the tunnel".' : undefined,
    dns:
      isFullTunnel(networks) && killSwitch && dns.length === 0
        ? 'With a kill switch, names cannot be resolved outside the tunnel, so set a DNS server.'
        : undefined,
  };
  return Object.fromEntries(Object.entries(problems).flatMap(([id, problem]) => (problem === undefined ? [] : [[id, problem]])));
}
