import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';

/** Longer than everything that others may still have to do. */
const limitMs = 1_500_000;

/** `alone`: nobody else has it meanwhile. `beside`: others who ask for it in this way may have it too. */
export type Turn = 'alone' | 'beside';

/**
 * Files run at once, and what there is once only is theirs in turns: the set-up hands it out in the order of asking. A turn ends with the
 * connection, so at the latest with the process that has it.
 */
export async function openTurns(): Promise<{ path: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir().length <= 40 ? tmpdir() : '/tmp', 'qd-turns-'));
  const path = join(folder, 'turns');
  const queues = new Map<string, { socket: Socket; turn: string; has: boolean }[]>();
  const handOut = (queue: { socket: Socket; turn: string; has: boolean }[]) => {
    for (const [at, one] of queue.entries()) {
      if (at > 0 && (one.turn === 'alone' || queue[0]?.turn === 'alone')) return;
      if (!one.has) one.socket.write('yours\n');
      one.has = true;
    }
  };
  const server = createServer((socket) => {
    let asked = '';
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => {
      asked += text;
      const [, turn = '', name = ''] = /^(\w+) (.+)\n$/.exec(asked) ?? [];
      if (name === '') return;
      const queue = queues.get(name) ?? [];
      queues.set(name, queue);
      queue.push({ socket, turn, has: false });
      handOut(queue);
      socket.once('close', () => {
        queue.splice(
          queue.findIndex((one) => one.socket === socket),
          1,
        );
        handOut(queue);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    close: async () => {
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits for it; what is returned gives it back. */
export async function takeTurn(name: string, turn: Turn = 'alone'): Promise<() => void> {
  const socket = connect(inject('turns'));
  await new Promise<void>((resolve, reject) => {
    const limit = setTimeout(() => socket.destroy(new Error(`others had ${name} for ${limitMs} ms`)), limitMs);
    socket.once('close', () => {
      clearTimeout(limit);
      reject(new Error(`the set-up that hands out ${name} has gone`));
    });
    socket.once('error', reject);
    socket.once('data', () => {
      clearTimeout(limit);
      resolve();
    });
    socket.write(`${turn} ${name}\n`);
  });
  // Whoever forgets to give it back does not keep the process.
  socket.unref();
  return () => void socket.destroy();
}

/** In a group of tests, before everything else in it: that is theirs from the first to the last test, clearing away included. */
export function inTurn(name: string, turn: Turn = 'alone'): void {
  let giveBack: (() => void) | undefined;
  beforeAll(async () => {
    giveBack = await takeTurn(name, turn);
  }, limitMs);
  afterAll(() => giveBack?.());
}
