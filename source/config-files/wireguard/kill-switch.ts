import type { ConfigEntry, Findings } from './config-file.ts';

/* wg-quick(8): traffic that is neither for this machine nor marked as the tunnel's own is dropped. %i is the name of the interface. */
const rule = 'OUTPUT ! -o %i -m mark ! --mark $(wg show %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT';

export const killSwitchUp = `iptables -I ${rule} && ip6tables -I ${rule}`;
export const killSwitchDown = `iptables -D ${rule} && ip6tables -D ${rule}`;

const blocks = /-j\s+(?:REJECT|DROP)|\b(?:reject|drop)\b/i;

/** Checks whether a command that runs when the tunnel comes up blocks all other traffic. */
export function findKillSwitch(ups: readonly ConfigEntry[]) {
  const blocking = ups.filter(({ value }) => blocks.test(value));
  const [up] = blocking;
  if (!up) return undefined;
  const all = blocking.map(({ value }) => value).join('\n');
  const isBoth = /\bnft\b[\s\S]*\binet\b/.test(all);
  return {
    up,
    ipv4: isBoth || /(?:^|[\s;&|/])iptables\b/.test(all) || /\bnft\b[\s\S]*\bip\s/.test(all),
    ipv6: isBoth || /(?:^|[\s;&|/])ip6tables\b/.test(all) || /\bnft\b[\s\S]*\bip6\s/.test(all),
  };
}

/** Rules that are added with the tunnel and stay after it would disconnect the machine. */
export function checkKillSwitch(
  { up, ipv4, ipv6 }: NonNullable<ReturnType<typeof findKillSwitch>>,
  downs: readonly ConfigEntry[],
  isFullTunnel: boolean,
  found: Findings,
): void {
  const added = [...up.value.matchAll(/\b(ip6?tables)\s+(?:-t\s+\w+\s+)?-[IA]\s+([^;&|]+)/g)];
  const squeezed = (text: string) => text.replace(/\s+/g, ' ').trim();
  const removed = squeezed(downs.map(({ value }) => value).join('\n'));
  const left = added.filter(([, program, what]) => !removed.includes(squeezed(`${program} -D ${what?.replace(/^(\w+) \d+ /, '$1 ')}`)));
  if (downs.length > 0 && left.length > 0) {
    const families = [...new Set(left.map(([, program]) => (program === 'ip6tables' ? 'IPv6' : 'IPv4')))].join(' and ');
    const message = `The kill switch rules for ${families} are never removed, so this machine would have no network without the tunnel.`;
    found.error(up, 'PostUp', message, 'Repeat the exact rule in PreDown, with -D instead of -I or -A.');
  }
  if (!isFullTunnel && /fwmark/.test(up.value)) {
    const message =
      'The kill switch matches the firewall mark of the tunnel, which wg-quick sets only if all traffic goes through the tunnel (AllowedIPs 0.0.0.0/0).';
    found.error(up, 'PostUp', message, 'Route all traffic through the tunnel, or remove the kill switch.', 'R24');
  }
  const message = 'The kill switch blocks only IPv4, so IPv6 traffic can bypass the tunnel.';
  if (ipv4 && !ipv6) found.warning(up, 'PostUp', message, 'Add the same rule for ip6tables.');
}
