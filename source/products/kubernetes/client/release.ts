import parse from 'semver/functions/parse.js';

/** A release of Kubernetes, as in `gitVersion` and `kubeletVersion`: `v1.33.4+k3s1`, `v1.30.5-gke.1014001`. */
export interface Release {
  major: number;
  minor: number;
  patch: number;
  /** `k3s1`, `rke2r1`, `eks-508b6b3`; empty for builds of the project itself. */
  vendor: string;
  text: string;
}

/** Returns undefined if the text is not a release. `major` and `minor` of `/version` are not used: they may be "35+". */
export function releaseOf(text: string | undefined): Release | undefined {
  const parsed = parse(text?.trim() ?? '', { loose: true });
  if (!parsed) return undefined;
  const { major, minor, patch, prerelease, build } = parsed;
  // Images of RKE2 also have the date of their build.
  const vendor = [...prerelease, ...build].join('.').replace(/-build\d+$/, '');
  return { major, minor, patch, vendor, text: text?.trim() ?? '' };
}

/** Parses `v1.32.4` and `1.32.4`, as operators write them. */
export const wholeRelease = (text: string): Release | undefined => releaseOf(text.trim().replace(/^(?=\d)/, 'v'));

/** Parses also `1.32`, which names no patch. */
export function typedRelease(text: string): { major: number; minor: number; patch: number | undefined; vendor: string } | undefined {
  const short = /^v?(\d{1,3})\.(\d{1,4})$/.exec(text.trim());
  if (short) return { major: Number(short[1]), minor: Number(short[2]), patch: undefined, vendor: '' };
  return wholeRelease(text);
}

/** Reports whether it is a prerelease such as `v1.33.0-rc.1`, also with a vendor's suffix: clusters are not upgraded to those. */
export const isPrerelease = (text: string): boolean => /-(?:alpha|beta|rc)\b|-(?:alpha|beta|rc)\.?\d/i.test(text);

export const minorText = ({ major, minor }: Pick<Release, 'major' | 'minor'>): string => `${major}.${minor}`;

/** Compares two releases. Vendors number their builds in their own form (`k3s1`, `k3s2`), so suffixes are compared as text. */
export function compareReleases(one: Release, other: Release): number {
  return (
    one.major - other.major ||
    one.minor - other.minor ||
    one.patch - other.patch ||
    (one.vendor < other.vendor ? -1 : one.vendor > other.vendor ? 1 : 0)
  );
}

/** The newest minor when this was written, and its month. There are three each year (R73). */
const known = { minor: 37, year: 2026, month: 8 };
const monthsEach = 4;

/** Estimates the newest minor at a time, to check whether a cluster is still supported. */
export function newestMinorAt(nowMs: number): number {
  const now = new Date(nowMs);
  const months = (now.getUTCFullYear() - known.year) * 12 + now.getUTCMonth() + 1 - known.month;
  return known.minor + Math.max(0, Math.floor(months / monthsEach));
}

/** The newest minor and the two before it get fixes (R73). */
export const supportedMinors = 3;
