/** Behind the name of a file that is filled in before it is delivered. */
export const templateEnding = '.liquid';

/** What such a file is called where it is delivered. */
export function deliveredPath(path: string): string {
  return path.endsWith(templateEnding) ? path.slice(0, -templateEnding.length) : path;
}
