import { tunnelMtu } from '../../config-files/wireguard/inspect-config.ts';
import { endpointProblem } from '../../config-files/wireguard/inspect-peers.ts';
import { isDomain, isNetwork, isOwnAddress } from '../../config-files/wireguard/network-words.ts';
import { keyProblem } from '../../config-files/wireguard/wireguard-keys.ts';
import type { Form, FormField } from '../../session/session.ts';
import { isAddress } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import { wordsOf } from '../../text/words.ts';
import { isFullTunnel, killSwitchProblem, wantedOf } from './client/client-config.ts';

/** The minimum of RFC 8200, and the maximum of Ethernet. */
const mtuRange = { least: 1280, most: 1500 };

function each(text: string, isGood: (word: string) => boolean, what: string): string | undefined {
  const wrong = wordsOf(text).find((word) => !isGood(word));
  return wrong === undefined ? undefined : `"${cleanLine(wrong.slice(0, 40))}" is no ${what}.`;
}

const yesNo = [
  { value: 'yes', label: 'yes' },
  { value: 'no', label: 'no' },
];

type Field = Omit<FormField, 'kind' | 'required' | 'section'> & Partial<Pick<FormField, 'kind' | 'required'>>;

function section(name: string, fields: readonly Field[]): FormField[] {
  return fields.map((field) => ({ kind: 'text', required: true, section: name, ...field }));
}

/** Returns the form for a device and its server. It is long because it is a list: its fields have no logic except their checks. */
export function clientForm(name: string): Form {
  return {
    id: 'wireguard',
    title: 'A tunnel for a device',
    fields: [
      ...section('Device', [
        {
          ...{ id: 'name', label: 'Device', value: name },
          help: 'What it is called: alice-phone.',
          check: (text) => (/^[\w .@-]{1,40}$/.test(text.trim()) ? undefined : 'Up to 40 letters, digits, dots and dashes.'),
        },
        {
          ...{ id: 'device', label: 'Kind', kind: 'choice', value: 'linux' },
          choices: [
            { value: 'linux', label: 'Linux (wg-quick)' },
            { value: 'phone', label: 'Phone (QR code)' },
            { value: 'desktop', label: 'Windows or macOS' },
          ],
          help: 'Commands for a kill switch and split DNS are for wg-quick alone: the apps refuse a file that has some.',
        },
        {
          ...{ id: 'addresses', label: 'Address in the tunnel', value: '10.8.0.2/32' },
          help: 'One that no other device has; several with commas.',
          check: (text) => (wordsOf(text).length === 0 ? 'It needs one.' : each(text, isOwnAddress, 'address of a device')),
        },
      ]),
      ...section('Server', [
        {
          ...{ id: 'serverPublicKey', label: 'Public key of the server', value: '' },
          help: '"wg show" says it there. It is no secret.',
          check: (text) => keyProblem(text),
        },
        {
          ...{ id: 'endpoint', label: 'Address of the server', value: '' },
          help: 'As it is reached from outside: vpn.example.net:51820',
          check: endpointProblem,
        },
        {
          ...{ id: 'presharedKey', label: 'Preshared key', kind: 'choice', value: 'yes' },
          choices: yesNo,
          help: 'A second secret that both sides have: what is recorded today cannot be read by a quantum computer later.',
        },
      ]),
      ...section('Traffic', [
        {
          ...{ id: 'networks', label: 'What goes through it', value: '0.0.0.0/0, ::/0' },
          help: '0.0.0.0/0, ::/0 is everything; 10.8.0.0/24, 192.168.1.0/24 these networks alone.',
          check: (text) =>
            wordsOf(text).length === 0
              ? 'Nothing would be sent.'
              : each(text, (word) => word.includes('/') && isNetwork(word), 'network with a prefix'),
        },
        {
          ...{ id: 'dns', label: 'DNS through the tunnel', value: '' },
          required: false,
          help: 'Addresses of servers, with commas. Without one, names are asked outside of the tunnel.',
          check: (text) => each(text, isAddress, 'address'),
        },
        {
          ...{ id: 'domains', label: 'For these names alone', value: '' },
          required: false,
          help: 'Split DNS: lan, home.arpa. On Linux, where not everything goes through the tunnel, other names are asked as before; elsewhere they are searched in.',
          check: (text) => each(text, isDomain, 'name'),
        },
        {
          ...{ id: 'killSwitch', label: 'Kill switch', kind: 'choice', value: 'no' },
          choices: yesNo,
          help: 'While the tunnel is up nothing goes past it. Linux alone.',
        },
        {
          ...{ id: 'mtu', label: 'MTU', value: String(tunnelMtu) },
          help: `${tunnelMtu} fits nearly everywhere, 1412 behind PPPoE.`,
          check: (text) =>
            /^\d{3,5}$/.test(text.trim()) && Number(text) >= mtuRange.least && Number(text) <= tunnelMtu
              ? undefined
              : `A number from ${mtuRange.least} to ${tunnelMtu}: more would be split on the way.`,
        },
        {
          ...{ id: 'keepalive', label: 'Keep-alive', value: '25' },
          help: 'Seconds between packets that keep the way through a router open; 0 for none.',
          check: (text) => (/^\d{1,5}$/.test(text.trim()) && Number(text) <= 65_535 ? undefined : 'A number of seconds.'),
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
    domains: domains.length > 0 && dns.length === 0 ? 'Names for the tunnel want a server in it: fill in DNS.' : undefined,
    dns:
      isFullTunnel(networks) && killSwitch && dns.length === 0
        ? 'With a kill switch no name is found outside of the tunnel: give it a server.'
        : undefined,
  };
  return Object.fromEntries(Object.entries(problems).flatMap(([id, problem]) => (problem === undefined ? [] : [[id, problem]])));
}
