import { type JsonObject, listOf, objectOf, textOf } from '../../text/json-value.ts';
import type { JsonPlaces } from './json-place.ts';
import { imageSubject, type ReportBuilder, readTime } from './report-builder.ts';

/** `trivy image|fs|rootfs --format json`; older releases wrote the results alone. */
export function isTrivy(json: unknown): boolean {
  const report = objectOf(json);
  if (report) return 'ArtifactName' in report || (Array.isArray(report['Results']) && 'SchemaVersion' in report);
  const [first] = listOf(json);
  return objectOf(first) !== undefined && 'Target' in (first as object) && 'Vulnerabilities' in (first as object);
}

export function readTrivy(json: unknown, builder: ReportBuilder, places: JsonPlaces): string {
  const report = objectOf(json);
  const artifact = textOf(report?.['ArtifactName']);
  const isImage = /container_image|^$/.test(textOf(report?.['ArtifactType']));
  builder.scannedMs = readTime(report?.['CreatedAt']);
  if (artifact !== '') builder.subject(isImage ? imageSubject(artifact) : artifact);
  const before = report ? ['Results'] : [];
  for (const [at, result] of listOf(report ? report['Results'] : json).entries()) {
    const target = textOf(objectOf(result)?.['Target']);
    const subject = artifact === '' ? target : isImage ? imageSubject(artifact) : artifact;
    for (const [index, one] of listOf(objectOf(result)?.['Vulnerabilities']).entries()) {
      const entry = objectOf(one);
      const id = textOf(entry?.['VulnerabilityID']);
      const name = textOf(entry?.['PkgName']);
      if (!entry || id === '' || name === '') {
        const path = [...before, at, 'Vulnerabilities', index];
        builder.leaveOut(`An entry has no ${id === '' ? 'VulnerabilityID' : 'PkgName'}.`, () => places.find(path));
        continue;
      }
      builder.add({
        subject,
        package: name,
        id,
        version: textOf(entry['InstalledVersion']),
        fixedIn: textOf(entry['FixedVersion']),
        score: scoreOf(entry),
        severity: textOf(entry['Severity']),
        title: textOf(entry['Title']) || textOf(entry['Description']),
        url: textOf(entry['PrimaryURL']),
      });
    }
  }
  return 'Trivy JSON';
}

/** Of whoever gave the severity, then of the national database, then the highest of all. The newest version of CVSS counts. */
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
