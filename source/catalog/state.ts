/** Decides colour and glyph, which always appear with a label. `unknown`: the engine is unreachable. */
export type Severity = 'ok' | 'busy' | 'warning' | 'error' | 'off' | 'unknown';

/** A state. Code compares the id, people read the label: `sealed` and `sealed 0/3`. */
export interface State {
  id: string;
  label: string;
  severity: Severity;
}

/** Columns for a label in lists. The catalog has no longer one; those with filled-in parts can be cut. */
export const labelColumns = 19;

/** The label in kebab case, without filled-in parts and numbers: `sealed {n}/{m}` is `sealed`. Empty for a label without fixed text. */
export function stateId(label: string): string {
  const words = label.replaceAll(/\{[^}]*\}/g, ' ').toLowerCase();
  return words.replaceAll(/[^a-z]+/g, '-').replaceAll(/^-|-$/g, '');
}

/** The name of states with one id in a count: their label, or the words of the id where labels differ or have numbers. */
export function countedName(states: readonly State[]): string {
  const [{ id, label } = { id: '', label: '' }] = states;
  return /\d/.test(label) || states.some((state) => state.label !== label) ? id.replaceAll('-', ' ') : label;
}
