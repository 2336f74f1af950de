import type { NotificationRule } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView, FleetSnapshot } from '../fleet/model.ts';
import { type LogFilter, loadLogFilter } from '../logs/filter.ts';
import type { Logs } from '../logs/store.ts';
import { cleanLine } from '../text/clean.ts';
import { cut } from '../text/width.ts';
import { type Fact, isInScope } from './evaluate.ts';

const longestLine = 300;

interface Followed {
  rule: NotificationRule;
  filter: LogFilter;
  /** Components that the running stream is about. */
  keys: string;
  stop: AbortController;
}

/** Follows the logs that rules are about, from now on, and collects the lines that match. */
export class LogMatches {
  readonly #followed: Followed[];
  #matches = new Map<string, Extract<Fact, { kind: 'log' }>>();

  private constructor(
    followed: Followed[],
    private readonly logs: Logs,
  ) {
    this.#followed = followed;
  }

  /** Throws `config.invalid` for a filter that cannot be used. */
  static async open(rules: readonly NotificationRule[], logs: Logs): Promise<LogMatches> {
    const followed: Followed[] = [];
    for (const rule of rules) {
      if (rule.condition.kind !== 'log') continue;
      const answer = await loadLogFilter(rule.condition.filter);
      if (answer.state === 'problem') {
        const remedy = 'Use a text or a /regular expression/; a leading ! excludes matching lines.';
        throw new Fault('config.invalid', `The filter of the rule ${rule.name} is invalid: ${answer.problem}`, remedy, {
          where: { field: `rules.${rule.name}.log` },
        });
      }
      followed.push({ rule, filter: answer.filter, keys: '', stop: new AbortController() });
    }
    return new LogMatches(followed, logs);
  }

  /** Follows the components that exist now. */
  follow({ components }: FleetSnapshot): void {
    for (const one of this.#followed) {
      const wanted = components.filter(({ id, host }) => isInScope(one.rule, { host, about: id }));
      const keys = wanted.map(({ key }) => key).join('\n');
      if (keys === one.keys) continue;
      one.keys = keys;
      one.stop.abort();
      one.stop = new AbortController();
      if (wanted.length > 0) void this.#read(one, new Map(wanted.map((component) => [component.key, component])), one.stop.signal);
    }
  }

  /** Returns what matched since the last call. */
  take(): readonly Fact[] {
    const taken = [...this.#matches.values()];
    this.#matches = new Map();
    return taken;
  }

  close(): void {
    for (const { stop } of this.#followed) stop.abort();
  }

  async #read({ rule, filter }: Followed, components: ReadonlyMap<string, ComponentView>, signal: AbortSignal): Promise<void> {
    const stream = this.logs.stream({ componentKeys: [...components.keys()], follow: true, sinceMs: Date.now(), signal });
    try {
      for await (const { origin, lines } of stream) {
        for (const { text } of lines) {
          const line = cleanLine(text);
          const component = components.get(origin.component);
          if (component && filter.passes(line)) this.#add(rule, component, line);
        }
      }
    } catch {
      // Aborted, or no log can be read now: the next change of the components starts it again.
    }
  }

  #add({ name }: NotificationRule, { id, key, host }: ComponentView, line: string): void {
    const count = (this.#matches.get(`${name} ${key}`)?.count ?? 0) + 1;
    this.#matches.set(`${name} ${key}`, {
      ...{ kind: 'log', key, host, about: id, component: key, rule: name, count },
      ...{ message: cut(line, longestLine), remedy: `Show its log: quarterdeck logs ${id}` },
    });
  }
}
