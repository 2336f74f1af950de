import { type JsonObject, listOf, objectOf, textOf } from '../../text/json-value.ts';
import type { JsonPlaces } from './json-place.ts';
import { imageSubject, type ReportBuilder, readTime } from './report-builder.ts';

/** `grype -o json`. */
export function isGrype(json: unknown): boolean {
  const report = objectOf(json);
  return report !== undefined && Array.isArray(report['matches']);
}

export function readGrype(json: unknown, builder: ReportBuilder, places: JsonPlaces): string {
  const report = objectOf(json) ?? {};
  const descriptor = objectOf(report['descriptor']);
  builder.scannedMs = readTime(descriptor?.['timestamp']);
  // From 0.88 on in `status`.
  const database = objectOf(descriptor?.['db']);
  builder.feedMs = readTime(objectOf(database?.['status'])?.['built'] ?? database?.['built']);
  const subject = subjectOf(objectOf(report['source']));
  builder.subject(subject);
  for (const [index, one] of listOf(report['matches']).entries()) {
    const vulnerability = objectOf(objectOf(one)?.['vulnerability']);
    const artifact = objectOf(objectOf(one)?.['artifact']);
    const id = textOf(vulnerability?.['id']);
    const name = textOf(artifact?.['name']);
    if (!vulnerability || !artifact || id === '' || name === '') {
      builder.leaveOut(`A match has no ${id === '' ? 'vulnerability.id' : 'artifact.name'}.`, () => places.find(['matches', index]));
      continue;
    }
    const related = listOf(objectOf(one)?.['relatedVulnerabilities']).flatMap((other): JsonObject[] => {
      const object = objectOf(other);
      return object ? [object] : [];
    });
    const fix = objectOf(vulnerability['fix']);
    builder.add({
      subject,
      package: name,
      id,
      aliases: related.map((other) => textOf(other['id'])).filter((other) => other !== '' && other !== id),
      version: textOf(artifact['version']),
      fixedIn: listOf(fix?.['versions']).map(textOf).filter(Boolean).join(', '),
      score: scoreOf([vulnerability, ...related]),
      severity: textOf(vulnerability['severity']),
      title: textOf(vulnerability['description']) || textOf(related[0]?.['description']),
      url: textOf(vulnerability['dataSource']),
    });
  }
  return 'Grype JSON';
}

function subjectOf(source: JsonObject | undefined): string {
  const target = source?.['target'];
  if (typeof target === 'string') return target;
  const name = textOf(objectOf(target)?.['userInput']);
  return name === '' ? 'unnamed' : source?.['type'] === 'image' ? imageSubject(name) : name;
}

/** Its own score before that of the entries it refers to; the newest version of CVSS that there is. */
function scoreOf(entries: readonly JsonObject[]): number | undefined {
  for (const entry of entries) {
    const scores = listOf(entry['cvss']).flatMap((one) => {
      const score = objectOf(objectOf(one)?.['metrics'])?.['baseScore'];
      const version = Number.parseFloat(textOf(objectOf(one)?.['version']));
      return typeof score === 'number' && score >= 0 && score <= 10 ? [{ score, version }] : [];
    });
    const newest = Math.max(...scores.map(({ version }) => version));
    const [best] = scores.filter(({ version }) => version === newest).sort((a, b) => b.score - a.score);
    if (best) return best.score;
  }
  return undefined;
}
