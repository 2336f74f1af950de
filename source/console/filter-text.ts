import type { FilterTarget, InterfaceState } from './interface-store.ts';
import { characters, type TextField } from './text-field.ts';
import type { Theme } from './theme.ts';

/** A text being typed, with its cursor. In a terminal without colours the cursor is an underscore. */
export function fieldText(theme: Theme, field: TextField, shown: (text: string) => string = (text) => text): string {
  const parts = characters(field.text);
  const before = shown(parts.slice(0, field.cursor).join(''));
  const at = field.cursor < parts.length ? shown(parts[field.cursor] ?? '') : ' ';
  const after = shown(parts.slice(field.cursor + 1).join(''));
  if (theme.depth === 'none') return `${before}_${at === ' ' ? '' : at}${after}`;
  return `${before}${theme.paint('badge', at)}${after}`;
}

/** What a pane's edge says about its filter. */
export function filterText(theme: Theme, state: Pick<InterfaceState, 'filters' | 'editing'>, target: FilterTarget): string {
  if (target === 'logs' && state.editing?.target === 'time') {
    const { field, problem } = state.editing;
    return `${theme.paint('key', 'go to')} ${fieldText(theme, field)}${problem === undefined ? '' : theme.paint('bad', ` ${problem}`)}`;
  }
  // Before a regular expression between slashes a slash would be one too many.
  const lead = theme.paint('key', target === 'logs' ? 'filter ' : '/');
  if (state.editing?.target === target) return `${lead}${fieldText(theme, state.editing.field)}`;
  const filter = state.filters[target];
  return filter === '' ? '' : `${lead}${theme.paint('accent', filter)}`;
}
