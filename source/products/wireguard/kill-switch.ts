import type { ConfigProblem } from '../config-problem.ts';
import type { ConfigEntry } from './config-file.ts';

/* wg-quick(8): everything that is neither for this machine nor marked as the tunnel's own goes nowhere. %i is the name of the interface. */
const rule = 'OUTPUT ! -o %i -m mark ! --mark $(wg show %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT';

export const killSwitchUp = `iptables -I ${rule} && ip6tables -I ${rule}`;
export const killSwitchDown = `iptables -D ${rule} && ip6tables -D ${rule}`;

const blocks = /-j\s+(?:REJECT|DROP)|\b(?:reject|drop)\b/i;

export interface KillSwitch {
  up: ConfigEntry;
  ipv4: boolean;
  ipv6: boolean;
}

/** Does a command that runs when the tunnel comes up let nothing past it? */
export function findKillSwitch(ups: readonly ConfigEntry[]): KillSwitch | undefined {
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

/** Rules that come with the tunnel and stay when it goes would cut the machine off. */
export function killSwitchProblems(found: KillSwitch, downs: readonly ConfigEntry[], isFullTunnel: boolean): ConfigProblem[] {
  const { up } = found;
  const at = { line: up.line, column: up.column, field: '[Interface] PostUp' };
  const problems: ConfigProblem[] = [];
  const added = [...up.value.matchAll(/\b(ip6?tables)\s+(?:-t\s+\w+\s+)?-[IA]\s+([^;&|]+)/g)];
  const removed = downs.map(({ value }) => value).join('\n');
  const squeezed = (text: string) => text.replace(/\s+/g, ' ').trim();
  const left = added.filter(
    ([, program, what]) => !squeezed(removed).includes(squeezed(`${program} -D ${what?.replace(/^(\w+) \d+ /, '$1 ')}`)),
  );
  if (downs.length > 0 && left.length > 0)
    problems.push({
      ...{ level: 'error', ...at },
      message: `What the kill switch adds for ${[...new Set(left.map(([, program]) => (program === 'ip6tables' ? 'IPv6' : 'IPv4')))].join(' and ')} is not taken away again: without the tunnel the machine would be cut off.`,
      remedy: 'Repeat the rule in PreDown to the letter, with -D in the place of -I or -A.',
    });
  if (!isFullTunnel && /fwmark/.test(up.value))
    problems.push({
      ...{ level: 'error', ...at },
      message:
        'The kill switch asks for the mark of the tunnel, and wg-quick sets one only where everything goes through it (AllowedIPs 0.0.0.0/0).',
      remedy: 'Send everything through the tunnel, or take the kill switch out.',
      rule: 'R24',
    });
  if (found.ipv4 && !found.ipv6)
    problems.push({
      ...{ level: 'warning', ...at },
      message: 'The kill switch holds back IPv4 alone: IPv6 goes past the tunnel.',
      remedy: 'Add the same rule for ip6tables.',
    });
  return problems;
}
