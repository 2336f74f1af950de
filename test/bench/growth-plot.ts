import { type Cell, numberText } from './result-table.ts';

/** One measure at several numbers of containers. */
export interface Growth {
  what: string;
  unit: string;
  points: readonly { containers: number; cell: Cell }[];
}

interface Drawn {
  containers: number;
  value: number;
}

const panel = { width: 320, height: 230 };
const inside = { left: 52, top: 34, right: 28, bottom: 54 };
/** Keeps the number at the first point off those of the axis. */
const inset = 24;
const panelsPerLine = 3;
/** They can be read on white and on black: both grounds of GitHub, whichever a reader has chosen. */
const [ink, line, faint] = ['#777', '#2f81f7', '#7777'];

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (found) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[found] ?? found);
const at = (value: number): string => String(Math.round(value * 10) / 10);

/** Both axes are logarithmic: what is not above 0 has no position there. */
const drawable = ({ points }: Growth): Drawn[] =>
  points.flatMap(({ containers, cell }) => ('value' in cell && cell.value > 0 ? [{ containers, value: cell.value }] : []));

/** Sentences about the points that are not drawn, each with the reason. */
export function leftOut(growths: readonly Growth[]): string[] {
  return growths.flatMap(({ what, points }) =>
    points.flatMap(({ containers, cell }) => {
      if ('value' in cell && cell.value > 0) return [];
      const why =
        'value' in cell ? `${numberText(cell.value)} has no position on a logarithmic axis` : 'failed' in cell ? cell.failed : cell.none;
      return [`Not drawn: ${what}, ${containers.toLocaleString('en-US')} containers: ${why}.`];
    }),
  );
}

/** Small multiples, one for each measure, both axes logarithmic. Points without a number are left out and named below their axis. */
export function growthPlot(growths: readonly Growth[]): string {
  const lines = Math.ceil(growths.length / panelsPerLine);
  const width = panel.width * Math.min(growths.length, panelsPerLine);
  const panels = growths.map((growth, index) => {
    const [x, y] = [(index % panelsPerLine) * panel.width, Math.floor(index / panelsPerLine) * panel.height];
    return `<g transform="translate(${x} ${y})">\n${panelOf(growth).join('\n')}\n</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${lines * panel.height}" font-family="system-ui, sans-serif" font-size="11" fill="${ink}">
${panels.join('\n')}
</svg>
`;
}

function panelOf(growth: Growth): string[] {
  const points = drawable(growth);
  const counts = growth.points.map(({ containers }) => containers);
  const values = points.map(({ value }) => value);
  const toX = scale(Math.min(...counts), Math.max(...counts), inside.left + inset, panel.width - inside.right);
  const lowest = values.length === 0 ? 0 : Math.floor(Math.log10(Math.min(...values)));
  const highest = values.length === 0 ? 1 : Math.max(lowest + 1, Math.ceil(Math.log10(Math.max(...values))));
  const [floor, ceiling] = [panel.height - inside.bottom, inside.top];
  const toY = scale(10 ** lowest, 10 ** highest, floor, ceiling);
  const decades = Array.from({ length: highest - lowest + 1 }, (_, index) => 10 ** (lowest + index));
  const missing = growth.points.filter(({ containers }) => !points.some((point) => point.containers === containers));
  return [
    text(inside.left, 18, `${growth.what}, ${growth.unit}`, 'start', ' font-weight="600"'),
    ...decades.flatMap((value) => [
      `<path d="M${inside.left} ${at(toY(value))}H${panel.width - inside.right}" stroke="${faint}"/>`,
      text(inside.left - 6, toY(value) + 4, value < 1 ? String(Number(value.toPrecision(1))) : numberText(value), 'end'),
    ]),
    ...counts.map((count) => text(toX(count), floor + 16, count.toLocaleString('en-US'), 'middle')),
    text((inside.left + panel.width - inside.right) / 2, floor + 31, 'containers', 'middle'),
    `<polyline points="${points.map(({ containers, value }) => `${at(toX(containers))},${at(toY(value))}`).join(' ')}" fill="none" stroke="${line}" stroke-width="2"/>`,
    ...points.flatMap(({ containers, value }) => [
      `<circle cx="${at(toX(containers))}" cy="${at(toY(value))}" r="3" fill="${line}"/>`,
      text(toX(containers), toY(value) - 7, numberText(value), 'middle'),
    ]),
    ...(missing.length === 0
      ? []
      : [
          text(
            inside.left,
            floor + 46,
            `not drawn: ${missing.map(({ containers }) => containers.toLocaleString('en-US')).join('; ')}`,
            'start',
          ),
        ]),
  ];
}

function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const span = Math.log10(to) - Math.log10(from);
  return (value) => (span === 0 ? (start + end) / 2 : start + ((Math.log10(value) - Math.log10(from)) / span) * (end - start));
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end', more = ''): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${more}>${escaped(content)}</text>`;
}
