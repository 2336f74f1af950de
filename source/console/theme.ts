import type { Settings } from '../config/settings.ts';
import type { Severity } from '../fleet/model.ts';
import { portableText } from '../text/portable-text.ts';
import { textWidth } from '../text/width.ts';
import { unstyled, withLinks } from './styled-text.ts';

type ColourDepth = 'none' | '16' | '256' | 'full';
export type Background = 'dark' | 'light';

/** `#rrggbb` for terminals that support it, and the SGR number for those with 16 colours. */
type Colour = readonly [hex: string, basic: number];

interface Ink {
  fg?: Readonly<Record<Background, Colour>>;
  bg?: Readonly<Record<Background, Colour>>;
  bold?: true;
  /** Inverts instead of setting a background when there are only 16 colours, whose appearance is unknown. */
  inverseWhenBasic?: true;
}

const inks = {
  ok: { fg: { dark: ['#6fcf8e', 32], light: ['#14713a', 32] } },
  busy: { fg: { dark: ['#76b5f5', 94], light: ['#0a58c2', 34] } },
  warning: { fg: { dark: ['#e6b450', 33], light: ['#8a5a00', 33] } },
  error: { fg: { dark: ['#ff7a72', 91], light: ['#c01c28', 31] }, bold: true },
  off: { fg: { dark: ['#8b96a5', 37], light: ['#5b6672', 90] } },
  unknown: { fg: { dark: ['#c9a2f2', 35], light: ['#7a3fc7', 35] } },
  strong: { bold: true },
  faint: { fg: { dark: ['#7b8794', 90], light: ['#6a7581', 90] } },
  accent: { fg: { dark: ['#4fc1d6', 36], light: ['#0b6f83', 36] } },
  heading: { fg: { dark: ['#a7b4c2', 37], light: ['#36424e', 30] }, bold: true },
  border: { fg: { dark: ['#3b4652', 90], light: ['#b9c2cc', 90] } },
  focused: { fg: { dark: ['#4fc1d6', 36], light: ['#0b6f83', 36] } },
  key: { fg: { dark: ['#4fc1d6', 36], light: ['#0b6f83', 36] }, bold: true },
  match: { fg: { dark: ['#11161c', 30], light: ['#1d2329', 30] }, bg: { dark: ['#e6b450', 43], light: ['#ffd866', 43] } },
  selected: { bg: { dark: ['#20415a', 44], light: ['#cbe6f2', 46] }, bold: true, inverseWhenBasic: true },
  resting: { bg: { dark: ['#252d36', 100], light: ['#e6ebf0', 47] }, inverseWhenBasic: true },
  badge: { fg: { dark: ['#11161c', 30], light: ['#ffffff', 97] }, bg: { dark: ['#4fc1d6', 46], light: ['#0b6f83', 46] }, bold: true },
  alarm: { fg: { dark: ['#11161c', 30], light: ['#1d2329', 30] }, bg: { dark: ['#e6b450', 43], light: ['#ffd866', 43] }, bold: true },
} as const satisfies Record<string, Ink>;

/** The purpose of a piece of text. Screens name roles; only this file defines colours. */
export type Role = keyof typeof inks;

const unicodeGlyphs = {
  severity: { ok: '●', busy: '◌', warning: '▲', error: '✖', off: '○', unknown: '?' } satisfies Record<Severity, string>,
  pointer: '▸',
  arrow: '→',
  dot: '·',
  mask: '•',
  sparks: '▁▂▃▄▅▆▇█',
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
  todo: '☐',
  mark: '◆',
  ellipsis: '…',
  bar: { full: '█', empty: '░' },
  thinBar: { full: '━', empty: '─' },
};

const asciiGlyphs: typeof unicodeGlyphs = {
  severity: { ok: '+', busy: '~', warning: '!', error: 'x', off: '-', unknown: '?' },
  pointer: '>',
  arrow: '->',
  dot: '-',
  mask: '*',
  sparks: '_.,-=+*#',
  spinner: ['|', '/', '-', '\\'],
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
};

function channels(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Returns the nearest colour of the 6x6x6 cube or the grey ramp of xterm's 256 colours. */
function indexed(hex: string): number {
  const [red, green, blue] = channels(hex);
  const spread = Math.max(red, green, blue) - Math.min(red, green, blue);
  if (spread < 12) return 232 + Math.min(23, Math.max(0, Math.round(((red + green + blue) / 3 - 8) / 10)));
  const step = (channel: number) => (channel < 48 ? 0 : channel < 115 ? 1 : Math.floor((channel - 35) / 40));
  return 16 + 36 * step(red) + 6 * step(green) + step(blue);
}

/**
 * Returns each attribute in a sequence of its own, ended in reverse order: the form that Ink writes itself. A row in that form is parsed
 * once per frame, any other one twice.
 */
function sgrOf(ink: Ink, depth: ColourDepth, background: Background): { open: string; close: string } {
  if (depth === 'none') return { open: '', close: '' };
  const sequences: [open: string | number, close: number][] = [];
  const colour = ({ [background]: [hex, basic] }: Record<Background, Colour>, base: 38 | 48) => {
    const open = depth === '16' ? basic : depth === '256' ? `${base};5;${indexed(hex)}` : `${base};2;${channels(hex).join(';')}`;
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

/** Matches redundant sequences: the end of a foreground right before another one, and the end of bold before bold. */
const idleEnd = /\x1b\[39m(?=\x1b\[(?:38;|3[0-7]m|9[0-7]m))|\x1b\[22m\x1b\[1m/g;

export type Theme = ReturnType<typeof createTheme>;

export function createTheme({ depth, background, ascii }: { depth: ColourDepth; background: Background; ascii: boolean }) {
  const entries = Object.entries(inks).map(([role, ink]) => [role, sgrOf(ink, depth, background)]);
  const sequences = Object.fromEntries(entries) as Record<Role, ReturnType<typeof sgrOf>>;
  const family = ascii ? frames.ascii : frames.unicode;
  return {
    depth,
    background,
    ascii,
    glyphs: ascii ? asciiGlyphs : unicodeGlyphs,
    paint(role: Role, text: string) {
      const { open, close } = sequences[role];
      if (open === '' || text === '') return text;
      // Colours of text under an inverse bar would be shown as backgrounds.
      if (depth === '16' && (role === 'selected' || role === 'resting')) return open + unstyled(text) + close;
      // The selected row is bold as a whole: attributes that end inside of it must not end that.
      if (role === 'selected') return open + text.replace(/\x1b\[(1|22)m/g, '') + close;
      return open + text + close;
    },
    link: (text: string) => (depth === 'none' || ascii ? text : withLinks(text)),
    frame: (focused: boolean) => (focused && depth === 'none' ? family.heavy : family.plain),
    /** Makes a row safe before it reaches the screen: removes everything that this terminal cannot show. */
    finish(row: string) {
      const shown = portableText(depth === 'none' ? unstyled(row) : row.replace(idleEnd, ''));
      if (!ascii || /^[\x1b\x20-\x7e]*$/.test(shown)) return shown;
      return shown.replace(/[^\x1b\x20-\x7e]+/gu, (foreign) => '?'.repeat(textWidth(foreign)));
    },
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

export function themeFor(env: Environment, { theme = 'auto', ascii }: Partial<Pick<Settings, 'theme' | 'ascii'>> = {}): Theme {
  return createTheme({
    depth: theme === 'mono' ? 'none' : depthOf(env),
    background: theme === 'dark' || theme === 'light' ? theme : backgroundOf(env),
    ascii: ascii ?? !speaksUnicode(env),
  });
}

export function depthOf(env: Environment): ColourDepth {
  if (env.NO_COLOR || env.TERM === 'dumb') return 'none';
  const forced = { '0': 'none', false: 'none', '1': '16', '2': '256', '3': 'full' } as const;
  if (env.FORCE_COLOR && env.FORCE_COLOR in forced) return forced[env.FORCE_COLOR as keyof typeof forced];
  if (/truecolor|24bit/i.test(env.COLORTERM ?? '')) return 'full';
  if (/-direct$|kitty|alacritty|ghostty|wezterm/.test(env.TERM ?? '')) return 'full';
  if (/256/.test(env.TERM ?? '')) return '256';
  return '16';
}

/** COLORFGBG is `foreground;background` in the numbers of the 16 colours; 7 and 9 to 15 are light. */
function backgroundOf(env: Environment): Background {
  const number = Number((env.COLORFGBG ?? '').split(';').at(-1) || Number.NaN);
  return number === 7 || (number >= 9 && number <= 15) ? 'light' : 'dark';
}

/** A locale that names another character set decides. A missing one does not, because many containers and ssh sessions have none. */
export function speaksUnicode(env: Environment): boolean {
  if (/^(linux|dumb|ansi|vt\d+.*|cons25)$/.test(env.TERM ?? '')) return false;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  return !locale || /utf-?8/i.test(locale);
}
