import { cleanLine } from '../../../text/clean.ts';

/** The releases whose API is known (reference/headscale.md), as minor versions of 0.x. */
const oldest = 23;
const newest = 30;
/** The minor version to assume if the server does not report a readable one. */
const usual = 29;

/** The API dialect of a control server: 0.23 to 0.30. The note is for the operator. */
export type MeshVersion = ReturnType<typeof meshVersionOf>;

/** Parses `v0.29.2`, `0.26.0-beta.1` or `v0.30.0-1-gabcdef`; development builds report `dev` or nothing. */
export function meshVersionOf(reported: string | undefined): { shown: string; minor: number; note?: string } {
  const text = cleanLine(reported ?? '').trim();
  const found = /^v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,6})?(?:[-+.][\w.+-]*)?$/.exec(text);
  if (!found) {
    const said =
      text === '' || text === '(unknown)'
        ? 'The control server does not report its version'
        : `The control server reports its version as "${text.slice(0, 40)}"`;
    return { shown: 'unknown', minor: usual, note: `${said}, so the API of 0.${usual} is used.` };
  }
  const shown = text.replace(/^v/, '');
  const isNewer = Number(found[1]) > 0 || Number(found[2]) > newest;
  if (!isNewer && Number(found[2]) >= oldest) return { shown, minor: Number(found[2]) };
  const minor = isNewer ? newest : oldest;
  const range = isNewer ? `newer than supported (up to 0.${newest})` : `older than supported (0.${oldest} or later)`;
  return { shown, minor, note: `Headscale ${shown} is ${range}. The API of 0.${minor} is used, and failed requests are reported.` };
}
