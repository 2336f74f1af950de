import type { Listener } from './host.ts';

/**
 * What `lsof -nP -iTCP -sTCP:LISTEN -iUDP -FpcftPn` writes, one field a line: `p` process, `c` its name, then for each file `f`, `t`
 * (IPv4, IPv6), `P` (TCP, UDP) and `n` (`*:53`, `127.0.0.1:631`, `[::1]:631`, `10.0.0.2:5353->10.0.0.3:53`, `*:*`).
 */
export function parseLsof(text: string): Listener[] {
  const listeners: Listener[] = [];
  let process: { pid: number; name: string } | undefined;
  let kind = '';
  let protocol = '';
  for (const line of text.split('\n')) {
    const value = line.slice(1);
    switch (line[0]) {
      case 'p':
        process = { pid: Number(value), name: '' };
        break;
      case 'c':
        // It writes what is not printable as `\x20`.
        if (process) process.name = value.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
        break;
      case 'f':
        kind = '';
        protocol = '';
        break;
      case 't':
        kind = value;
        break;
      case 'P':
        protocol = value.toLowerCase();
        break;
      case 'n': {
        const place = placeOf(value, kind);
        if (place && process && (protocol === 'tcp' || protocol === 'udp')) listeners.push({ ...place, protocol, process: { ...process } });
        break;
      }
    }
  }
  return listeners;
}

function placeOf(name: string, kind: string): { address: string; port: number } | undefined {
  const match = /^(\*|\[[0-9a-f:.]+(?:%\w+)?\]|[0-9.]+):(\d+)$/i.exec(name);
  if (!match?.[1]) return undefined;
  const address = match[1] === '*' ? (kind === 'IPv6' ? '::' : '0.0.0.0') : match[1].replace(/^\[|(?:%\w+)?\]$/g, '');
  return { address, port: Number(match[2]) };
}
