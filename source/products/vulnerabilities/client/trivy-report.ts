import { type JsonObject, listOf, mapOf, objectOf, textOf } from '../../../text/json-value.ts';
import { type FindPosition, imageSubject, type ReportBuilder, readTime } from './report-builder.ts';

/** Reads the output of `trivy image|fs|rootfs --format json`. Returns undefined for any other report. */
export function readTrivy(json: unknown, builder: ReportBuilder, positionOf: FindPosition): string | undefined {
  if (!isTrivy(json)) return undefined;
  const report = objectOf(json);
  const isImage = /container_image|^$/.test(textOf(report?.['ArtifactType']));
  const written = textOf(report?.['ArtifactName']);
  const artifact = isImage ? imageSubject(written) : written;
  builder.scannedMs = readTime(report?.['CreatedAt']);
  if (artifact !== '') builder.subject(artifact);
  const [before, results] = report ? [['Results'], report['Results']] : [[], json];
  for (const [at, result] of listOf(results).entries()) {
    const { Target: target, Vulnerabilities: entries } = mapOf(result);
    for (const [index, one] of listOf(entries).entries()) {
      const entry = mapOf(one);
      const read = {
        subject: artifact || textOf(target),
        package: textOf(entry['PkgName']),
        id: textOf(entry['VulnerabilityID']),
        version: textOf(entry['InstalledVersion']),
        fixedIn: textOf(entry['FixedVersion']),
        score: scoreOf(entry),
        severity: textOf(entry['Severity']),
        title: textOf(entry['Title']) || textOf(entry['Description']),
        url: textOf(entry['PrimaryURL']),
      };
      const position = () => positionOf([...before, at, 'Vulnerabilities', index]);
      builder.addNamed(read, 'An entry', { id: 'VulnerabilityID', package: 'PkgName' }, position);
    }
  }
  return 'Trivy JSON';
}

/** Older releases wrote only the list of results. */
function isTrivy(json: unknown): boolean {
  const report = objectOf(json);
  if (report) return 'ArtifactName' in report || (Array.isArray(report['Results']) && 'SchemaVersion' in report);
  const first = objectOf(listOf(json)[0]) ?? {};
  return 'Target' in first && 'Vulnerabilities' in first;
}

/** Uses the score of the severity's source, else of the national database, else the highest. The newest version of CVSS counts. */
function scoreOf(entry: JsonObject): number | undefined {
  const all = objectOf(entry['CVSS']) ?? {};
  for (const source of [textOf(entry['SeveritySource']), 'nvd']) {
    const score = newest(objectOf(all[source]));
    if (score !== undefined) return score;
  }
  const scores = Object.values(all).flatMap((one) => newest(objectOf(one)) ?? []);
  return scores.length > 0 ? Math.max(...scores) : undefined;
}

function newest(one: JsonObject | undefined): number | undefined {
  for (const name of ['V40Score', 'V3Score', 'V2Score']) {
    const score = one?.[name];
    if (typeof score === 'number' && score >= 0 && score <= 10) return score;
  }
  return undefined;
}
