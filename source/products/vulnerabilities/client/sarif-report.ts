import { type JsonObject, listOf, objectOf, objectsOf, textOf } from '../../../text/json-value.ts';
import { type FindPosition, imageSubject, type ReportBuilder, readScore, readTime } from './report-builder.ts';

const silent: ReadonlySet<string> = new Set(['pass', 'notApplicable', 'open', 'informational']);

/** Reads SARIF 2.1.0 (OASIS), as Trivy, Grype and code scanners write it. Returns undefined for any other report. */
export function readSarif(json: unknown, builder: ReportBuilder, positionOf: FindPosition): string | undefined {
  const report = objectOf(json);
  if (!Array.isArray(report?.['runs'])) return undefined;
  const tools = new Set<string>();
  for (const [at, value] of listOf(report['runs']).entries()) {
    const run = objectOf(value) ?? {};
    const driver = objectOf(objectOf(run['tool'])?.['driver']) ?? {};
    const tool = textOf(driver['name']) || 'an unnamed tool';
    tools.add(tool);
    const subject = subjectOf(run, tool);
    builder.subject(subject);
    builder.scannedMs ??= readTime(objectOf(listOf(run['invocations'])[0])?.['startTimeUtc']);
    const ruleOf = ruleLookup(run, driver);
    for (const [index, one] of listOf(run['results']).entries()) {
      const result = objectOf(one) ?? {};
      const position = () => positionOf(['runs', at, 'results', index]);
      const rule = ruleOf(result);
      const id = ruleIdOf(result, rule);
      const score = readScore(severityOf(result) || severityOf(rule));
      if (isSilent(result)) builder.ignored++;
      else if (id === '') builder.leaveOut('A result has no ruleId.', position);
      else if (typeof score === 'object') builder.leaveOut(`Invalid security-severity of ${id}. ${score.problem}.`, position);
      else builder.add({ subject, ...packageOf(result, rule, id), score, severity: levelOf(result, rule), url: textOf(rule['helpUri']) });
    }
  }
  return `SARIF ${textOf(report['version'])} from ${[...tools].join(', ') || 'an unnamed tool'}`;
}

function subjectOf(run: JsonObject, tool: string): string {
  const image = textOf(objectOf(run['properties'])?.['imageName']);
  if (image !== '') return imageSubject(image);
  const named = textOf(objectOf(run['automationDetails'])?.['id']).replace(/\/$/, '');
  return named || tool;
}

/** Reports whether a result is suppressed in the scanner's own list, absent since the baseline, or a passed test. */
function isSilent(result: JsonObject): boolean {
  const suppressed = listOf(result['suppressions']).some((one) => (textOf(objectOf(one)?.['status']) || 'accepted') === 'accepted');
  return suppressed || result['baselineState'] === 'absent' || silent.has(textOf(result['kind']));
}

const ruleIdOf = (result: JsonObject, rule: JsonObject = {}) =>
  textOf(result['ruleId']) || textOf(objectOf(result['rule'])?.['id']) || textOf(rule['id']);

function ruleLookup(run: JsonObject, driver: JsonObject): (result: JsonObject) => JsonObject {
  const byIndex = listOf(driver['rules']);
  const extensions = objectsOf(objectOf(run['tool'])?.['extensions']).flatMap((one) => objectsOf(one['rules']));
  const byId = new Map([...objectsOf(byIndex), ...extensions].map((rule) => [textOf(rule['id']), rule]));
  return (result) => {
    const id = ruleIdOf(result);
    const index = result['ruleIndex'] ?? objectOf(result['rule'])?.['index'];
    const indexed = typeof index === 'number' ? objectOf(byIndex[index]) : undefined;
    // `error/nested` is a more specific id of the rule `error`.
    return byId.get(id) ?? indexed ?? byId.get(id.split('/')[0] ?? '') ?? {};
  };
}

const severityOf = (one: JsonObject) => textOf(objectOf(one['properties'])?.['security-severity']);

function levelOf(result: JsonObject, rule: JsonObject): string {
  return textOf(result['level']) || textOf(objectOf(rule['defaultConfiguration'])?.['level']) || 'warning';
}

/** Returns the package. Package scanners name it in the message; other results use the file. */
function packageOf(result: JsonObject, rule: JsonObject, id: string) {
  const message = textOf(objectOf(result['message'])?.['text']);
  const line = (name: string) => new RegExp(`^${name}: *(.+)$`, 'mi').exec(message)?.[1]?.trim() ?? '';
  const named = line('Package');
  const [, grypeName = '', grypeVersion = ''] = /package: ([^,\s]+), version ([^\s,]+)/.exec(message) ?? [];
  const location = objectOf(objectOf(listOf(result['locations'])[0])?.['physicalLocation']);
  const file = textOf(objectOf(location?.['artifactLocation'])?.['uri']);
  const name = named || grypeName || file || 'unnamed';
  return {
    package: name,
    // Grype creates a rule for each vulnerability of each package.
    id: grypeName === '' ? id : id.replace(new RegExp(`-${grypeName.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`), ''),
    version: line('Installed Version') || grypeVersion,
    fixedIn: line('Fixed Version') || (/Fixed in (?:version )?(\S+?)\.?(?:\s|$)/.exec(message)?.[1] ?? ''),
    title: textOf(objectOf(rule['shortDescription'])?.['text']) || (message.split('\n')[0] ?? ''),
  };
}
