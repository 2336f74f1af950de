import { describe, expect, it } from 'vitest';
import type { NotificationRule, NotificationSettings } from '../config/settings.ts';
import { evaluate, type Fact, type Facts } from './evaluate.ts';
import type { Memory } from './state-file.ts';

const minute = 60_000;
const startMs = Date.UTC(2026, 10, 20, 12, 0);

const ruleOf = (condition: NotificationRule['condition'], more: Partial<NotificationRule> = {}): NotificationRule => ({
  ...{ name: 'rule', condition, forMs: 0, components: undefined, hosts: undefined, addresses: [], targets: ['phone'], urgent: false },
  ...more,
});
const stateOf = (about: string, state: string, host = 'nas'): Fact => ({
  ...{ kind: 'state', key: `${host}/${about}`, host, about, component: `${host}/${about}`, state, message: `${state}.`, remedy: 'Look.' },
});

/** Evaluates again and again, as a watch does: the memory is passed on. */
class Evaluations {
  #memory: Memory = { problems: {}, sentMs: {} };
  constructor(
    private readonly rules: readonly NotificationRule[],
    private readonly quietMinutes?: NotificationSettings['quietMinutes'],
  ) {}
  at(afterMs: number, facts: readonly Fact[], more: Partial<Facts> = {}): string[] {
    const now = { facts, unknown: new Set<string>(), hosts: undefined, ...more };
    const { events, memory } = evaluate({ rules: this.rules, quietMinutes: this.quietMinutes }, this.#memory, now, startMs + afterMs);
    // As it comes back from the file.
    this.#memory = JSON.parse(JSON.stringify(memory)) as Memory;
    return events.map(({ event, about, message }) => `${event} ${about} ${message}`);
  }
}

const failed = ruleOf({ kind: 'state', ids: ['failed'] });

describe('evaluate', () => {
  it('reports a problem once, when it has lasted long enough, and its end', () => {
    const seen = new Evaluations([{ ...failed, forMs: 5 * minute }]);
    const bad = [stateOf('mail', 'failed'), stateOf('wiki', 'healthy')];
    expect(seen.at(0, bad)).toEqual([]);
    expect(seen.at(4 * minute, bad)).toEqual([]);
    expect(seen.at(5 * minute, bad)).toEqual(['problem mail failed.']);
    expect(seen.at(60 * minute, bad)).toEqual([]);
    expect(seen.at(61 * minute, [stateOf('mail', 'healthy')])).toEqual(['resolved mail failed.']);
    expect(seen.at(70 * minute, [stateOf('mail', 'healthy')])).toEqual([]);
  });

  it('forgets a problem that ended before it was reported, and counts again', () => {
    const seen = new Evaluations([{ ...failed, forMs: 5 * minute }]);
    expect(seen.at(0, [stateOf('mail', 'failed')])).toEqual([]);
    expect(seen.at(3 * minute, [stateOf('mail', 'healthy')])).toEqual([]);
    expect(seen.at(4 * minute, [stateOf('mail', 'failed')])).toEqual([]);
    expect(seen.at(6 * minute, [stateOf('mail', 'failed')])).toEqual([]);
    expect(seen.at(9 * minute, [stateOf('mail', 'failed')])).toEqual(['problem mail failed.']);
  });

  it('sends at most one message per minute and rule while a state flaps, and reports where it ends', () => {
    const seen = new Evaluations([failed]);
    const sent = Array.from({ length: 13 }, (_, at) => seen.at(at * 10_000, [stateOf('mail', at % 2 === 0 ? 'failed' : 'healthy')]));
    expect(sent.flatMap((events, at) => events.map((event) => [at * 10, event]))).toEqual([
      [0, 'problem mail failed.'],
      [70, 'resolved mail failed.'],
    ]);
    expect(seen.at(125_000, [stateOf('mail', 'healthy')])).toEqual([]);
  });

  it('reports what fails within a minute of the last message together afterwards', () => {
    const seen = new Evaluations([failed]);
    expect(seen.at(0, [stateOf('mail', 'failed')])).toHaveLength(1);
    const all = [stateOf('mail', 'failed'), stateOf('wiki', 'failed'), stateOf('blog', 'failed')];
    expect(seen.at(20_000, all)).toEqual([]);
    expect(seen.at(60_000, all)).toEqual(['problem wiki failed.', 'problem blog failed.']);
  });

  it('in quiet hours nothing is sent; afterwards what still holds is reported, and what ended', () => {
    // From 12:10 to 13:00, in the time zone of the machine.
    const offset = new Date(startMs).getTimezoneOffset();
    const noon = 12 * 60 - offset;
    const quiet = { from: (noon + 10 + 1440) % 1440, until: (noon + 60 + 1440) % 1440 };
    const seen = new Evaluations([failed], quiet);
    expect(seen.at(0, [stateOf('mail', 'failed')])).toEqual(['problem mail failed.']);
    expect(seen.at(15 * minute, [stateOf('wiki', 'failed'), stateOf('blog', 'failed')])).toEqual([]);
    expect(seen.at(30 * minute, [stateOf('wiki', 'failed')])).toEqual([]);
    expect(seen.at(60 * minute, [stateOf('wiki', 'failed')])).toEqual(['resolved mail failed.', 'problem wiki failed.']);
    const urgent = new Evaluations([{ ...failed, urgent: true }], quiet);
    expect(urgent.at(15 * minute, [stateOf('wiki', 'failed')])).toEqual(['problem wiki failed.']);
  });

  it('quiet hours may end on the next day', () => {
    const midnight = Date.UTC(2026, 10, 21) + new Date(startMs).getTimezoneOffset() * minute;
    const seen = new Evaluations([failed], { from: 22 * 60, until: 7 * 60 });
    expect(seen.at(midnight + 60 * minute - startMs, [stateOf('mail', 'failed')])).toEqual([]);
    expect(seen.at(midnight + 7 * 60 * minute - startMs, [stateOf('mail', 'failed')])).toEqual(['problem mail failed.']);
  });

  it('a host that does not respond is an event of its own, and resolves nothing', () => {
    const away = ruleOf({ kind: 'unreachable' }, { name: 'away' });
    const seen = new Evaluations([failed, away]);
    expect(seen.at(0, [stateOf('mail', 'failed')])).toEqual(['problem mail failed.']);
    const gone: Fact = { kind: 'unreachable', key: 'nas', host: 'nas', about: 'nas', message: 'No answer.', remedy: '' };
    expect(seen.at(5 * minute, [gone], { unknown: new Set(['nas']) })).toEqual(['problem nas No answer.']);
    expect(seen.at(9 * minute, [stateOf('mail', 'failed')])).toEqual(['resolved nas No answer.']);
    expect(seen.at(12 * minute, [])).toEqual(['resolved mail failed.']);
  });

  it('a component that starts, and a reading that failed, resolve nothing', () => {
    const disk = ruleOf({ kind: 'disk', least: { share: 0.1 } }, { name: 'disk' });
    const seen = new Evaluations([failed, disk]);
    const full: Fact = {
      kind: 'disk',
      key: 'nas /',
      host: 'nas',
      about: 'nas',
      freeBytes: 5,
      usableBytes: 100,
      message: 'Full.',
      remedy: '',
    };
    expect(seen.at(0, [stateOf('mail', 'failed'), full])).toHaveLength(2);
    expect(seen.at(2 * minute, [stateOf('mail', 'starting')], { unknown: new Set(['nas/mail', 'disk nas']) })).toEqual([]);
    expect(seen.at(4 * minute, [stateOf('mail', 'healthy'), { ...full, freeBytes: 50 }])).toHaveLength(2);
  });

  it('matching lines are counted and have no end', () => {
    const seen = new Evaluations([ruleOf({ kind: 'log', filter: 'panic' })]);
    const line = (count: number): Fact => ({
      ...{ kind: 'log', key: 'nas/mail', host: 'nas', about: 'mail', rule: 'rule', count, message: `panic ${count}`, remedy: '' },
    });
    expect(seen.at(0, [line(1)])).toEqual(['problem mail panic 1']);
    expect(seen.at(10_000, [line(2)])).toEqual([]);
    expect(seen.at(20_000, [line(3)])).toEqual([]);
    expect(seen.at(61_000, [])).toEqual(['problem mail panic 3']);
    expect(seen.at(200_000, [])).toEqual([]);
  });

  it('rules are limited to their hosts and components, and forget what is no longer theirs', () => {
    const facts = [stateOf('mail', 'failed'), stateOf('mail', 'failed', 'lab/podman'), stateOf('wiki', 'failed', 'lab')];
    expect(new Evaluations([{ ...failed, hosts: ['lab'] }]).at(0, facts)).toHaveLength(2);
    expect(new Evaluations([{ ...failed, components: ['wiki'] }]).at(0, facts)).toEqual(['problem wiki failed.']);
    const seen = new Evaluations([failed]);
    expect(seen.at(0, facts)).toHaveLength(3);
    expect(seen.at(2 * minute, [], { hosts: new Set(['nas']) })).toEqual(['resolved mail failed.']);
  });

  it('a clock that was set back delays nothing for ever', () => {
    const seen = new Evaluations([{ ...failed, forMs: minute }]);
    expect(seen.at(0, [stateOf('mail', 'failed')])).toEqual([]);
    expect(seen.at(-600 * minute, [stateOf('mail', 'failed')])).toEqual([]);
    expect(seen.at(-599 * minute, [stateOf('mail', 'failed')])).toEqual(['problem mail failed.']);
  });

  it.each<[NotificationRule['condition'], Partial<Fact>, boolean]>([
    [{ kind: 'doctor', level: 'warning' }, { kind: 'doctor', level: 'error' }, true],
    [{ kind: 'doctor', level: 'error' }, { kind: 'doctor', level: 'warning' }, false],
    [{ kind: 'backup', ageMs: 10 }, { kind: 'backup', ageMs: Number.POSITIVE_INFINITY }, true],
    [{ kind: 'backup', ageMs: 10 }, { kind: 'backup', ageMs: 10 }, false],
    [{ kind: 'disk', least: { bytes: 10 } }, { kind: 'disk', freeBytes: 9, usableBytes: 99 }, true],
    [{ kind: 'disk', least: { share: 0.1 } }, { kind: 'disk', freeBytes: 10, usableBytes: 99 }, false],
    [{ kind: 'certificate', leftMs: 10 }, { kind: 'certificate', leftMs: -1 }, true],
    [{ kind: 'certificate', leftMs: 10 }, { kind: 'certificate', leftMs: 10 }, false],
  ])('%j of %j: %s', (condition, fact, holds) => {
    const whole = { key: 'k', host: 'nas', about: 'nas', message: 'm', remedy: '', ...fact } as Fact;
    expect(new Evaluations([ruleOf(condition, { addresses: ['nas'] })]).at(0, [whole])).toHaveLength(holds ? 1 : 0);
  });
});
