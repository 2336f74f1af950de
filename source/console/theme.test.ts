import { styledCharsFromTokens, styledCharsToString, tokenize } from '@alcalzone/ansi-tokenize';
import { describe, expect, test } from 'vitest';
import { paletteColour } from '../../test/pty/cell-style.ts';
import { type Background, createTheme, depthOf, type Role, speaksUnicode, themeFor } from './theme.ts';

const channelsOf = (hex: string) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

test.each(
  (['dark', 'light'] as const).flatMap((background: Background) =>
    (['ok', 'busy', 'warning', 'error', 'off', 'unknown', 'match', 'badge', 'alarm', 'selected'] as const).map(
      (role: Role) => [background, role] as const,
    ),
  ),
)('with 256 colours it looks as with all of them: %s, %s', (background, role) => {
  const painted = (depth: '256' | 'full') => createTheme({ depth, background, ascii: false }).paint(role, 'x');
  const full = [...painted('full').matchAll(/([34]8);2;(\d+);(\d+);(\d+)m/g)].map(([, base, ...channels]) => ({
    base,
    channels: channels.map(Number),
  }));
  const few = [...painted('256').matchAll(/([34]8);5;(\d+)m/g)].map(([, base, index]) => ({
    base,
    channels: channelsOf(paletteColour(Number(index))),
    index: Number(index),
  }));
  expect(few.map(({ base }) => base)).toEqual(full.map(({ base }) => base));
  for (const [at, { channels, index }] of few.entries()) {
    expect(index).toBeLessThan(256);
    // Steps of the palette are 40 apart, the darkest one 95.
    for (const [channel, value] of channels.entries()) expect(Math.abs(value - (full[at]?.channels[channel] ?? 0))).toBeLessThanOrEqual(48);
  }
});

describe('what a terminal can show', () => {
  test.each([
    [{ NO_COLOR: '1', COLORTERM: 'truecolor' }, 'none'],
    [{ NO_COLOR: '', TERM: 'xterm-256color' }, '256'],
    [{ TERM: 'dumb' }, 'none'],
    [{ TERM: 'xterm-256color', COLORTERM: 'truecolor' }, 'full'],
    [{ TERM: 'xterm-kitty' }, 'full'],
    [{ TERM: 'screen-256color' }, '256'],
    [{ TERM: 'linux' }, '16'],
    [{ TERM: 'xterm' }, '16'],
    [{ FORCE_COLOR: '0', COLORTERM: 'truecolor' }, 'none'],
    [{ FORCE_COLOR: 'false', COLORTERM: 'truecolor' }, 'none'],
    [{ FORCE_COLOR: '2' }, '256'],
  ] as const)('%j has colours: %s', (env, depth) => {
    expect(depthOf(env)).toBe(depth);
  });

  test.each([
    [{ TERM: 'linux', LANG: 'de_DE.UTF-8' }, false],
    [{ TERM: 'xterm', LANG: 'C' }, false],
    [{ TERM: 'xterm', LANG: 'en_US.ISO-8859-1' }, false],
    [{ TERM: 'xterm', LANG: 'en_US.UTF-8', LC_ALL: 'C' }, false],
    [{ TERM: 'xterm', LANG: 'en_US.utf8' }, true],
    [{ TERM: 'xterm', LANG: 'C.UTF-8' }, true],
    [{ TERM: 'xterm' }, true],
  ])('%j speaks Unicode: %s', (env, speaks) => {
    expect(speaksUnicode(env)).toBe(speaks);
  });

  test('a light background is believed when the terminal tells it', () => {
    const env = { TERM: 'xterm-256color', COLORTERM: 'truecolor', LANG: 'C.UTF-8' };
    const dark = themeFor({ ...env, COLORFGBG: '15;0' }).paint('ok', 'x');
    const light = themeFor({ ...env, COLORFGBG: '0;15' }).paint('ok', 'x');
    expect(light).not.toBe(dark);
    expect(themeFor(env).paint('ok', 'x')).toBe(dark);
    expect(themeFor({ ...env, COLORFGBG: '0;default;15' }).paint('ok', 'x')).toBe(light);
    expect(themeFor({ ...env, COLORFGBG: '15;0' }, { theme: 'light' }).paint('ok', 'x')).toBe(light);
  });
});

describe('a theme', () => {
  test('without colours paints nothing and drops what came coloured', () => {
    const theme = createTheme({ depth: 'none', background: 'dark', ascii: false });
    expect(theme.paint('error', 'x')).toBe('x');
    expect(theme.finish('\x1b[31mlog\x1b[0m')).toBe('log');
  });

  test('with 16 colours asks for those of the operator’s terminal only', () => {
    const theme = createTheme({ depth: '16', background: 'dark', ascii: false });
    for (const role of ['ok', 'busy', 'warning', 'error', 'off', 'unknown', 'faint', 'accent', 'selected', 'badge'] as const) {
      expect(theme.paint(role, 'x')).not.toMatch(/[34]8;/);
    }
    // A colour inside an inverse bar would become its background.
    expect(theme.paint('selected', theme.paint('error', 'x'))).toBe('\x1b[1m\x1b[7mx\x1b[27m\x1b[22m');
  });

  test('ends a colour without ending the bar it stands in', () => {
    const theme = createTheme({ depth: 'full', background: 'dark', ascii: false });
    expect(theme.paint('selected', `a${theme.paint('accent', 'b')}c`)).not.toContain('\x1b[0m');
  });

  test('in ASCII shows the width of what it cannot show', () => {
    const theme = createTheme({ depth: 'none', background: 'dark', ascii: true });
    expect(theme.finish('a世界é●')).toBe('a??????'.slice(0, 7));
    for (const glyph of Object.values(theme.glyphs.severity)) expect(glyph).toMatch(/^[\x20-\x7e]$/);
  });

  test('has a glyph of its own for every severity', () => {
    for (const ascii of [true, false]) {
      const glyphs = Object.values(createTheme({ depth: 'none', background: 'dark', ascii }).glyphs.severity);
      expect(new Set(glyphs).size).toBe(glyphs.length);
    }
  });
});

/** Returns the contrast from relative luminance, as defined by WCAG 2. */
function contrast(one: readonly number[], other: readonly number[]): number {
  const luminance = (rgb: readonly number[]) => {
    const [red = 0, green = 0, blue = 0] = rgb.map((value) =>
      value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

test.each([
  ['dark', [30, 30, 30]],
  ['dark', [0, 0, 0]],
  ['light', [255, 255, 255]],
  ['light', [240, 240, 236]],
] as const)('text can be read on a %s background %j', (background, ground) => {
  const theme = createTheme({ depth: 'full', background, ascii: false });
  for (const role of ['ok', 'busy', 'warning', 'error', 'off', 'unknown', 'accent', 'heading', 'key', 'faint'] as const) {
    const colour = /38;2;(\d+);(\d+);(\d+)/.exec(theme.paint(role, 'x'))?.slice(1).map(Number) ?? [];
    expect(contrast(colour, ground), role).toBeGreaterThanOrEqual(4);
  }
});

test('rows leave in the form that Ink writes itself, so that it takes them apart once', () => {
  const theme = createTheme({ depth: 'full', background: 'dark', ascii: false });
  const bar = `${theme.paint('accent', '>')}${theme.paint('error', 'x')} name ${theme.paint('warning', 'sealed')}${theme.paint('faint', ' 2m')} `;
  const row = theme.finish(`${theme.paint('selected', bar)}${theme.paint('key', 'q')} ${theme.paint('faint', 'quit')}`);
  expect(styledCharsToString(styledCharsFromTokens(tokenize(row)))).toBe(row);
});
