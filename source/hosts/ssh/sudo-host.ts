import type { AnswerSsh } from './askpass-socket.ts';
import type { SshConnection } from './ssh-connection.ts';
import type { SshHost } from './ssh-host.ts';
import { openSudoRelay, type SudoRelay } from './sudo-relay.ts';

/** Socket paths of root's engines; the path set in the environment there comes first. */
const rootSockets = ['/var/run/docker.sock', '/run/podman/podman.sock'];

interface SudoOptions {
  connection: (signal: AbortSignal) => Promise<SshConnection>;
  answer: AnswerSsh;
}

/**
 * A host whose engines listen on sockets that the login user may not use: they are reached through a relay started by sudo, one for each
 * connection. Everything else, files and programs, is done as the login user.
 */
export function withSudo(host: SshHost, { connection, answer }: SudoOptions): SshHost {
  let relayOf: SshConnection | undefined;
  let relay: Promise<SudoRelay | undefined> | undefined;
  let active: SudoRelay | undefined;

  async function open(signal: AbortSignal): Promise<SudoRelay | undefined> {
    const now = await connection(signal);
    if (relayOf !== now) {
      relayOf = now;
      relay = undefined;
      active = undefined;
    }
    // A refusal is not retried on this connection: sudo reports each attempt to the administrator.
    relay ??= start(now);
    const opened = await relay;
    active = opened;
    return opened;
  }

  async function start(now: SshConnection): Promise<SudoRelay | undefined> {
    const closing = new AbortController();
    void now.ended.then(() => closing.abort(new DOMException('the connection ended', 'AbortError')));
    const { signal } = closing;
    const { uid, env } = await host.facts(signal);
    if (uid === 0) return undefined;
    const named = [env['DOCKER_HOST'], env['CONTAINER_HOST']].flatMap((url) => /^unix:\/\/(\/.*)$/.exec(url ?? '')?.[1] ?? []);
    const opened = await openSudoRelay(now, { wanted: [...new Set([...named, ...rootSockets])], answer, signal });
    void opened.ended.then(() => {
      if (relayOf === now) relay = undefined;
      if (active === opened) active = undefined;
    });
    return opened;
  }

  return {
    ...host,
    sudo: true,
    openSockets: async (signal) => {
      await open(signal);
    },
    files: {
      ...host.files,
      async facts(path, signal) {
        const relayed = active?.sockets.get(path);
        if (!relayed) return host.files.facts(path, signal);
        const { device, inode } = relayed;
        return { kind: 'socket', sizeBytes: 0, modifiedMs: 0, device, inode };
      },
    },
    async dial(address, signal, how) {
      if (!('socket' in address)) return host.dial(address, signal, how);
      const opened = await open(signal);
      const relayed = opened?.sockets.get(address.socket);
      return host.dial(relayed ? { socket: relayed.path } : address, signal, how);
    },
  };
}
