import type { EngineView, FleetSnapshot, Severity } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { clockDifferenceText } from '../text/quantities.ts';

/** Smaller differences are not shown. */
const skewMs = 30_000;

/** `podman 5.4.0 rootless`. */
export function engineText({ engine }: EngineView): string {
  return [engine.kind ?? 'engine', cleanLine(engine.version), engine.rootless ? 'rootless' : ''].filter(Boolean).join(' ');
}

/**
 * Returns `ssh 12 ms`, `connecting`, `waiting for your answer`, `asleep, retry in 7 s` or `refused`; for a local engine, only its problem.
 * `retry` adds the time of the next attempt, in seconds.
 */
export function connectionText(
  { connection, link }: EngineView,
  nowMs: number,
  { retry = true } = {},
): { text: string; severity: Severity } {
  const again = (atMs: number | undefined) => {
    if (!retry || atMs === undefined) return '';
    const seconds = Math.ceil((atMs - nowMs) / 1000);
    return seconds > 0 ? `, retry in ${seconds} s` : ', trying again';
  };
  switch (connection?.state) {
    case undefined:
      if (link.state === 'connected') return { text: '', severity: 'ok' };
      return link.state === 'away'
        ? { text: `unreachable${again(link.retryAtMs)}`, severity: 'error' }
        : { text: link.state, severity: 'busy' };
    case 'connected': {
      const ssh = connection.roundTripMs === undefined ? 'ssh' : `ssh ${connection.roundTripMs} ms`;
      if (link.state === 'away') return { text: 'ssh, engine unreachable', severity: 'error' };
      return { text: ssh, severity: link.state === 'connected' ? 'ok' : 'busy' };
    }
    case 'connecting':
      return { text: 'connecting', severity: 'busy' };
    case 'asking':
      return { text: 'waiting for your answer', severity: 'warning' };
    case 'refused':
      return { text: 'refused', severity: 'error' };
    case 'asleep':
    case 'away':
      return { text: `${connection.state === 'away' ? 'unreachable' : 'asleep'}${again(connection.retryAtMs)}`, severity: 'error' };
  }
}

export function clockText({ clockAheadMs = 0 }: EngineView): string {
  if (Math.abs(clockAheadMs) < skewMs) return '';
  return `clock ${clockDifferenceText(clockAheadMs)} ${clockAheadMs > 0 ? 'ahead' : 'behind'}`;
}

/** The connection to the machine comes before its engine. */
export function troubleOf({ connection, link }: EngineView) {
  if (connection && connection.state !== 'connected' && connection.message !== undefined)
    return { message: connection.message, remedy: connection.remedy ?? '', retryAtMs: connection.retryAtMs };
  if (link.state !== 'away') return undefined;
  return {
    message: link.message ?? 'The engine does not respond.',
    remedy: link.remedy ?? '',
    // The engine is queried again as soon as the machine is reachable, and not before.
    retryAtMs: connection && connection.state !== 'connected' ? connection.retryAtMs : link.retryAtMs,
  };
}

export function skippedHosts({ engines }: FleetSnapshot): { host: string; message: string }[] {
  return engines
    .filter(({ engine }) => !engine.reachable)
    .map((engineView) => ({ host: engineView.name, message: troubleOf(engineView)?.message ?? 'The host is not connected.' }));
}
