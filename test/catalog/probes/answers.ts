import { describe, expect, it } from 'vitest';
import { type ConditionFacts, evaluate, holds, probedState, statusLine } from '../../../source/calls/conditions.ts';
import type { CatalogEntry } from '../../../source/catalog/catalog.ts';
import { wholeCatalog } from '../../doubles/whole-catalog.ts';

// What each component really answers, taken from the reference sheets and from the products' own sources, and what an operator is told.
// Every probe has a success, a refusal and a garbage answer (R34), and silence.

export const { entries } = await wholeCatalog();

export type Answer = ConditionFacts['calls'][string];

/** A body as it comes: parsed where it is JSON, as the runner does it. */
export function answered(status: number, body = '', headers: Record<string, string> = {}): Answer {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    json = undefined;
  }
  return { ok: true, status, json, text: body, headers };
}

export const silent: Answer = { ok: false, status: 0, json: undefined, text: '', headers: {} };
export const opened = answered(0);
export const exited = (status: number, output: string) => answered(status, output);
export const running = { state: 'running', health: 'healthy', uptime: 4000 };

export interface Situation {
  answer: Answer;
  calls?: Record<string, Answer>;
  /** Seconds; half a day where it does not matter. */
  age?: number;
  env?: Record<string, string>;
  services?: ConditionFacts['services'];
  ports?: ConditionFacts['ports'];
}

export function factsOf(
  entry: CatalogEntry,
  { answer, calls = {}, age = 43_200, env = {}, services = {}, ports = [] }: Situation,
): ConditionFacts {
  const own = entry.probe === undefined ? {} : { [entry.probe.call]: answer };
  const failure = answer.ok ? '' : 'No response after 3 s.';
  return { answer: { ...answer, failure }, ageSeconds: age, env, fields: {}, ports, calls: { ...own, ...calls }, services };
}

export function entryOf(id: string): CatalogEntry {
  const entry = entries.find((candidate) => candidate.id === id);
  if (!entry) throw new Error(`no entry ${id}`);
  return entry;
}

function saidOf(id: string, situation: Situation) {
  const entry = entryOf(id);
  return probedState(entry, factsOf(entry, situation));
}

function versionOf(id: string, situation: Situation): unknown {
  const entry = entryOf(id);
  // Nothing to read it from is no version either.
  return evaluate(entry.probe?.version ?? '""', factsOf(entry, situation)).value ?? '';
}

/** Checks that fire. Calls a check does not ask for are not there when it looks. */
export function findingsOf(id: string, calls: Record<string, Answer>, more: Partial<Situation> = {}): string[] {
  const entry = entryOf(id);
  const { answer: _, ...facts } = factsOf(entry, { answer: silent, ...more });
  return entry.checks
    .filter(
      (check) => holds(check.when, { ...facts, calls: Object.fromEntries(check.calls.map((name) => [name, calls[name] ?? silent])) }).holds,
    )
    .map((check) => check.id);
}

export type Case = [what: string, situation: Situation, label: string | undefined, severity?: string, detail?: RegExp];

export function table(id: string, cases: Case[]) {
  describe(id, () => {
    // A condition that takes longer than its limit does not hold, and on a machine that does ten other things any of them can.
    it.each(cases)('%s (R34)', { retry: 2 }, (_, situation, label, severity, detail) => {
      const said = saidOf(id, situation);
      expect(said?.label).toBe(label);
      if (severity !== undefined) expect(said?.severity).toBe(severity);
      if (detail !== undefined) expect(said?.detail).toMatch(detail);
    });
  });
}

export const garbage = answered(200, '<html><title>nginx</title></html>');

/** What is read out of an answer as the product's version; an empty string where nothing can be. */
export function versions(rows: [id: string, situation: Situation, version: string][]) {
  describe('version that the product tells', () => {
    it.each(rows)('%s %#', { retry: 2 }, (id, situation, version) => {
      expect(versionOf(id, situation)).toBe(version);
    });
  });
}

/** The line beside the state; undefined where a value that it shows is missing. */
export function statuses(id: string, cases: [what: string, situation: Situation, line: string | undefined][]) {
  describe(`${id}: what one would open the page for`, () => {
    it.each(cases)('%s', { retry: 2 }, (_, situation, line) => {
      const entry = entryOf(id);
      expect(statusLine(entry, factsOf(entry, situation))).toBe(line);
    });
  });
}

/** A port that others reach than this machine alone. */
export const lan = (name: string): Partial<Situation> => ({ ports: [{ name, exposure: 'lan', published: true }] });
