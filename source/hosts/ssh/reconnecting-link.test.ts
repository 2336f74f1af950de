import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Fault } from '../../faults/fault.ts';
import { ReconnectingLink } from './reconnecting-link.ts';
import { ConnectFailure, type SshConnection } from './ssh-connection.ts';
import type { SshFailure } from './ssh-failures.ts';

const away: SshFailure = {
  fault: new Fault('unreachable.host', 'nas does not respond.', 'Wait.'),
  needsOperator: false,
};
const refused: SshFailure = {
  fault: new Fault('refused.login', 'nas let nobody in.', 'Look.'),
  needsOperator: true,
};
const signal = new AbortController().signal;

function connection(): { connection: SshConnection; breaks: (failure: SshFailure) => void } {
  const { promise, resolve } = Promise.withResolvers<SshFailure>();
  return { connection: { ended: promise, close: () => undefined } as unknown as SshConnection, breaks: resolve };
}

let keeper: ReconnectingLink | undefined;
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  keeper?.close();
  vi.useRealTimers();
});

describe('the connection of a host', () => {
  test('is made once for all who ask', async () => {
    const open = vi.fn(async () => connection().connection);
    keeper = new ReconnectingLink(open);
    await Promise.all([keeper.ready(signal), keeper.ready(signal), keeper.ready(signal)]);
    expect(open).toHaveBeenCalledTimes(1);
    expect(keeper.view.state).toBe('connected');
  });

  test('is tried again with longer and longer waits while the host is away, and fails at once meanwhile', async () => {
    const open = vi.fn(() => Promise.reject(new ConnectFailure(away)));
    keeper = new ReconnectingLink(open);
    const waits: number[] = [];
    for (let round = 0; round < 7; round++) {
      await expect(keeper.ready(signal)).rejects.toBe(away.fault);
      expect(keeper.view).toMatchObject({ state: 'away', fault: away.fault });
      const before = open.mock.calls.length;
      await expect(keeper.ready(signal)).rejects.toBe(away.fault);
      expect(open.mock.calls.length).toBe(before);
      waits.push((keeper.view.retryAtMs ?? 0) - Date.now());
      await vi.advanceTimersByTimeAsync(waits.at(-1) ?? 0);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test('is not tried again by itself after a refusal: the far side counts those, and bans', async () => {
    const open = vi.fn(() => Promise.reject(new ConnectFailure(refused)));
    keeper = new ReconnectingLink(open);
    await expect(keeper.ready(signal)).rejects.toBe(refused.fault);
    await vi.advanceTimersByTimeAsync(24 * 60 * 60_000);
    await expect(keeper.ready(signal)).rejects.toBe(refused.fault);
    expect(open).toHaveBeenCalledTimes(1);
    expect(keeper.view.state).toBe('refused');
    keeper.retry();
    expect(open).toHaveBeenCalledTimes(2);
  });

  test('comes back by itself after it broke', async () => {
    const first = connection();
    const open = vi.fn().mockResolvedValueOnce(first.connection).mockResolvedValue(connection().connection);
    keeper = new ReconnectingLink(open);
    await keeper.ready(signal);
    const states: string[] = [];
    const { view } = keeper;
    expect(view.state).toBe('connected');
    keeper.subscribe(() => states.push(keeper?.view.state ?? ''));
    first.breaks(away);
    await vi.advanceTimersByTimeAsync(0);
    expect(keeper.view).toMatchObject({ state: 'away', fault: away.fault });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(states).toEqual(['away', 'connecting', 'connected']);
  });

  test('whoever lost what went through it is told why, by asking, also before the end is known', async () => {
    const first = connection();
    const dead = Promise.withResolvers<void>();
    const verifyAlive = vi
      .fn()
      .mockResolvedValueOnce(undefined)
      .mockReturnValueOnce(dead.promise)
      .mockReturnValue(new Promise(() => {}));
    Object.assign(first.connection, { verifyAlive });
    const open = vi
      .fn()
      .mockResolvedValueOnce(first.connection)
      .mockReturnValue(new Promise(() => {}));
    keeper = new ReconnectingLink(open);
    await keeper.ready(signal);
    expect(await keeper.trouble(signal)).toBeUndefined();
    const asked = keeper.trouble(signal);
    dead.reject(away.fault);
    expect(await asked).toBe(away.fault);
    // The remote side sends nothing, and ssh has not noticed yet.
    const patient = keeper.trouble(signal);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await patient).toBeUndefined();
    first.breaks(away);
    await vi.advanceTimersByTimeAsync(0);
    expect(await keeper.trouble(signal)).toBe(away.fault);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(keeper.view.state).toBe('connecting');
    expect(await keeper.trouble(signal)).toBe(away.fault);
  });

  test('whoever stops waiting leaves it to the others', async () => {
    const { promise, resolve } = Promise.withResolvers<SshConnection>();
    keeper = new ReconnectingLink(() => promise);
    const leaving = new AbortController();
    const waits = keeper.ready(leaving.signal);
    const stays = keeper.ready(signal);
    leaving.abort(new Error('no longer'));
    await expect(waits).rejects.toThrow('no longer');
    resolve(connection().connection);
    await stays;
  });
});
