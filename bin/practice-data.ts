import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { CatalogProblem } from '../source/catalog/catalog.ts';
import { type PracticeComponent, practiceSchema } from '../source/practice/simulation/component-schema.ts';
import { mapOf, objectOf } from '../source/text/json-value.ts';
import { nameRemedy } from '../source/text/nearest-name.ts';
import { fieldText, YamlDocument, type YamlPath } from '../source/yaml/document.ts';
import { SchemaIssues } from '../source/yaml/schema-issues.ts';
import { parseYaml } from '../source/yaml/text.ts';

const baseFile = 'source/practice/simulation/base-services.yaml';

type Report = (path: YamlPath, part: 'key' | 'value', message: string, remedy: string) => void;

/** Reads the practice.yaml of each component below `catalog/`. What their services extend is merged into them. */
export function readPracticeFiles(root: string): { components: PracticeComponent[]; problems: CatalogProblem[] } {
  const bases = mapOf(parseYaml(readFileSync(join(import.meta.dirname, '..', baseFile), 'utf8')));
  const issues = new SchemaIssues(practiceSchema);
  const components: PracticeComponent[] = [];
  const problems: CatalogProblem[] = [];
  for (const file of globSync('catalog/*/*/practice.yaml', { cwd: root }).sort()) {
    const document = new YamlDocument(readFileSync(join(root, file), 'utf8'));
    for (const problem of document.problems) problems.push({ level: 'error', file, field: '', ...problem });
    const report: Report = (path, part, message, remedy) =>
      problems.push({ level: 'error', file, ...document.position(path, part), field: fieldText(path), message, remedy });
    const value = withBases(document.value, bases, report);
    const read = practiceSchema.safeParse(value);
    if (read.success) components.push({ component: basename(dirname(file)), ...read.data });
    else for (const { path, part, message, remedy } of issues.describe(read.error.issues, value)) report(path, part, message, remedy);
  }
  return { components, problems };
}

function withBases(component: unknown, bases: Readonly<Record<string, unknown>>, report: Report): unknown {
  const services = objectOf(mapOf(component)['services']);
  if (!services) return component;
  const complete = Object.entries(services).map(([name, service]) => {
    const { extends: extended, with: parameters, ...own } = mapOf(service);
    if (extended === undefined) return [name, service];
    const base = bases[String(extended)];
    if (!base) {
      const remedy = nameRemedy(String(extended), Object.keys(bases), `Use a service of ${baseFile}.`);
      report(['services', name, 'extends'], 'value', `Unknown base service "${extended}".`, remedy);
      return [name, own];
    }
    const values: Readonly<Record<string, unknown>> = { ...mapOf(parameters), service: name };
    const used = new Set(['service']);
    const filled = fillParameters(base, (parameter) => {
      used.add(parameter);
      return values[parameter];
    });
    for (const parameter of new Set([...used, ...Object.keys(values)])) {
      if (!used.has(parameter)) report(['services', name, 'with', parameter], 'key', `Unknown parameter "${parameter}".`, 'Remove it.');
      else if (values[parameter] === undefined)
        report(['services', name], 'key', `"${extended}" requires the parameter "${parameter}".`, 'Set it in with.');
    }
    return [name, merged(filled, own)];
  });
  return { ...mapOf(component), services: Object.fromEntries(complete) };
}

/** Replaces each `${parameter}` in the texts and keys of a value. */
function fillParameters(value: unknown, readParameter: (parameter: string) => unknown): unknown {
  const fill = (text: string) => text.replace(/\$\{(\w+)\}/g, (_, parameter: string) => String(readParameter(parameter)));
  if (typeof value === 'string') return fill(value);
  if (Array.isArray(value)) return value.map((item) => fillParameters(item, readParameter));
  const map = objectOf(value);
  return map ? Object.fromEntries(Object.entries(map).map(([key, item]) => [fill(key), fillParameters(item, readParameter)])) : value;
}

function merged(base: unknown, own: unknown): unknown {
  const [below, above] = [objectOf(base), objectOf(own)];
  if (!below || !above) return own;
  const changed = Object.entries(above).map(([key, value]) => [key, Object.hasOwn(below, key) ? merged(below[key], value) : value]);
  return { ...below, ...Object.fromEntries(changed) };
}
