import type { ComponentView, FleetSnapshot } from '../../../fleet/model.ts';
import type { LogEntry } from '../../../logs/store.ts';
import { cleanLine } from '../../../text/clean.ts';
import type { InterfaceState } from '../../interface-store.ts';
import { rememberedFor } from '../../remembered.ts';
import { namesOf } from '../components/rows.ts';
import type { LogPosition } from './model.ts';

export const logTimes = ['local', 'utc', 'relative', 'off'] as const;
export type LogTimes = (typeof logTimes)[number];

const logScopes = ['component', 'project', 'host'] as const;
export type LogScope = (typeof logScopes)[number];

/** The filter of one log: the typed text, and whether lines that do not match are hidden or matches only highlighted. */
export interface KeptFilter {
  typed: string;
  hides: boolean;
}

export const firstLogs = {
  look: undefined as string | undefined,
  /** Undefined follows the end. */
  at: undefined as LogPosition | undefined,
  /** The position to return to after showing a line in context. */
  before: undefined as LogPosition | undefined,
  /** Top row of the one line that is shown in full; undefined shows the log. */
  whole: undefined as number | undefined,
  /** Marked lines by their identity, `markOf`. */
  marks: new Map() as ReadonlyMap<string, LogEntry>,
  hides: true,
  wrap: false,
  times: 'local' as LogTimes,
  shift: 0,
  raw: false,
};
export type LogsState = typeof firstLogs;

export interface LogSubject {
  componentKeys: readonly string[];
  /** `password-vault`, `3 components: a, b, c`, `project media, 4 components`, `all of nas, 20 components`. */
  title: string;
  name: string;
  /** The key under which its filter is saved. */
  key: string;
}

function subject(components: readonly ComponentView[], title: string, name: string): LogSubject {
  const componentKeys = components.map(({ key }) => key);
  return { componentKeys, title, name, key: componentKeys.join('\n') };
}

function componentsIn(all: FleetSnapshot['components'], scope: LogScope, selected: ComponentView): readonly ComponentView[] {
  if (scope === 'component') return [selected];
  return all.filter((component) => component.host === selected.host && (scope === 'host' || component.project === selected.project));
}

/** Undefined when no component is selected. Returns the same object while nothing changes. */
export function logSubject(
  snapshot: FleetSnapshot,
  { marked, logScope }: Pick<InterfaceState, 'marked' | 'logScope'>,
  selected: ComponentView | undefined,
): LogSubject | undefined {
  return selected && find(snapshot.components, marked, logScope, selected);
}

const find = rememberedFor(
  (all: FleetSnapshot['components'], marked: ReadonlySet<string>, logScope: LogScope, selected: ComponentView): LogSubject => {
    const names = namesOf(all);
    const nameOf = (component: ComponentView) => names.get(component.key) ?? '';
    if (logScope === 'component') {
      const chosen = all.filter(({ key }) => marked.has(key));
      if (chosen.length < 2) {
        const one = chosen[0] ?? selected;
        return subject([one], nameOf(one), one.id);
      }
      return subject(chosen, `${chosen.length} components: ${chosen.map(nameOf).join(', ')}`, 'marked');
    }
    const members = componentsIn(all, logScope, selected);
    const engineName = logScope === 'host' ? selected.host : selected.project;
    const title = cleanLine(logScope === 'host' ? `all of ${engineName}` : `project ${engineName}`);
    return subject(members, `${title}, ${members.length} ${members.length === 1 ? 'component' : 'components'}`, engineName);
  },
);

export function nextScope({ components }: FleetSnapshot, scope: LogScope, selected: ComponentView): LogScope {
  const now = componentsIn(components, scope, selected).length;
  const after = logScopes.slice(logScopes.indexOf(scope) + 1);
  return after.find((candidate) => componentsIn(components, candidate, selected).length > now) ?? 'component';
}
