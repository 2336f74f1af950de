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

/** Of the header, for several hosts: what is wrong on them needs room as well. */
const placesShare = 0.6;

const worstFirst: readonly Tone[] = ['bad', 'warn', 'unknown', 'busy', 'idle'];

/** Under which word a component is counted: `sealed 1/3` and `sealed 0/3` are both `sealed`, `loading 12/30 min` is `loading`. */
function countedAs(component: ComponentView): string {
  if (component.tone === 'good') return 'up';
  const word = cleanLine(component.word)
    .replace(/[\s(,:]*\d.*$|[(,:].*$/, '')
    .trim()
    .toLowerCase();
  return word === '' ? component.state : word;
}

/** `41 up  1 unhealthy  1 sealed  2 stopped`: what is well first, then the worst. */
export function counts(components: readonly ComponentView[]): { word: string; count: number; tone: Tone }[] {
  const byWord = new Map<string, { word: string; count: number; tone: Tone }>();
  for (const component of components) {
    const word = countedAs(component);
    const known = byWord.get(word);
    if (known) known.count++;
    else byWord.set(word, { word, count: 1, tone: component.tone });
  }
  const rank = (tone: Tone) => (tone === 'good' ? -1 : worstFirst.indexOf(tone));
  return [...byWord.values()].sort((one, other) => rank(one.tone) - rank(other.tone) || other.count - one.count);
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

/** With all that is known of each, or, where that takes more than its share, with the way to each alone. */
function placeTexts(places: readonly PlaceView[], theme: Theme, nowMs: number, room: number): string[] {
  const whole = places.map((place) => placeText(place, theme, nowMs, false));
  if (places.length < 2 || whole.reduce((sum, text) => sum + styledWidth(text) + 3, 0) <= room * placesShare) return whole;
  return places.map((place) => placeText(place, theme, nowMs, true));
}

/** `14:03`, in the operator's time zone. */
function clock(nowMs: number): string {
  const time = new Date(nowMs);
  return `${String(time.getHours()).padStart(2, '0')}:${String(time.getMinutes()).padStart(2, '0')}`;
}

/** The first row of every screen. What does not fit goes from the middle: the badges and the name stay. */
export function headerLine(options: HeaderOptions): string {
  const { theme, columns, snapshot, nowMs, readOnly, rehearsing, practice, problems } = options;
  const badges = [
    problems.length > 0 ? theme.paint('alarm', ` CATALOG ${problems.length} `) : '',
    rehearsing ? theme.paint('alarm', ' REHEARSAL ') : '',
    readOnly ? theme.paint('badge', ' READ-ONLY ') : '',
    practice ? theme.paint('alarm', ' PRACTICE ') : '',
  ].filter(Boolean);
  const right = `${badges.join(' ')}  ${clock(nowMs)} `;
  let line = ` ${theme.paint('key', 'quarterdeck')}`;
  const room = columns - styledWidth(right);
  const add = (text: string, gap: string) => {
    if (styledWidth(line) + gap.length + styledWidth(text) > room) return false;
    line += gap + text;
    return true;
  };
  const texts = placeTexts(snapshot.places, theme, nowMs, room);
  for (const [index, text] of texts.entries()) {
    const left = texts.length - index;
    const more = left > 1 ? `   +${left - 1} hosts`.length : 0;
    if (styledWidth(line) + 3 + styledWidth(text) + more <= room && add(text, index === 0 ? '  ' : '   ')) continue;
    if (texts.length > 1) add(theme.paint('faint', `+${left} ${left === 1 ? 'host' : 'hosts'}`), '   ');
    break;
  }
  let gap = '   ';
  const all = counts(snapshot.components);
  for (const [index, { word, count, tone }] of all.entries()) {
    const left = all.length - index - 1;
    // Room is kept for saying that there is more.
    const more = left > 0 ? `  +${left}` : '';
    const text = theme.paint(tone, `${count} ${word}`);
    if (styledWidth(line) + gap.length + styledWidth(text) + more.length > room) {
      add(theme.paint('faint', `+${left + 1}`), '  ');
      break;
    }
    add(text, gap);
    gap = '  ';
  }
  return padStyled(line, room) + right;
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
