import { cleanLine } from '../text/clean.ts';

/** The releases whose words are known (reference/headscale.md), as minor versions of 0.x. */
const oldest = 23;
const newest = 30;
/** What is taken for granted where the server tells nothing that can be read. */
const usual = 29;

/** Which words a control server understands. */
export interface MeshVersion {
  /** As it tells it, cleaned, without the v: `0.29.2`. `unknown` where it does not. */
  shown: string;
  /** Which dialect it is spoken to in: 23 to 30. */
  minor: number;
  /** What the operator has to know about that, a sentence. */
  note?: string;
}

/** `v0.29.2`, `0.26.0-beta.1`, `v0.30.0-1-gabcdef`; development builds tell `dev` or nothing. */
export function meshVersionOf(told: string | undefined): MeshVersion {
  const text = cleanLine(told ?? '').trim();
  const found = /^v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,6})?(?:[-+.][\w.+-]*)?$/.exec(text);
  if (!found) {
    const said =
      text === '' || text === '(unknown)'
        ? 'The control server does not tell its version'
        : `The control server calls its version "${text.slice(0, 40)}"`;
    return { shown: 'unknown', minor: usual, note: `${said}: it is spoken to as 0.${usual}.` };
  }
  const shown = text.replace(/^v/, '');
  const major = Number(found[1]);
  const minor = Number(found[2]);
  if (major > 0 || minor > newest)
    return {
      shown,
      minor: newest,
      note: `Headscale ${shown} is newer than what is known here (up to 0.${newest}): it is spoken to as 0.${newest}, and what it refuses is told.`,
    };
  if (minor < oldest)
    return {
      shown,
      minor: oldest,
      note: `Headscale ${shown} is older than what is known here (from 0.${oldest} on): it is spoken to as 0.${oldest}, and what it refuses is told.`,
    };
  return { shown, minor };
}
