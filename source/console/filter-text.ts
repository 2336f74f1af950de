import type { FilterTarget, InterfaceState } from './interface-store.ts';
import type { Opened } from './open-screens.ts';
import type { Drawn } from './screen.ts';
import { characters, type TextField } from './text-field.ts';
import type { Theme } from './theme.ts';

export function fieldText(theme: Theme, field: TextField, shown: (text: string) => string = (text) => text): string {
  const parts = characters(field.text);
  const before = shown(parts.slice(0, field.cursor).join(''));
  const at = field.cursor < parts.length ? shown(parts[field.cursor] ?? '') : ' ';
  const after = shown(parts.slice(field.cursor + 1).join(''));
  if (theme.depth === 'none') return `${before}_${at === ' ' ? '' : at}${after}`;
  return `${before}${theme.paint('badge', at)}${after}`;
}

export function filterText(theme: Theme, state: Pick<InterfaceState, 'filters' | 'editing'>, target: FilterTarget): string {
  if (target === 'logs' && state.editing?.target === 'time') {
    const { field, problem } = state.editing;
    return `${theme.paint('key', 'go to')} ${fieldText(theme, field)}${problem === undefined ? '' : theme.paint('error', ` ${problem}`)}`;
  }
  // Logs have the word `filter` instead of a slash, because a regular expression begins with a slash itself.
  const lead = theme.paint('key', target === 'logs' ? 'filter ' : '/');
  if (state.editing?.target === target) return `${lead}${fieldText(theme, state.editing.field)}`;
  const filter = state.filters[target];
  return filter === '' ? '' : `${lead}${theme.paint('accent', filter)}`;
}

export function asideOf(theme: Theme, state: InterfaceState, { id, filtered }: Opened['screen'], { aside }: Drawn): string {
  return aside ?? (filtered ? filterText(theme, state, id as FilterTarget) : '');
}
