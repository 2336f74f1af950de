import { distance } from 'fastest-levenshtein';

export function nearestName(written: string, known: Iterable<string>): string | undefined {
  const wanted = written.toLowerCase();
  const names = [...known];
  const tolerance = Math.max(1, Math.floor(wanted.length / 3));
  const whole = nearest(names, (candidate) => stepsBetween(wanted, candidate));
  if (whole !== undefined && whole.steps <= tolerance) return whole.name;
  if (wanted.length < 4) return undefined;
  // `vault` or `pasword` means password-vault.
  const part = nearest(names, (candidate) =>
    Math.min(...[candidate.slice(0, wanted.length), ...candidate.split(/[^a-z0-9]+/)].map((piece) => stepsBetween(wanted, piece))),
  );
  return part !== undefined && part.steps <= Math.floor(wanted.length / 4) ? part.name : undefined;
}

function nearest(names: readonly string[], stepsTo: (candidate: string) => number): { name: string; steps: number } | undefined {
  let best: { name: string; steps: number } | undefined;
  for (const name of names) {
    const steps = stepsTo(name.toLowerCase());
    if (best === undefined || steps < best.steps) best = { name, steps };
  }
  return best;
}

/** Two swapped letters count as one step. */
function stepsBetween(wanted: string, candidate: string): number {
  return candidate !== wanted && lettersOf(candidate) === lettersOf(wanted) ? 1 : distance(wanted, candidate);
}

function lettersOf(name: string): string {
  return [...name].sort().join('');
}

/** Returns `Did you mean "x"?`, or another remedy if the existing names are no help. */
export function nearRemedy(written: string, known: Iterable<string>, otherwise: string): string {
  const near = nearestName(written, known);
  return near === undefined ? otherwise : `Did you mean "${near}"?`;
}

/** Returns `Did you mean "x"?`, or the existing names, or a remedy if there are none. */
export function nameRemedy(written: string, known: Iterable<string>, whenNone: string): string {
  const names = [...known];
  const more = names.length > 12 ? ` and ${names.length - 12} more` : '';
  return nearRemedy(written, names, names.length === 0 ? whenNone : `Use one of: ${names.slice(0, 12).join(', ')}${more}.`);
}
