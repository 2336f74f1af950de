import { once } from 'node:events';
import type { Server } from 'node:net';
import { messageOf } from '../faults/fault.ts';

/** Resolves when the server listens; later errors of the server are ignored. Rejects with the system's error. */
export async function listenAt(server: Server, host: string, port: number): Promise<void> {
  await once(server.listen({ port, host, exclusive: true }), 'listening');
  server.on('error', () => undefined);
}

export function whyNotListening(cause: NodeJS.ErrnoException): string {
  if (cause.code === 'EADDRINUSE') return 'the port is already in use';
  if (cause.code === 'EACCES') return 'this user is not permitted to listen on this port';
  if (cause.code === 'EADDRNOTAVAIL') return 'this machine does not have this address';
  return messageOf(cause);
}
