import { type JsonObject, listOf, objectOf, textOf } from '../../text/json-value.ts';
import type { JsonPlaces } from './json-place.ts';
import { imageSubject, type ReportBuilder, readScore, readTime } from './report-builder.ts';

/** Static Analysis Results Interchange Format 2.1.0 (OASIS), as Trivy, Grype and code scanners write it. */
export function isSarif(json: unknown): boolean {
  const report = objectOf(json);
  return report !== undefined && Array.isArray(report['runs']);
}

const silent: ReadonlySet<string> = new Set(['pass', 'notApplicable', 'open', 'informational']);

export function readSarif(json: unknown, builder: ReportBuilder, places: JsonPlaces): string {
  const report = objectOf(json) ?? {};
  const tools = new Set<string>();
  for (const [at, value] of listOf(report['runs']).entries()) {
    const run = objectOf(value) ?? {};
    const driver = objectOf(objectOf(run['tool'])?.['driver']) ?? {};
    const tool = textOf(driver['name']) || 'an unnamed tool';
    tools.add(tool);
    const subject = subjectOf(run, tool);
    builder.subject(subject);
    builder.scannedMs ??= readTime(objectOf(listOf(run['invocations'])[0])?.['startTimeUtc']);
    const rules = new Rules(run, driver);
    for (const [index, one] of listOf(run['results']).entries()) {
      const result = objectOf(one);
      if (result && isSilent(result)) {
        builder.ignored++;
        continue;
      }
      const rule = result && rules.of(result);
      const id = textOf(result?.['ruleId']) || textOf(objectOf(result?.['rule'])?.['id']) || textOf(rule?.['id']);
      if (!result || id === '') {
        builder.leaveOut('A result has no ruleId.', () => places.find(['runs', at, 'results', index]));
        continue;
      }
      const score = readScore(textOf(severityOf(result)) || textOf(severityOf(rule)));
      if (typeof score === 'object') {
        builder.leaveOut(`The security-severity of ${id}: ${score.problem}.`, () => places.find(['runs', at, 'results', index]));
        continue;
      }
      builder.add({ subject, ...packageOf(result, rule, id), score, severity: levelOf(result, rule), url: textOf(rule?.['helpUri']) });
    }
  }
  return `SARIF ${textOf(report['version'])} of ${[...tools].join(', ') || 'an unnamed tool'}`;
}

function subjectOf(run: JsonObject, tool: string): string {
  const image = textOf(objectOf(run['properties'])?.['imageName']);
  if (image !== '') return imageSubject(image);
  const named = textOf(objectOf(run['automationDetails'])?.['id']).replace(/\/$/, '');
  return named || tool;
}

/** Suppressed by the scanner's own list, gone since the baseline, or a test that passed. */
function isSilent(result: JsonObject): boolean {
  const suppressed = listOf(result['suppressions']).some((one) => (textOf(objectOf(one)?.['status']) || 'accepted') === 'accepted');
  return suppressed || result['baselineState'] === 'absent' || silent.has(textOf(result['kind']));
}

class Rules {
  readonly #byIndex: readonly unknown[];
  readonly #byId = new Map<string, JsonObject>();

  constructor(run: JsonObject, driver: JsonObject) {
    this.#byIndex = listOf(driver['rules']);
    const extensions = listOf(objectOf(run['tool'])?.['extensions']).flatMap((one) => listOf(objectOf(one)?.['rules']));
    for (const one of [...this.#byIndex, ...extensions]) {
      const rule = objectOf(one);
      if (rule) this.#byId.set(textOf(rule['id']), rule);
    }
  }

  of(result: JsonObject): JsonObject | undefined {
    const id = textOf(result['ruleId']) || textOf(objectOf(result['rule'])?.['id']);
    const index = result['ruleIndex'] ?? objectOf(result['rule'])?.['index'];
    // `error/nested` is a more special one of the rule `error`.
    return (
      this.#byId.get(id) ??
      (typeof index === 'number' ? objectOf(this.#byIndex[index]) : undefined) ??
      this.#byId.get(id.split('/')[0] ?? '')
    );
  }
}

function severityOf(one: JsonObject | undefined): unknown {
  return objectOf(one?.['properties'])?.['security-severity'];
}

function levelOf(result: JsonObject, rule: JsonObject | undefined): string {
  return textOf(result['level']) || textOf(objectOf(rule?.['defaultConfiguration'])?.['level']) || 'warning';
}

/** Scanners of packages say in words which one it is; without them it is the file. */
function packageOf(result: JsonObject, rule: JsonObject | undefined, id: string) {
  const message = textOf(objectOf(result['message'])?.['text']);
  const line = (name: string) => new RegExp(`^${name}: *(.+)$`, 'mi').exec(message)?.[1]?.trim() ?? '';
  const named = line('Package');
  const [, grypeName = '', grypeVersion = ''] = /package: ([^,\s]+), version ([^\s,]+)/.exec(message) ?? [];
  const location = objectOf(objectOf(listOf(result['locations'])[0])?.['physicalLocation']);
  const file = textOf(objectOf(location?.['artifactLocation'])?.['uri']);
  const name = named || grypeName || file || 'unnamed';
  return {
    package: name,
    // Grype makes a rule for each vulnerability of each package.
    id: grypeName === '' ? id : id.replace(new RegExp(`-${grypeName.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`), ''),
    version: line('Installed Version') || grypeVersion,
    fixedIn: line('Fixed Version') || (/Fixed in (?:version )?(\S+?)\.?(?:\s|$)/.exec(message)?.[1] ?? ''),
    title: textOf(objectOf(rule?.['shortDescription'])?.['text']) || (message.split('\n')[0] ?? ''),
  };
}
