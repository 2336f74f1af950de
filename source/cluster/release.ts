import parse from 'semver/functions/parse.js';

/** A release of Kubernetes, as `gitVersion` and `kubeletVersion` tell it: `v1.33.4+k3s1`, `v1.30.5-gke.1014001`. */
export interface Release {
  major: number;
  minor: number;
  patch: number;
  /** `k3s1`, `rke2r1`, `eks-508b6b3`; empty for what the project itself built. */
  vendor: string;
  /** As it was told. */
  text: string;
}

/** Undefined for what is none. `major` and `minor` of `/version` are of no use: they may be "35+". */
export function releaseOf(text: string | undefined): Release | undefined {
  const parsed = parse(text?.trim() ?? '', { loose: true });
  if (!parsed) return undefined;
  const { major, minor, patch, prerelease, build } = parsed;
  // RKE2's images say when they were built, too.
  const vendor = [...prerelease, ...build].join('.').replace(/-build\d+$/, '');
  return { major, minor, patch, vendor, text: text?.trim() ?? '' };
}

/** `v1.32.4`, `1.32.4` and `1.32` as an operator writes them. */
export function typedRelease(text: string): { major: number; minor: number; patch: number | undefined; vendor: string } | undefined {
  const short = /^v?(\d{1,3})\.(\d{1,4})$/.exec(text.trim());
  if (short) return { major: Number(short[1]), minor: Number(short[2]), patch: undefined, vendor: '' };
  return releaseOf(text.trim().replace(/^(?=\d)/, 'v'));
}

/** `v1.33.0-rc.1`, also with the suffix of a vendor: not what a cluster is upgraded to. */
export const isPrerelease = (text: string): boolean => /-(?:alpha|beta|rc)\b|-(?:alpha|beta|rc)\.?\d/i.test(text);

/** `1.33` */
export const minorText = ({ major, minor }: Pick<Release, 'major' | 'minor'>): string => `${major}.${minor}`;

/** Vendors count on by themselves (`k3s1`, `k3s2`), and nobody else knows how. */
export function compareReleases(one: Release, other: Release): number {
  return (
    one.major - other.major ||
    one.minor - other.minor ||
    one.patch - other.patch ||
    (one.vendor < other.vendor ? -1 : one.vendor > other.vendor ? 1 : 0)
  );
}

/** The newest minor that was known when this was written, and its month. Three follow each year (R73). */
const known = { minor: 37, year: 2026, month: 8 };
const monthsEach = 4;

/** The newest minor that there should be by now: an estimate, for whether a cluster is still supported. */
export function newestMinorAt(nowMs: number): number {
  const now = new Date(nowMs);
  const months = (now.getUTCFullYear() - known.year) * 12 + now.getUTCMonth() + 1 - known.month;
  return known.minor + Math.max(0, Math.floor(months / monthsEach));
}

/** The newest minor and the two before it get fixes (R73). */
export const supportedMinors = 3;
