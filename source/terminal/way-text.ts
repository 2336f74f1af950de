import type { FleetSnapshot, PlaceView, Tone } from '../fleet/model.ts';
import { clockDifferenceText } from '../text/quantities.ts';

/** Less than this is no difference that anybody would see. */
const skewMs = 30_000;

export interface WayText {
  /** `ssh 12 ms`, `connecting`, `asks you`, `asleep, retry in 7 s`, `refused`. Empty where nothing lies between. */
  text: string;
  tone: Tone;
}

/** How the way to a place is, in a few words; of an engine of this machine only what is wrong. `retry` says when it is tried again, to the second. */
export function wayText({ way, link }: PlaceView, nowMs: number, { retry = true }: { retry?: boolean } = {}): WayText {
  const again = (atMs: number | undefined) => {
    if (!retry || atMs === undefined) return '';
    const seconds = Math.ceil((atMs - nowMs) / 1000);
    return seconds > 0 ? `, retry in ${seconds} s` : ', trying again';
  };
  switch (way?.state) {
    case undefined:
      if (link.state === 'connected') return { text: '', tone: 'good' };
      return link.state === 'away' ? { text: `away${again(link.retryAtMs)}`, tone: 'bad' } : { text: link.state, tone: 'busy' };
    case 'connected': {
      const ssh = way.roundTripMs === undefined ? 'ssh' : `ssh ${way.roundTripMs} ms`;
      if (link.state === 'away') return { text: `${ssh}, engine away`, tone: 'bad' };
      return { text: ssh, tone: link.state === 'connected' ? 'good' : 'busy' };
    }
    case 'connecting':
      return { text: 'connecting', tone: 'busy' };
    case 'asking':
      return { text: 'asks you', tone: 'warn' };
    case 'refused':
      return { text: 'refused', tone: 'bad' };
    case 'asleep':
    case 'away':
      return { text: `${way.state}${again(way.retryAtMs)}`, tone: 'bad' };
  }
}

/** `clock 1h ahead`, where the machine's clock is off. */
export function clockText({ clockAheadMs = 0 }: PlaceView): string {
  if (Math.abs(clockAheadMs) < skewMs) return '';
  return `clock ${clockDifferenceText(clockAheadMs)} ${clockAheadMs > 0 ? 'ahead' : 'behind'}`;
}

/** Why a place cannot be worked with, what to do about it, and when that is tried again by itself: the way to the machine before its engine. */
export function troubleOf({ way, link }: PlaceView): { message: string; remedy: string; retryAtMs: number | undefined } | undefined {
  if (way && way.state !== 'connected' && way.message !== undefined)
    return { message: way.message, remedy: way.remedy ?? '', retryAtMs: way.retryAtMs };
  if (link.state !== 'away') return undefined;
  return {
    message: link.message ?? 'The engine does not answer.',
    remedy: link.remedy ?? '',
    // The engine is asked again as soon as the machine is there, and not before.
    retryAtMs: way && way.state !== 'connected' ? way.retryAtMs : link.retryAtMs,
  };
}

/** Places that cannot be asked, and why: for whoever wanted to look at all of them. */
export function leftOutOf({ places }: FleetSnapshot): { host: string; message: string }[] {
  return places
    .filter(({ engine }) => !engine.reachable)
    .map((place) => ({ host: place.name, message: troubleOf(place)?.message ?? 'It is not connected.' }));
}
