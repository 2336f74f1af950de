import type { Tone } from '../fleet/model.ts';
import { portableText } from '../text/portable-text.ts';
import { textWidth } from '../text/width.ts';
import { unstyled, withLinks } from './styled-text.ts';

/** What a piece of text is for. Screens name roles; only this file knows colours. */
export type Role =
  | Tone
  | 'strong'
  | 'faint'
  | 'accent'
  | 'heading'
  | 'border'
  | 'focused'
  | 'key'
  | 'match'
  | 'selected'
  | 'resting'
  | 'badge'
  | 'alarm';

export type ColourDepth = 'none' | '16' | '256' | 'full';
export type Background = 'dark' | 'light';

interface Ink {
  /** `#rrggbb` for terminals that have it, and the SGR number for those with 16 colours. */
  fg?: readonly [hex: string, basic: number];
  bg?: readonly [hex: string, basic: number];
  bold?: true;
  /** Instead of a background where there are only 16 colours: those of the operator's terminal are unknown. */
  inverseWhenBasic?: true;
}

const inks: Record<Background, Record<Role, Ink>> = {
  dark: {
    good: { fg: ['#6fcf8e', 32] },
    busy: { fg: ['#76b5f5', 94] },
    warn: { fg: ['#e6b450', 33] },
    bad: { fg: ['#ff7a72', 91], bold: true },
    idle: { fg: ['#8b96a5', 37] },
    unknown: { fg: ['#c9a2f2', 35] },
    strong: { bold: true },
    faint: { fg: ['#7b8794', 90] },
    accent: { fg: ['#4fc1d6', 36] },
    heading: { fg: ['#a7b4c2', 37], bold: true },
    border: { fg: ['#3b4652', 90] },
    focused: { fg: ['#4fc1d6', 36] },
    key: { fg: ['#4fc1d6', 36], bold: true },
    match: { fg: ['#11161c', 30], bg: ['#e6b450', 43] },
    selected: { bg: ['#20415a', 44], bold: true, inverseWhenBasic: true },
    resting: { bg: ['#252d36', 100], inverseWhenBasic: true },
    badge: { fg: ['#11161c', 30], bg: ['#4fc1d6', 46], bold: true },
    alarm: { fg: ['#11161c', 30], bg: ['#e6b450', 43], bold: true },
  },
  light: {
    good: { fg: ['#14713a', 32] },
    busy: { fg: ['#0a58c2', 34] },
    warn: { fg: ['#8a5a00', 33] },
    bad: { fg: ['#c01c28', 31], bold: true },
    idle: { fg: ['#5b6672', 90] },
    unknown: { fg: ['#7a3fc7', 35] },
    strong: { bold: true },
    faint: { fg: ['#6a7581', 90] },
    accent: { fg: ['#0b6f83', 36] },
    heading: { fg: ['#36424e', 30], bold: true },
    border: { fg: ['#b9c2cc', 90] },
    focused: { fg: ['#0b6f83', 36] },
    key: { fg: ['#0b6f83', 36], bold: true },
    match: { fg: ['#1d2329', 30], bg: ['#ffd866', 43] },
    selected: { bg: ['#cbe6f2', 46], bold: true, inverseWhenBasic: true },
    resting: { bg: ['#e6ebf0', 47], inverseWhenBasic: true },
    badge: { fg: ['#ffffff', 97], bg: ['#0b6f83', 46], bold: true },
    alarm: { fg: ['#1d2329', 30], bg: ['#ffd866', 43], bold: true },
  },
};

export interface Glyphs {
  tone: Record<Tone, string>;
  pointer: string;
  arrow: string;
  dot: string;
  mask: string;
  sparks: string;
  spinner: readonly string[];
  check: string;
  /** Of what has to be done yet, and behind a component with something of it. */
  todo: string;
  /** In front of a line that was marked. */
  mark: string;
  ellipsis: string;
  bar: { full: string; empty: string };
  /** A bar that others stand right above and below. */
  thinBar: { full: string; empty: string };
}

export interface Frame {
  topLeft: string;
  topRight: string;
  bottomLeft: string;
  bottomRight: string;
  across: string;
  down: string;
}

const unicodeGlyphs: Glyphs = {
  tone: { good: '●', busy: '◌', warn: '▲', bad: '✖', idle: '○', unknown: '?' },
  pointer: '▸',
  arrow: '→',
  dot: '·',
  mask: '•',
  sparks: '▁▂▃▄▅▆▇█',
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
  check: '✔',
  todo: '☐',
  mark: '◆',
  ellipsis: '…',
  bar: { full: '█', empty: '░' },
  thinBar: { full: '━', empty: '─' },
};

const asciiGlyphs: Glyphs = {
  tone: { good: '+', busy: '~', warn: '!', bad: 'x', idle: '-', unknown: '?' },
  pointer: '>',
  arrow: '->',
  dot: '-',
  mask: '*',
  sparks: '_.,-=+*#',
  spinner: ['|', '/', '-', '\\'],
  check: 'v',
  todo: '!',
  mark: '*',
  ellipsis: '>',
  bar: { full: '#', empty: '.' },
  thinBar: { full: '#', empty: '.' },
};

const frames = {
  unicode: {
    plain: { topLeft: '╭', topRight: '╮', bottomLeft: '╰', bottomRight: '╯', across: '─', down: '│' },
    heavy: { topLeft: '┏', topRight: '┓', bottomLeft: '┗', bottomRight: '┛', across: '━', down: '┃' },
  },
  ascii: {
    plain: { topLeft: '+', topRight: '+', bottomLeft: '+', bottomRight: '+', across: '-', down: '|' },
    heavy: { topLeft: '#', topRight: '#', bottomLeft: '#', bottomRight: '#', across: '=', down: '#' },
  },
} satisfies Record<string, Record<'plain' | 'heavy', Frame>>;

export interface Theme {
  readonly depth: ColourDepth;
  readonly background: Background;
  readonly ascii: boolean;
  readonly glyphs: Glyphs;
  paint(role: Role, text: string): string;
  /** Addresses in it as links, where the terminal may know such things. */
  link(text: string): string;
  frame(focused: boolean): Frame;
  /** The last thing done to a row before it reaches the screen: nothing leaves that this terminal cannot show. */
  finish(row: string): string;
}

function channels(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Nearest of the 6x6x6 cube or the grey ramp of xterm's 256 colours. */
function indexed(hex: string): number {
  const [red, green, blue] = channels(hex);
  const spread = Math.max(red, green, blue) - Math.min(red, green, blue);
  if (spread < 12) return 232 + Math.min(23, Math.max(0, Math.round(((red + green + blue) / 3 - 8) / 10)));
  const step = (channel: number) => (channel < 48 ? 0 : channel < 115 ? 1 : Math.floor((channel - 35) / 40));
  return 16 + 36 * step(red) + 6 * step(green) + step(blue);
}

/**
 * Each attribute in a sequence of its own, ended in reverse order: the form that Ink writes itself. A row in that form is taken apart once per
 * frame, any other one twice.
 */
function sgrOf(ink: Ink, depth: ColourDepth): { open: string; close: string } {
  if (depth === 'none') return { open: '', close: '' };
  const sequences: [open: string | number, close: number][] = [];
  const colour = (pair: readonly [string, number], base: 38 | 48) => {
    const open = depth === '16' ? pair[1] : depth === '256' ? `${base};5;${indexed(pair[0])}` : `${base};2;${channels(pair[0]).join(';')}`;
    sequences.push([open, base + 1]);
  };
  if (ink.bold) sequences.push([1, 22]);
  if (ink.bg && depth === '16' && ink.inverseWhenBasic) sequences.push([7, 27]);
  else if (ink.bg) colour(ink.bg, 48);
  if (ink.fg) colour(ink.fg, 38);
  return {
    open: sequences.map(([open]) => `\x1b[${open}m`).join(''),
    close: sequences
      .toReversed()
      .map(([, close]) => `\x1b[${close}m`)
      .join(''),
  };
}

/** The end of a foreground that another one follows at once says nothing; neither does the end of bold before bold. */
const idleEnd = /\x1b\[39m(?=\x1b\[(?:38;|3[0-7]m|9[0-7]m))|\x1b\[22m\x1b\[1m/g;

export function createTheme(options: { depth: ColourDepth; background: Background; ascii: boolean }): Theme {
  const { depth, background, ascii } = options;
  const sequences = Object.fromEntries(Object.entries(inks[background]).map(([role, ink]) => [role, sgrOf(ink, depth)])) as Record<
    Role,
    { open: string; close: string }
  >;
  const family = ascii ? frames.ascii : frames.unicode;
  return {
    depth,
    background,
    ascii,
    glyphs: ascii ? asciiGlyphs : unicodeGlyphs,
    paint(role, text) {
      const { open, close } = sequences[role];
      if (open === '' || text === '') return text;
      // Colours of the text under an inverse bar would come out as backgrounds.
      if (depth === '16' && (role === 'selected' || role === 'resting')) return open + unstyled(text) + close;
      // The selected row is bold as a whole: what ends inside of it must not end that.
      if (role === 'selected') return open + text.replace(/\x1b\[(1|22)m/g, '') + close;
      return open + text + close;
    },
    link: (text) => (depth === 'none' || ascii ? text : withLinks(text)),
    frame: (focused) => (focused && depth === 'none' ? family.heavy : family.plain),
    finish(row) {
      const shown = portableText(depth === 'none' ? unstyled(row) : row.replace(idleEnd, ''));
      if (!ascii || /^[\x1b\x20-\x7e]*$/.test(shown)) return shown;
      return shown.replace(/[^\x1b\x20-\x7e]+/gu, (foreign) => '?'.repeat(textWidth(foreign)));
    },
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface ThemeSettings {
  /** `auto` looks at COLORFGBG, which some terminals set. */
  background?: Background | 'auto';
  depth?: ColourDepth;
  ascii?: boolean;
}

/** What this terminal can show, as far as its environment tells. */
export function themeFor(env: Environment, settings: ThemeSettings = {}): Theme {
  const background = settings.background && settings.background !== 'auto' ? settings.background : backgroundOf(env);
  return createTheme({
    depth: settings.depth ?? depthOf(env),
    background,
    ascii: settings.ascii ?? !speaksUnicode(env),
  });
}

export function depthOf(env: Environment): ColourDepth {
  if (env.NO_COLOR || env.TERM === 'dumb') return 'none';
  const forced = { '0': 'none', '1': '16', '2': '256', '3': 'full' } as const;
  if (env.FORCE_COLOR && env.FORCE_COLOR in forced) return forced[env.FORCE_COLOR as keyof typeof forced];
  if (/truecolor|24bit/i.test(env.COLORTERM ?? '')) return 'full';
  if (/-direct$|kitty|alacritty|ghostty|wezterm/.test(env.TERM ?? '')) return 'full';
  if (/256/.test(env.TERM ?? '')) return '256';
  return '16';
}

/** COLORFGBG is `foreground;background` in the numbers of the 16 colours; 7 and 9 to 15 are light ones. */
function backgroundOf(env: Environment): Background {
  const number = Number((env.COLORFGBG ?? '').split(';').at(-1) || Number.NaN);
  return number === 7 || (number >= 9 && number <= 15) ? 'light' : 'dark';
}

/** A locale that names another character set is believed; a missing one is not, it is missing in many containers and ssh sessions. */
export function speaksUnicode(env: Environment): boolean {
  if (/^(linux|dumb|ansi|vt\d+.*|cons25)$/.test(env.TERM ?? '')) return false;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  return !locale || /utf-?8/i.test(locale);
}
