import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';

/** Listens on a socket path. Returns a function that closes the server and its connections, upgraded ones too. */
export async function listenAt(server: Server, path: string): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  rmSync(path, { force: true });
  await once(server.listen(path), 'listening');
  server.on('error', () => undefined);
  return async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
}
