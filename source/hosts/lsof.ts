import type { Listener } from './host.ts';

/**
 * Output of `lsof -nP -iTCP -sTCP:LISTEN -iUDP -FpcftPn`, one field a line: `p` process, `c` its name, then for each file `f`, `t` (IPv4,
 * IPv6), `P` (TCP, UDP) and `n` (`*:53`, `127.0.0.1:631`, `[::1]:631`, `10.0.0.2:5353->10.0.0.3:53`, `*:*`).
 */
export function parseLsof(text: string): Listener[] {
  const listeners: Listener[] = [];
  let process: { pid: number; name: string } | undefined;
  let file: { t?: string; P?: string } = {};
  for (const line of text.split('\n')) {
    const [key, value] = [line[0], line.slice(1)];
    if (key === 'p') process = { pid: Number(value), name: '' };
    // lsof writes non-printable characters as `\x20`.
    else if (key === 'c' && process)
      process.name = value.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    else if (key === 'f') file = {};
    else if (key === 't' || key === 'P') file[key] = value;
    else if (key === 'n') {
      const endpoint = endpointIn(value, file.t);
      const protocol = file.P?.toLowerCase();
      if (endpoint && process && (protocol === 'tcp' || protocol === 'udp'))
        listeners.push({ ...endpoint, protocol, process: { ...process } });
    }
  }
  return listeners;
}

function endpointIn(name: string, kind: string | undefined): { address: string; port: number } | undefined {
  const match = /^(\*|\[[0-9a-f:.]+(?:%\w+)?\]|[0-9.]+):(\d+)$/i.exec(name);
  if (!match?.[1]) return undefined;
  const address = match[1] === '*' ? (kind === 'IPv6' ? '::' : '0.0.0.0') : match[1].replace(/^\[|(?:%\w+)?\]$/g, '');
  return { address, port: Number(match[2]) };
}
