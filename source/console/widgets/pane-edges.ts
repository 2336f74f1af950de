import type { Drawn } from '../screen.ts';
import { cutStyled, styledWidth } from '../styled-text.ts';
import type { Role, Theme } from '../theme.ts';

export type PaneEdges = Omit<Drawn, 'page' | 'shown' | 'top' | 'width' | 'rows'>;

function edge(theme: Theme, options: { width: number; title: string; aside: string; focused: boolean; top: boolean; role: Role }): string {
  const { width, focused, top, role } = options;
  const frame = theme.frame(focused);
  const room = width - 2;
  const aside = options.aside === '' ? '' : ` ${cutStyled(options.aside, Math.max(0, room - 8), theme.glyphs.ellipsis)} `;
  const titleRoom = room - styledWidth(aside) - 4;
  const title = options.title === '' || titleRoom < 3 ? '' : ` ${cutStyled(options.title, titleRoom, theme.glyphs.ellipsis)} `;
  const fill = Math.max(0, room - styledWidth(title) - styledWidth(aside) - (aside ? 1 : 0));
  const line = (text: string) => theme.paint(role, text);
  return (
    line(top ? frame.topLeft : frame.bottomLeft) +
    title +
    line(frame.across.repeat(fill)) +
    aside +
    line((aside ? frame.across : '') + (top ? frame.topRight : frame.bottomRight))
  );
}

export function paneEdges(
  theme: Theme,
  { title, aside = '', foot = '', below = '', edgeRole, width, focused }: PaneEdges & { width: number; focused: boolean },
): { upper: string; sides: (rows: number) => string; lower: string } {
  const role = edgeRole ?? (focused ? 'focused' : 'border');
  const heading = theme.paint(edgeRole ?? (focused ? 'accent' : 'heading'), title);
  return {
    upper: edge(theme, { width, title: heading, aside, focused, role, top: true }),
    sides: (rows) => theme.paint(role, Array.from({ length: rows }, () => theme.frame(focused).down).join('\n')),
    lower: edge(theme, { width, title: theme.paint('faint', below), aside: foot, focused, role, top: false }),
  };
}
