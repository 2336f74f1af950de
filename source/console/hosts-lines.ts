import type { ComponentView, FleetSnapshot, PlaceView, Tone } from '../fleet/model.ts';
import type { Tunnel } from '../hosts/tunnel.ts';
import type { Deck } from '../terminal/deck.ts';
import { clockText, troubleOf, wayText } from '../terminal/way-text.ts';
import { cleanLine } from '../text/clean.ts';
import { countText, durationText } from '../text/quantities.ts';
import { cut, pad, textWidth, wrap } from '../text/width.ts';
import { isWell } from './component-rows.ts';
import { padStyled, styledWidth, unstyled } from './styled-text.ts';
import type { Theme } from './theme.ts';

export type HostItem = { kind: 'place'; place: PlaceView } | { kind: 'tunnel'; tunnel: Tunnel };

/** What the cursor goes over: hosts with their engines, then the tunnels. */
export function hostItems(snapshot: FleetSnapshot, tunnels: readonly Tunnel[]): HostItem[] {
  return [
    ...snapshot.places.map((place) => ({ kind: 'place' as const, place })),
    ...tunnels.map((tunnel) => ({ kind: 'tunnel' as const, tunnel })),
  ];
}

/** Of a component of another machine: which one, and where a tunnel from here leads to it. */
export function farOf(deck: Deck, component: ComponentView): { machine: string; tunnel: string | undefined } | undefined {
  const place = deck.fleet.snapshot().places.find(({ name }) => name === component.host);
  return place?.hostKind === 'ssh' ? { machine: place.machine, tunnel: deck.tunnels?.find(component.key)?.url } : undefined;
}

/** The home on the host of a practice stack, which has a long name that says nothing. */
export function homeOf(deck: Deck): string | undefined {
  return deck.options.practice && `${deck.options.practice.folder}/home`;
}

export interface HostsContext {
  theme: Theme;
  width: number;
  nowMs: number;
  components: readonly ComponentView[];
  /** How ssh is told to reach a machine, by its name. */
  destinations: Readonly<Record<string, { ssh: string }>>;
}

/** Empty where it was never there. */
function engineText({ engine }: PlaceView): string {
  if (engine.kind === undefined && !engine.reachable) return '';
  return [engine.kind ?? 'engine', cleanLine(engine.version), engine.rootless ? 'rootless' : ''].filter(Boolean).join(' ');
}

function toneOf(place: PlaceView): Tone {
  const way = wayText(place, 0, { retry: false });
  return way.text === '' ? 'good' : way.tone;
}

function upText(place: PlaceView, components: readonly ComponentView[]): string {
  const here = components.filter(({ host }) => host === place.name);
  if (here.length === 0) return place.engine.reachable ? 'nothing there' : '';
  return place.engine.reachable
    ? `${here.filter(isWell).length} of ${here.length} well`
    : `${countText(here.length, 'component')}, as last seen`;
}

function placeLine(place: PlaceView, columns: number, engineColumns: number, { theme, nowMs, components }: HostsContext): string {
  const way = wayText(place, nowMs);
  const tone = toneOf(place);
  const state = way.text === '' ? (place.hostKind === 'local' ? 'this machine' : 'connected') : way.text;
  const skew = clockText(place);
  return [
    `${theme.paint(tone, theme.glyphs.tone[tone])} ${pad(cleanLine(place.name), columns, 'left', theme.glyphs.ellipsis)}`,
    theme.paint(tone, pad(state, 24)),
    pad(engineText(place), engineColumns, 'left', theme.glyphs.ellipsis),
    upText(place, components),
    skew === '' ? '' : theme.paint('warn', skew),
  ]
    .filter(Boolean)
    .join('  ');
}

function tunnelLine(tunnel: Tunnel, { theme }: HostsContext): string {
  const { wanted, trouble, open } = tunnel;
  const tone: Tone = trouble ? 'bad' : 'good';
  const use = trouble ? theme.paint('bad', cleanLine(trouble.message)) : open > 0 ? `${countText(open, 'connection')} now` : 'open';
  return `${theme.paint(tone, theme.glyphs.tone[tone])} ${theme.link(cleanLine(tunnel.url))}  to ${cleanLine(wanted.name)} on ${cleanLine(wanted.place)}, port ${wanted.address.port}  ${use}`;
}

/** All about the way to one place, as sentences and facts. */
export function placeFacts(place: PlaceView, { nowMs, destinations }: Pick<HostsContext, 'nowMs' | 'destinations'>): [string, string][] {
  const { engine, way, link } = place;
  const destination = destinations[place.machine]?.ssh;
  const trouble = troubleOf(place);
  const seconds = trouble?.retryAtMs === undefined ? undefined : Math.ceil((trouble.retryAtMs - nowMs) / 1000);
  const facts: [string, string][] = [
    ['reached by', destination === undefined ? 'this machine' : `ssh ${destination}`],
    [
      'since',
      way
        ? `${wayText(place, nowMs, { retry: false }).text}, for ${durationText(nowMs - way.sinceMs)}`
        : `${link.state}, for ${durationText(nowMs - link.sinceMs)}`,
    ],
    ['engine', engine.kind === undefined ? '' : `${engineText(place)}, API ${engine.apiVersion}, at ${engine.address} (${engine.origin})`],
    [
      'clock',
      clockText(place) === '' ? '' : `${clockText(place).replace(/^clock /, '')} of this machine's; ages here are told by this machine's`,
    ],
    ['trouble', trouble?.message ?? ''],
    ['what to do', trouble?.remedy ?? ''],
    ['next try', trouble === undefined ? '' : seconds === undefined ? 'when you ask for it' : seconds > 0 ? `in ${seconds} s` : 'now'],
    ...place.notes.map((note): [string, string] => ['note', note]),
  ];
  return facts.filter(([, text]) => text !== '').map(([name, text]) => [name, cleanLine(text)]);
}

/** The screen's lines, and which of them is under the cursor. */
export function hostsLines(items: readonly HostItem[], cursor: number, context: HostsContext): { lines: string[]; at: number } {
  const { theme, width } = context;
  const lines: string[] = [];
  let at = 0;
  const columns = Math.min(
    20,
    Math.max(4, ...items.flatMap((item) => (item.kind === 'place' ? [textWidth(cleanLine(item.place.name))] : []))),
  );
  const engineColumns = Math.min(
    width >= 100 ? 34 : 20,
    Math.max(6, ...items.flatMap((item) => (item.kind === 'place' ? [textWidth(engineText(item.place))] : []))),
  );
  const add = (line: string, index: number) => {
    const here = index === cursor;
    if (here) at = lines.length;
    const row = padStyled(`${here ? theme.paint('accent', theme.glyphs.pointer) : ' '}${line}`, width, theme.glyphs.ellipsis);
    lines.push(here ? theme.paint('selected', row) : row);
  };
  for (const [index, item] of items.entries()) {
    if (item.kind === 'place') add(placeLine(item.place, columns, engineColumns, context), index);
    else {
      if (items[index - 1]?.kind === 'place') lines.push('', ` ${theme.paint('heading', 'Tunnels from this machine')}`);
      add(tunnelLine(item.tunnel, context), index);
    }
  }
  const chosen = items[cursor];
  const drawn =
    chosen && (chosen.kind === 'place' ? placeLine(chosen.place, columns, engineColumns, context) : tunnelLine(chosen.tunnel, context));
  if (drawn !== undefined && styledWidth(drawn) > width - 1)
    lines.push('', ...wrap(unstyled(drawn).replace(/ {2,}/g, ', '), width - 2).map((line) => ` ${theme.paint('faint', line)}`));
  if (chosen?.kind === 'place') {
    lines.push('', ` ${theme.paint('heading', cut(cleanLine(chosen.place.name), width - 2, theme.glyphs.ellipsis))}`);
    for (const [name, text] of placeFacts(chosen.place, context))
      for (const [row, part] of wrap(text, width - 16).entries())
        lines.push(` ${row === 0 ? theme.paint('faint', pad(name, 12)) : ' '.repeat(12)} ${part}`);
  }
  return { lines, at };
}
