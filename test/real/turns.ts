import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { makeShortFolder } from '../short-folder.ts';

/** Longer than everything that others may still have to do. */
const limitMs = 1_500_000;

/** `alone`: nobody else has it meanwhile. `beside`: others who ask for it in this way may have it too. */
export type Turn = 'alone' | 'beside';

interface Asking {
  socket: Socket;
  turn: string;
  /** Any one of them will do. */
  names: readonly string[];
  has: boolean;
}

/**
 * Files run at once, and what there is once only is theirs in turns: the set-up hands it out in the order of asking. A turn ends with the
 * connection, so at the latest with the process that has it.
 */
export async function openTurns(): Promise<{ path: string; close(): Promise<void> }> {
  const folder = await makeShortFolder('qd-turns-');
  const path = join(folder, 'turns');
  const queues = new Map<string, Asking[]>();
  const leave = (asking: Asking, names: readonly string[]) => {
    for (const name of names) {
      const queue = queues.get(name) ?? [];
      if (queue.includes(asking)) queue.splice(queue.indexOf(asking), 1);
      handOut(name, queue);
    }
  };
  const handOut = (name: string, queue: readonly Asking[]) => {
    // Who gets one of several leaves the lines before the others.
    for (const [at, asking] of [...queue].entries()) {
      if (at > 0 && (asking.turn === 'alone' || queue[0]?.turn === 'alone')) return;
      if (asking.has) continue;
      asking.has = true;
      asking.socket.write(`${name}\n`);
      leave(
        asking,
        asking.names.filter((other) => other !== name),
      );
    }
  };
  const server = createServer((socket) => {
    let asked = '';
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => {
      asked += text;
      const [, turn = '', listed = ''] = /^(\w+) (.+)\n$/.exec(asked) ?? [];
      if (listed === '') return;
      const names = listed.split('|');
      const asking: Asking = { socket, turn, names, has: false };
      for (const name of names) {
        const queue = queues.get(name) ?? [];
        queues.set(name, queue);
        queue.push(asking);
      }
      for (const name of names) if (!asking.has) handOut(name, queues.get(name) ?? []);
      socket.once('close', () => leave(asking, names));
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
  return (await takeOneOf([name], turn)).giveBack;
}

/** The same for the one of several that is free first. */
export async function takeOneOf(names: readonly string[], turn: Turn = 'alone'): Promise<{ name: string; giveBack: () => void }> {
  const socket = connect(inject('turns'));
  const name = await new Promise<string>((resolve, reject) => {
    const wanted = names.join(' or ');
    const limit = setTimeout(() => socket.destroy(new Error(`others had ${wanted} for ${limitMs} ms`)), limitMs);
    socket.once('close', () => {
      clearTimeout(limit);
      reject(new Error(`the set-up that hands out ${wanted} has gone`));
    });
    socket.once('error', reject);
    socket.setEncoding('utf8').once('data', (line: string) => {
      clearTimeout(limit);
      resolve(line.trim());
    });
    socket.write(`${turn} ${names.join('|')}\n`);
  });
  // Whoever forgets to give it back does not keep the process.
  socket.unref();
  return { name, giveBack: () => void socket.destroy() };
}

/** In a group of tests, before everything else in it: that is theirs from the first to the last test, clearing away included. */
export function inTurn(name: string, turn: Turn = 'alone'): void {
  inTurnOfOne([name], () => undefined, turn);
}

/** The same for the one of several that is free first. @param got is told which, before anything else of the group runs */
export function inTurnOfOne(names: readonly string[], got: (name: string) => void, turn: Turn = 'alone'): void {
  let giveBack: (() => void) | undefined;
  beforeAll(async () => {
    const taken = await takeOneOf(names, turn);
    giveBack = taken.giveBack;
    got(taken.name);
  }, limitMs);
  afterAll(() => giveBack?.());
}
