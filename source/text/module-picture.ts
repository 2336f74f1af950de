import type { Modules } from './module-blocks.ts';

const modulePixels = 8;

/** As SVG, black on white: every browser opens it. */
export function modulePicture(code: Modules): string {
  const [width, height] = [code[0]?.length ?? 0, code.length];
  const dark = code.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : []))).join('');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width * modulePixels}" height="${height * modulePixels}" shape-rendering="crispEdges">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<path d="${dark}" fill="#000"/>`,
    '</svg>',
    '',
  ].join('\n');
}
