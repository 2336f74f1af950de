import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { InventoryComponent } from './inventory.ts';

// `provenance.yaml` beside each component.yaml of the built-in catalog: where its facts come from. It has the same keys; an entry of a list is named by the key that
// tells it from the others.

const source = z.string().min(1);
const line = z.number().int().positive();
const rule = z.string().regex(/^R\d+$/);
const facts = z.strictObject({ rule: rule.optional(), line: line.optional(), source: source.optional() });
const sourced = z.strictObject({ source });
const lined = z.strictObject({ line });
const named = <Value extends z.ZodType>(value: Value) => z.record(z.string(), value).default({});

const provenanceSchema = z.strictObject({
  /** How sure it is that this product is meant, and why this one. */
  product: z.strictObject({ confidence: z.enum(['sure', 'likely', 'guess']), why: z.string().optional() }),
  services: named(sourced),
  /** `basis`: the statement of the specification that the exposure follows from. */
  ports: named(z.strictObject({ basis: z.string().optional(), source: source.optional() })),
  /** `defaultKind`: `stated`, `example`, `derived ...`, `product`. */
  fields: named(
    z.strictObject({
      defaultKind: z.string().optional(),
      source: source.optional(),
      /** The page of the product's documentation, or the repository and file, from which `label` and `description` were written. */
      help: z
        .string()
        .regex(/^(?:[\w.-]+\.[a-z]+(?:\/\S*)?|[\w.-]+\/[\w.-]+ \S.*)$/)
        .optional(),
      rotate: sourced.optional(),
      verify: sourced.optional(),
    }),
  ),
  configFile: z.strictObject({ source: source.optional(), rules: named(facts), verify: sourced.optional() }).optional(),
  volumes: named(sourced),
  needs: sourced.optional(),
  backup: named(sourced),
  calls: named(facts),
  checks: named(facts),
  transitions: named(facts),
  limits: named(lined),
  errors: named(lined),
  beforeStart: named(sourced),
  firstRun: named(facts),
  /** Of its status lines: where the names in the responses come from. */
  probe: z.strictObject({ status: sourced }).optional(),
  sources: z.array(source).min(1),
  /** Lines of the specification that the entry is based on. */
  lines: z.array(line),
});

/** What tells the entries of a list in component.yaml from each other. */
const keysOfLists: Readonly<Record<string, string>> = {
  fields: 'name',
  'configFile.rules': 'id',
  backup: 'id',
  checks: 'id',
  transitions: 'trigger',
  limits: 'item',
  errors: 'condition',
  beforeStart: 'id',
  firstRun: 'id',
};
const ofFacts = new Set(['source', 'line', 'rule', 'basis', 'confidence', 'why', 'defaultKind', 'help', 'sources', 'lines']);

const read = (folder: string, name: string): unknown => parse(readFileSync(`catalog/${folder}/${name}`, 'utf8'));

export type Provenance = z.output<typeof provenanceSchema>;

const known = new Map<string, Provenance>();

export function readProvenance({ group, id }: Pick<InventoryComponent, 'group' | 'id'>): Provenance {
  const provenance = known.get(id) ?? provenanceSchema.parse(read(`${group}/${id}`, 'provenance.yaml'));
  known.set(id, provenance);
  return provenance;
}

/** Names in the provenance of a catalog folder that its component.yaml does not have. */
export function unknownNames(folder: string): string[] {
  return namesWithout(read(folder, 'provenance.yaml'), read(folder, 'component.yaml'), []);
}

function namesWithout(provenance: unknown, component: unknown, path: readonly string[]): string[] {
  if (typeof provenance !== 'object' || provenance === null || Array.isArray(provenance)) return [];
  const key = keysOfLists[path.join('.')];
  return Object.entries(provenance).flatMap(([name, below]) => {
    if (ofFacts.has(name) && (typeof below !== 'object' || Array.isArray(below))) return [];
    const found =
      key === undefined
        ? (component as Record<string, unknown>)[name]
        : (component as Record<string, unknown>[]).find((entry) => entry[key] === name);
    return found === undefined ? [[...path, name].join('.')] : namesWithout(below, found, [...path, name]);
  });
}
