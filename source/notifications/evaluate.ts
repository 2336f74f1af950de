import type { NotificationRule, NotificationSettings } from '../config/settings.ts';
import { type Level, levels } from '../fleet/diagnoses.ts';
import type { Memory, OpenProblem } from './state-file.ts';

export interface Subject {
  /** The engine, by its name. */
  host: string;
  /** Component, host, or address. */
  about: string;
  /** Key of the component. */
  component?: string | undefined;
}

/** What is known at one time, whether or not a rule is about it. `key` is unique for its kind. */
export type Fact = Subject & { key: string; message: string; remedy: string } & (
    | { kind: 'state'; state: string }
    | { kind: 'doctor'; level: Level }
    | { kind: 'backup'; ageMs: number }
    | { kind: 'disk'; freeBytes: number; usableBytes: number }
    | { kind: 'certificate'; leftMs: number }
    /** Lines that matched since the last evaluation; the message is the last one. */
    | { kind: 'log'; rule: string; count: number }
    | { kind: 'unreachable' }
  );

export interface Facts {
  facts: readonly Fact[];
  /** Names of hosts, keys of components, and `kind host`, of which nothing is known now: a missing fact about them is no recovery. */
  unknown: ReadonlySet<string>;
  /** Engines that exist. Problems of others are forgotten. Undefined if only some are followed. */
  hosts: ReadonlySet<string> | undefined;
}

export interface NotificationEvent extends Omit<OpenProblem, 'reportedMs'> {
  event: 'problem' | 'resolved';
  atMs: number;
}

/** A rule sends at most one message in this time, whatever changes. */
const leastGapMs = 60_000;

/**
 * Decides what is reported now: each problem once, when its condition has held for long enough, and its end. What quiet hours or the limit
 * per minute hold back stays open, and is reported later if it still holds.
 */
export function evaluate(
  { rules, quietMinutes }: Pick<NotificationSettings, 'rules' | 'quietMinutes'>,
  memory: Memory,
  now: Facts,
  nowMs: number,
): { events: readonly NotificationEvent[]; memory: Memory } {
  const events: NotificationEvent[] = [];
  const problems: Record<string, OpenProblem> = {};
  const sentMs: Record<string, number> = {};
  for (const rule of rules) {
    const lastMs = memory.sentMs[rule.name];
    const sinceLastMs = nowMs - (lastMs ?? Number.NEGATIVE_INFINITY);
    const isHeld = (!rule.urgent && isQuiet(quietMinutes, nowMs)) || (sinceLastMs >= 0 && sinceLastMs < leastGapMs);
    const found = reportOn(rule, openProblems(rule, memory, now, nowMs), now, { isHeld, nowMs });
    events.push(...found.events);
    Object.assign(problems, found.problems);
    const ruleMs = found.events.length > 0 ? nowMs : lastMs;
    if (ruleMs !== undefined) sentMs[rule.name] = ruleMs;
  }
  return { events, memory: { problems, sentMs } };
}

type Known = { problem: OpenProblem; holds: boolean };

function openProblems(rule: NotificationRule, { problems }: Memory, { facts, hosts }: Facts, nowMs: number): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>();
  for (const [key, problem] of Object.entries(problems)) {
    const isListed = hosts?.has(problem.host) !== false || problem.kind === 'certificate';
    if (problem.rule !== rule.name || problem.kind !== rule.condition.kind || !isListed || !isInScope(rule, problem)) continue;
    // The clock may have been set back.
    known.set(key, { problem: { ...problem, sinceMs: Math.min(problem.sinceMs, nowMs) }, holds: false });
  }
  for (const fact of facts) {
    if (!isInScope(rule, fact) || !applies(rule, fact)) continue;
    const key = `${rule.name} ${fact.key}`;
    const before = known.get(key)?.problem;
    if (before?.reportedMs !== undefined) {
      // As it was reported: an age in its message is no news.
      known.set(key, { problem: before, holds: true });
      continue;
    }
    const { kind, host, about, component, message, remedy } = fact;
    const count = fact.kind === 'log' ? (before?.count ?? 0) + fact.count : undefined;
    const { sinceMs = nowMs } = before ?? {};
    known.set(key, {
      problem: { rule: rule.name, kind, host, about, component, message, remedy, sinceMs, count },
      holds: true,
    });
  }
  return known;
}

function reportOn(
  rule: NotificationRule,
  known: ReadonlyMap<string, Known>,
  { unknown }: Facts,
  { isHeld, nowMs }: { isHeld: boolean; nowMs: number },
): { events: NotificationEvent[]; problems: Record<string, OpenProblem> } {
  const events: NotificationEvent[] = [];
  const problems: Record<string, OpenProblem> = {};
  const isUnknown = ({ kind, host, component = '' }: OpenProblem) =>
    unknown.has(host) || unknown.has(component) || unknown.has(`${kind} ${host}`);
  for (const [key, { problem, holds }] of known) {
    const { reportedMs, ...described } = problem;
    // A line that was logged stays true, and has no end.
    const isLine = problem.kind === 'log';
    if (holds || isLine) {
      const isDue = !isHeld && reportedMs === undefined && nowMs - problem.sinceMs >= rule.forMs;
      if (isDue) events.push({ event: 'problem', ...described, atMs: nowMs });
      if (!isDue) problems[key] = problem;
      else if (!isLine) problems[key] = { ...problem, reportedMs: nowMs };
    } else if (isUnknown(problem) || (isHeld && reportedMs !== undefined)) problems[key] = problem;
    else if (reportedMs !== undefined) events.push({ event: 'resolved', ...described, atMs: nowMs });
  }
  return { events, problems };
}

/** Whether a rule is about this component, host or address. */
export function isInScope({ condition, hosts, components, addresses }: NotificationRule, { host, about }: Pick<Subject, 'host' | 'about'>) {
  if (condition.kind === 'certificate') return addresses.includes(about);
  if (hosts && !hosts.includes(host) && !hosts.includes(host.split('/', 1)[0] ?? '')) return false;
  return components === undefined || components.includes(about);
}

function applies({ name, condition }: NotificationRule, fact: Fact): boolean {
  if (condition.kind === 'state') return fact.kind === 'state' && condition.ids.includes(fact.state);
  if (condition.kind === 'doctor') return fact.kind === 'doctor' && levels.indexOf(fact.level) <= levels.indexOf(condition.level);
  if (condition.kind === 'backup') return fact.kind === 'backup' && fact.ageMs > condition.ageMs;
  if (condition.kind === 'certificate') return fact.kind === 'certificate' && fact.leftMs < condition.leftMs;
  if (condition.kind === 'log') return fact.kind === 'log' && fact.rule === name;
  if (condition.kind === 'unreachable') return fact.kind === 'unreachable';
  if (fact.kind !== 'disk') return false;
  const { least } = condition;
  return fact.freeBytes < ('bytes' in least ? least.bytes : least.share * fact.usableBytes);
}

/** In the time zone of the machine; the end may be on the next day. */
function isQuiet(quiet: NotificationSettings['quietMinutes'], nowMs: number): boolean {
  if (!quiet) return false;
  const now = new Date(nowMs);
  const minute = now.getHours() * 60 + now.getMinutes();
  const { from, until } = quiet;
  return from <= until ? minute >= from && minute < until : minute >= from || minute < until;
}
