import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { drawSample, operatorTexts, type Sample } from './sample.ts';

const sample = parse(readFileSync(join(import.meta.dirname, 'sample.yaml'), 'utf8')) as Sample;
/** Of the newest sample. The aim is 285 and 0: raise and lower them with each sample that is better. */
const [leastGood, mostMisleading] = [278, 2];

test('of 300 texts that a second reader drew, no fewer are good than in the last sample', () => {
  const count = (verdict: string) => sample.texts.filter((text) => text.verdict === verdict).length;
  expect(count('good') + count('unidiomatic') + count('misleading')).toBe(300);
  expect(count('misleading')).toBeLessThanOrEqual(mostMisleading);
  expect(count('good')).toBeGreaterThanOrEqual(leastGood);
  expect(sample.texts.filter(({ verdict, note }) => verdict !== 'good' && !note)).toEqual([]);
});

test('the sample is of the texts of today', { timeout: 90_000 }, () => {
  const texts = operatorTexts();
  const today = new Set(texts.map(({ text }) => text));
  // More: draw another sample, and have it read.
  expect(sample.texts.filter(({ text }) => !today.has(text)).length).toBeLessThan(100);
  expect(drawSample(texts, sample.seed)).toEqual(drawSample(texts, sample.seed));
  expect(drawSample(texts, sample.seed)).not.toEqual(drawSample(texts, sample.seed + 1));
});
