import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server that records what is posted to it, and answers as the test says. */
export class NotificationReceiver {
  readonly received: Received[] = [];
  answer: (response: ServerResponse) => void = (response) => response.end('{}');

  private constructor(private readonly server: Server) {}

  static async open(): Promise<NotificationReceiver> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        receiver.received.push({ path: request.url ?? '', headers: request.headers, body });
        receiver.answer(response);
      });
    });
    const receiver = new NotificationReceiver(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** A mail server without TLS. `refuse`: what it says to a command that begins like this. */
export async function openMailServer(refuse: Readonly<Record<string, string>> = {}) {
  const lines: string[] = [];
  const server = createTcpServer((socket) => {
    let isData = false;
    let rest = '';
    const say = (text: string) => socket.write(`${text}\r\n`);
    say('220 mail ready');
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const all = (rest + chunk.toString()).split('\r\n');
      rest = all.pop() ?? '';
      for (const line of all) {
        lines.push(line);
        const refused = Object.entries(refuse).find(([command]) => !isData && line.startsWith(command));
        if (refused) say(refused[1]);
        else if (isData) {
          isData = line !== '.';
          if (!isData) say('250 queued');
        } else if (line.startsWith('EHLO')) say('250-mail\r\n250 AUTH PLAIN');
        else if (line.startsWith('AUTH')) say('235 ok');
        else if (line === 'DATA') {
          isData = true;
          say('354 go on');
        } else if (line === 'QUIT') socket.end('221 bye\r\n');
        else say('250 ok');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    lines,
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}
