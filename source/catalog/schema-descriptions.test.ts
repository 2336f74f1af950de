import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseYaml } from '../yaml/text.ts';
import { componentSchema } from './schema.ts';
import { describeProperties } from './schema-descriptions.ts';

const file = join(import.meta.dirname, 'schema-descriptions.yaml');
const descriptions = parseYaml(readFileSync(file, 'utf8')) as Record<string, string>;
const schemaOf = () => z.toJSONSchema(componentSchema, { io: 'input', unrepresentable: 'any' });

test('every property of the schema has a description, and none is left over', () => {
  expect(describeProperties(schemaOf(), descriptions)).toEqual({ missing: [], unused: [] });
});

test('a description is one or more sentences, and names no rule', () => {
  for (const [path, text] of Object.entries(descriptions)) {
    expect(text, path).toMatch(/^[A-Za-z<"].*\.$/);
    expect(text, path).not.toMatch(/\bR\d+\b|\.ts\b/);
  }
});

test('the built schema has them, in alternatives too', () => {
  const built = JSON.parse(readFileSync(join(import.meta.dirname, '../../dist/component.schema.json'), 'utf8'));
  expect(built.properties.fields.items.properties.label.description).toBe(descriptions['fields[].label']);
  const programs = built.properties.fields.items.properties.rotate.anyOf[1].anyOf;
  for (const { properties } of programs) expect(properties.service.description).toBe(descriptions['fields[].rotate.service']);
  expect(built.properties.services.additionalProperties.properties.main.description).toBe(descriptions['services.*.main']);
});

test('a missing and an unknown one are reported', () => {
  const { 'probe.states[].when': _, ...less } = descriptions;
  expect(describeProperties(schemaOf(), { ...less, 'probe.moods': 'No.' })).toEqual({
    missing: ['probe.states[].when'],
    unused: ['probe.moods'],
  });
});
