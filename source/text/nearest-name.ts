import { distance } from 'fastest-levenshtein';

/** The name that was most likely meant, or undefined when none is near enough to suggest. */
export function nearestName(written: string, known: Iterable<string>): string | undefined {
  const wanted = written.toLowerCase();
  let best: { name: string; steps: number } | undefined;
  for (const name of known) {
    const candidate = name.toLowerCase();
    const swapped = candidate !== wanted && lettersOf(candidate) === lettersOf(wanted);
    const steps = swapped ? 1 : distance(wanted, candidate);
    if (best === undefined || steps < best.steps) best = { name, steps };
  }
  const tolerance = Math.max(1, Math.floor(wanted.length / 3));
  return best !== undefined && best.steps <= tolerance ? best.name : undefined;
}

function lettersOf(name: string): string {
  return [...name].sort().join('');
}

/** `Did you mean "x"?`, or the names there are, or what to do when there are none. */
export function nameRemedy(written: string, known: Iterable<string>, whenNone: string): string {
  const names = [...known];
  const near = nearestName(written, names);
  if (near !== undefined) return `Did you mean "${near}"?`;
  if (names.length === 0) return whenNone;
  const shown = names.slice(0, 12).join(', ');
  return `Use one of: ${shown}${names.length > 12 ? ', ...' : ''}.`;
}
