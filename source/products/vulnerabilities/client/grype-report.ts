import { type JsonObject, listOf, mapOf, objectOf, objectsOf, textOf } from '../../../text/json-value.ts';
import { type FindPosition, imageSubject, type ReportBuilder, readTime } from './report-builder.ts';

/** Reads the output of `grype -o json`. Returns undefined for any other report. */
export function readGrype(json: unknown, builder: ReportBuilder, positionOf: FindPosition): string | undefined {
  const report = objectOf(json);
  if (!Array.isArray(report?.['matches'])) return undefined;
  const descriptor = mapOf(report['descriptor']);
  builder.scannedMs = readTime(descriptor['timestamp']);
  // In `status` from 0.88 on.
  const database = mapOf(descriptor['db']);
  builder.feedMs = readTime(mapOf(database['status'])['built'] ?? database['built']);
  const subject = subjectOf(objectOf(report['source']));
  builder.subject(subject);
  for (const [index, one] of listOf(report['matches']).entries()) {
    const match = mapOf(one);
    const vulnerability = mapOf(match['vulnerability']);
    const artifact = mapOf(match['artifact']);
    const id = textOf(vulnerability['id']);
    const related = objectsOf(match['relatedVulnerabilities']);
    const entry = {
      subject,
      package: textOf(artifact['name']),
      id,
      aliases: related.map((other) => textOf(other['id'])).filter((other) => other !== '' && other !== id),
      version: textOf(artifact['version']),
      fixedIn: listOf(mapOf(vulnerability['fix'])['versions']).map(textOf).filter(Boolean).join(', '),
      score: scoreOf([vulnerability, ...related]),
      severity: textOf(vulnerability['severity']),
      title: textOf(vulnerability['description']) || textOf(related[0]?.['description']),
      url: textOf(vulnerability['dataSource']),
    };
    builder.addNamed(entry, 'A match', { id: 'vulnerability.id', package: 'artifact.name' }, () => positionOf(['matches', index]));
  }
  return 'Grype JSON';
}

function subjectOf(source: JsonObject | undefined): string {
  const target = source?.['target'];
  if (typeof target === 'string') return target;
  const name = textOf(objectOf(target)?.['userInput']);
  return name === '' ? 'unnamed' : source?.['type'] === 'image' ? imageSubject(name) : name;
}

/** Returns its own score if it has one, otherwise that of related entries; the newest version of CVSS takes precedence. */
function scoreOf(entries: readonly JsonObject[]): number | undefined {
  for (const entry of entries) {
    const scores = objectsOf(entry['cvss']).flatMap((one) => {
      const score = objectOf(one['metrics'])?.['baseScore'];
      const version = Number.parseFloat(textOf(one['version']));
      return typeof score === 'number' && score >= 0 && score <= 10 ? [{ score, version }] : [];
    });
    const newest = Math.max(...scores.map(({ version }) => version));
    const [best] = scores.filter(({ version }) => version === newest).sort((a, b) => b.score - a.score);
    if (best) return best.score;
  }
  return undefined;
}
