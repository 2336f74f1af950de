import type { ComponentView, FleetSnapshot } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { namesOf } from './component-rows.ts';
import { type InterfaceState, type LogScope, logScopes } from './interface-store.ts';

/** Whose logs are looked at. */
export interface LogWhose {
  componentKeys: readonly string[];
  /** `password-vault`, `3 components: a, b, c`, `project media, 4 components`, `all of nas, 20 components`. */
  title: string;
  /** For the name of a file. */
  name: string;
  /** What its filter is kept under. */
  key: string;
}

function whose(components: readonly ComponentView[], title: string, name: string): LogWhose {
  const componentKeys = components.map(({ key }) => key);
  return { componentKeys, title, name, key: componentKeys.join('\n') };
}

/** The components of a scope, in the order of the list. */
export function componentsIn(snapshot: FleetSnapshot, scope: LogScope, selected: ComponentView): readonly ComponentView[] {
  if (scope === 'component') return [selected];
  return snapshot.components.filter(
    (component) => component.host === selected.host && (scope === 'host' || component.project === selected.project),
  );
}

const cached = new WeakMap<readonly ComponentView[], { given: readonly unknown[]; found: LogWhose }>();

/** Undefined when no component is selected. The same object while nothing changes. */
export function logWhose(
  snapshot: FleetSnapshot,
  state: Pick<InterfaceState, 'marked' | 'logScope'>,
  selected: ComponentView | undefined,
): LogWhose | undefined {
  if (!selected) return undefined;
  const given = [state.marked, state.logScope, selected.key];
  const known = cached.get(snapshot.components);
  if (known?.given.every((value, at) => value === given[at])) return known.found;
  const found = find(snapshot, state, selected);
  cached.set(snapshot.components, { given, found });
  return found;
}

function find(
  snapshot: FleetSnapshot,
  { marked, logScope }: Pick<InterfaceState, 'marked' | 'logScope'>,
  selected: ComponentView,
): LogWhose {
  const names = namesOf(snapshot.components);
  const nameOf = (component: ComponentView) => names.get(component.key) ?? '';
  if (logScope === 'component') {
    const chosen = snapshot.components.filter(({ key }) => marked.has(key));
    if (chosen.length < 2) {
      const one = chosen[0] ?? selected;
      return whose([one], nameOf(one), one.id);
    }
    return whose(chosen, `${chosen.length} components: ${chosen.map(nameOf).join(', ')}`, 'marked');
  }
  const members = componentsIn(snapshot, logScope, selected);
  const place = logScope === 'host' ? selected.host : selected.project;
  const title = cleanLine(logScope === 'host' ? `all of ${place}` : `project ${place}`);
  return whose(members, `${title}, ${members.length} ${members.length === 1 ? 'component' : 'components'}`, place);
}

/** The next scope that shows something else. */
export function nextScope(snapshot: FleetSnapshot, scope: LogScope, selected: ComponentView): LogScope {
  const now = componentsIn(snapshot, scope, selected).length;
  const after = logScopes.slice(logScopes.indexOf(scope) + 1);
  return after.find((candidate) => componentsIn(snapshot, candidate, selected).length > now) ?? 'component';
}
