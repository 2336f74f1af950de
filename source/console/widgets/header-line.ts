import type { CatalogProblem } from '../../catalog/catalog.ts';
import type { ComponentView, FleetSnapshot, PlaceView, Tone } from '../../fleet/model.ts';
import { clockText, troubleOf, wayText } from '../../terminal/way-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { pad, wrap } from '../../text/width.ts';
import { padStyled, styledWidth } from '../styled-text.ts';
import type { Theme } from '../theme.ts';

interface HeaderOptions {
  theme: Theme;
  columns: number;
  snapshot: FleetSnapshot;
  nowMs: number;
  readOnly: boolean;
  rehearsing: boolean;
  practice: boolean;
  problems: readonly CatalogProblem[];
}

/** Worst first: what needs attention stays where there is little room. */
const severities: readonly { tone: Tone; one: string; many: string }[] = [
  { tone: 'bad', one: 'failing', many: 'failing' },
  { tone: 'warn', one: 'warning', many: 'warnings' },
  { tone: 'unknown', one: 'unknown', many: 'unknown' },
  { tone: 'busy', one: 'busy', many: 'busy' },
  { tone: 'good', one: 'up', many: 'up' },
  { tone: 'idle', one: 'off', many: 'off' },
];
/** In the order in which they give way where not even the severities fit. Problems never do. */
const givingWay: readonly Tone[] = ['idle', 'busy', 'good', 'unknown'];

interface Counted {
  word: string;
  count: number;
  tone: Tone;
}

/** Under which word a component is counted: `sealed 1/3` and `sealed 0/3` are both `sealed`, `loading 12/30 min` is `loading`. */
function countedAs(component: ComponentView): string {
  if (component.tone === 'good') return 'up';
  const word = cleanLine(component.word)
    .replace(/[\s(,:]*\d.*$|[(,:].*$/, '')
    .trim()
    .toLowerCase();
  return word === '' ? component.state : word;
}

/** `1 unhealthy  1 sealed  41 up  2 stopped`: the worst first. */
export function counts(components: readonly ComponentView[]): Counted[] {
  const byWord = new Map<string, Counted>();
  for (const component of components) {
    const word = countedAs(component);
    const known = byWord.get(word);
    if (known) known.count++;
    else byWord.set(word, { word, count: 1, tone: component.tone });
  }
  const rank = (tone: Tone) => severities.findIndex((severity) => severity.tone === tone);
  return [...byWord.values()].sort((one, other) => rank(one.tone) - rank(other.tone) || other.count - one.count);
}

/** `2 failing  5 warnings  9 up  4 off` */
function countsBySeverity(components: readonly ComponentView[]): Counted[] {
  return severities.flatMap(({ tone, one, many }) => {
    const count = components.filter((component) => component.tone === tone).length;
    return count === 0 ? [] : [{ word: count === 1 ? one : many, count, tone }];
  });
}

/** One place; `short` where many have to stand beside each other. */
function placeText(place: PlaceView, theme: Theme, nowMs: number, short: boolean): string {
  const { engine, link } = place;
  const way = wayText(place, nowMs, { retry: !short });
  const made = [engine.kind ?? 'engine', cleanLine(engine.version), engine.rootless ? 'rootless' : ''].filter(Boolean).join(' ');
  const skew = clockText(place);
  return [
    theme.paint('strong', cleanLine(place.name)),
    way.text === '' ? '' : way.tone === 'good' ? way.text : theme.paint(way.tone, way.text),
    short || link.state !== 'connected' ? '' : made,
    skew === '' ? '' : theme.paint('warn', skew),
  ]
    .filter(Boolean)
    .join(` ${theme.glyphs.dot} `);
}

/** With all that is known of each, or, where that does not fit, with the connection to each alone. */
function placeTexts(places: readonly PlaceView[], theme: Theme, nowMs: number, room: number): string[] {
  const whole = places.map((place) => placeText(place, theme, nowMs, false));
  if (places.length < 2 || whole.reduce((sum, text) => sum + styledWidth(text) + 3, 0) <= room) return whole;
  return places.map((place) => placeText(place, theme, nowMs, true));
}

/** `14:03`, in the operator's time zone. */
function clock(nowMs: number): string {
  const time = new Date(nowMs);
  return `${String(time.getHours()).padStart(2, '0')}:${String(time.getMinutes()).padStart(2, '0')}`;
}

/**
 * The first row of every screen. The counts stand in words where all of them fit beside the hosts, else by severity. Where there is less room, hosts, the clock and the name of
 * the program give way, then counts of what is well; problems and badges stay.
 */
export function headerLine(options: HeaderOptions): string {
  const { theme, columns, snapshot, nowMs, readOnly, rehearsing, practice, problems } = options;
  const badges = [
    problems.length > 0 ? theme.paint('alarm', ` CATALOG ${problems.length} `) : '',
    rehearsing ? theme.paint('alarm', ' REHEARSAL ') : '',
    readOnly ? theme.paint('badge', ' READ-ONLY ') : '',
    practice ? theme.paint('alarm', ' PRACTICE ') : '',
  ].filter(Boolean);
  const textOf = (all: readonly Counted[]) => all.map(({ word, count, tone }) => theme.paint(tone, `${count} ${word}`)).join('  ');
  const name = ` ${theme.paint('key', 'quarterdeck')}`;
  const rights = [`${badges.join(' ')}  ${clock(nowMs)} `, `${badges.join(' ')} `];
  const [timed = ''] = rights;
  const roomBeside = (left: string, right: string, gap: number) => columns - styledWidth(left) - styledWidth(right) - gap;

  const words = textOf(counts(snapshot.components));
  const hosts = hostsText(snapshot.places, theme, nowMs, roomBeside(name, timed, 2 + 2 + styledWidth(words)));
  if (hosts.isWhole) return padStyled(`${name}  ${hosts.text}  ${words}`, columns - styledWidth(timed)) + timed;

  let bySeverity = countsBySeverity(snapshot.components);
  const severe = textOf(bySeverity);
  const fitting = hostsText(snapshot.places, theme, nowMs, roomBeside(name, timed, 2 + 2 + styledWidth(severe)));
  if (fitting.text !== '') return padStyled(`${name}  ${fitting.text}  ${severe}`, columns - styledWidth(timed)) + timed;
  for (const right of rights)
    if (roomBeside(name, right, 2) >= styledWidth(severe)) return padStyled(`${name}  ${severe}`, columns - styledWidth(right)) + right;
  const [, right = ''] = rights;
  for (const tone of givingWay) {
    if (styledWidth(textOf(bySeverity)) <= roomBeside('', right, 1)) break;
    bySeverity = bySeverity.filter((one) => one.tone !== tone);
  }
  return padStyled(` ${textOf(bySeverity)}`, columns - styledWidth(right)) + right;
}

/** As many hosts as fit into `room`, and how many more there are. `isWhole`: all of them, with nothing left out. */
function hostsText(places: readonly PlaceView[], theme: Theme, nowMs: number, room: number): { text: string; isWhole: boolean } {
  const texts = placeTexts(places, theme, nowMs, room);
  const all = texts.join('   ');
  if (styledWidth(all) <= room) return { text: all, isWhole: true };
  for (let shown = texts.length - 1; shown > 0; shown--) {
    const left = texts.length - shown;
    const text = `${texts.slice(0, shown).join('   ')}   ${theme.paint('faint', `+${left} ${left === 1 ? 'host' : 'hosts'}`)}`;
    if (styledWidth(text) <= room) return { text, isWhole: false };
  }
  const [only] = places;
  const short = only && places.length === 1 ? placeText(only, theme, nowMs, true) : '';
  if (short !== '' && styledWidth(short) <= room) return { text: short, isWhole: false };
  const count = places.length > 1 ? theme.paint('faint', `${places.length} hosts`) : '';
  return { text: styledWidth(count) <= room ? count : '', isWhole: false };
}

/** How many rows the banner may take. */
const mostBannerRows = 3;

/** What must be said above the panes: a machine or an engine that is away, why, what to do, and what happens next. Empty when all is well. */
export function bannerLines(snapshot: FleetSnapshot, theme: Theme, columns: number, nowMs: number): string[] {
  const troubled = snapshot.places.flatMap((place) => {
    const trouble = troubleOf(place);
    return trouble ? [{ place, trouble }] : [];
  });
  const [first] = troubled;
  if (!first) return [];
  const { place, trouble } = first;
  const waitSeconds = trouble.retryAtMs === undefined ? undefined : Math.max(0, Math.ceil((trouble.retryAtMs - nowMs) / 1000));
  const next = waitSeconds === undefined ? '' : waitSeconds === 0 ? 'Trying again now.' : `Next try in ${waitSeconds} s.`;
  // Engines of one machine that is away are one trouble.
  const machines = new Set(troubled.map((one) => one.place.machine));
  const tail = [next, machines.size > 1 ? `(${machines.size - 1} more)` : ''].filter(Boolean).join(' ');
  const name = place.way && place.way.state !== 'connected' ? place.machine : place.name;
  const reason = [trouble.message, trouble.remedy].filter(Boolean).map(cleanLine).join(' ');
  // The countdown moves: it keeps its place, and its room, so that nothing else does.
  const tailColumns = machines.size > 1 ? 27 : 20;
  const named = reason.split(/[\s:.,]+/).includes(cleanLine(name));
  const wrapped = wrap(named ? reason : `${cleanLine(name)}: ${reason}`, columns - tailColumns - 5);
  const rows =
    wrapped.length > mostBannerRows ? [...wrapped.slice(0, mostBannerRows - 1), wrapped.slice(mostBannerRows - 1).join(' ')] : wrapped;
  return rows.map((row, index) =>
    theme.paint(
      'alarm',
      ` ${index === 0 ? theme.glyphs.tone.bad : ' '} ${pad(row, columns - tailColumns - 5, 'left', theme.glyphs.ellipsis)} ${pad(index === 0 ? tail : '', tailColumns, 'right', theme.glyphs.ellipsis)} `,
    ),
  );
}
