import type { CatalogProblem } from '../../catalog/catalog.ts';
import type { ComponentView, FleetSnapshot, PlaceView, Tone } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut, pad, wrap } from '../../text/width.ts';
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

function placeText(place: PlaceView, theme: Theme): string {
  const { engine, link } = place;
  const name = theme.paint('strong', cleanLine(place.name));
  const made = [engine.kind ?? 'engine', cleanLine(engine.version), engine.rootless ? 'rootless' : ''].filter(Boolean).join(' ');
  if (link.state === 'connected') return `${name} ${theme.glyphs.dot} ${made}`;
  return `${name} ${theme.glyphs.dot} ${theme.paint(link.state === 'away' ? 'bad' : 'busy', link.state)}`;
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
  const [first, ...others] = snapshot.places;
  if (first) add(cut(placeText(first, theme), 200), '  ');
  for (const place of others) add(placeText(place, theme), '   ');
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

/** What must be said above the panes: an engine that is away, why, what to do, and what happens next. Empty when all is well. */
export function bannerLines(snapshot: FleetSnapshot, theme: Theme, columns: number, nowMs: number): string[] {
  const troubled = snapshot.places.filter((place) => place.link.state === 'away');
  const [place] = troubled;
  if (!place) return [];
  const { link } = place;
  const waitSeconds = link.retryAtMs === undefined ? undefined : Math.max(0, Math.ceil((link.retryAtMs - nowMs) / 1000));
  const next = waitSeconds === undefined ? '' : waitSeconds === 0 ? 'Trying again now.' : `Next try in ${waitSeconds} s.`;
  const tail = [next, troubled.length > 1 ? `(${troubled.length - 1} more)` : ''].filter(Boolean).join(' ');
  const reason = [link.message ?? 'The engine does not answer.', link.remedy ?? ''].filter(Boolean).map(cleanLine).join(' ');
  // The countdown moves: it keeps its place, and its room, so that nothing else does.
  const tailColumns = 20;
  const wrapped = wrap(`${cleanLine(place.name)}: ${reason}`, columns - tailColumns - 5);
  const rows =
    wrapped.length > mostBannerRows ? [...wrapped.slice(0, mostBannerRows - 1), wrapped.slice(mostBannerRows - 1).join(' ')] : wrapped;
  return rows.map((row, index) =>
    theme.paint(
      'alarm',
      ` ${index === 0 ? theme.glyphs.tone.bad : ' '} ${pad(row, columns - tailColumns - 5, 'left', theme.glyphs.ellipsis)} ${pad(index === 0 ? tail : '', tailColumns, 'right', theme.glyphs.ellipsis)} `,
    ),
  );
}
