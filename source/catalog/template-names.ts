/** Suffix of a file that is rendered before it is delivered. */
export const templateEnding = '.liquid';

export function deliveredPath(path: string): string {
  return path.endsWith(templateEnding) ? path.slice(0, -templateEnding.length) : path;
}
