import { Liquid, LiquidError } from 'liquidjs';

interface TemplateProblem {
  line: number;
  column: number;
  message: string;
}

const liquid = new Liquid({
  // A misspelt name must be an error, not an empty value.
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  // Includes are disabled: a template has access only to the component's settings.
  templates: {},
  relativeReference: false,
  trimTagRight: false,
  parseLimit: 500_000,
  renderLimit: 2000,
  memoryLimit: 5_000_000,
});

export const templateVariables = (text: string) => orProblem(() => ({ names: liquid.globalVariablesSync(text, { partials: false }) }));

/** Unset values are empty texts. */
export const fillFile = (text: string, values: Readonly<Record<string, string>>) =>
  orProblem(() => ({ text: String(liquid.parseAndRenderSync(text, values)) }));

function orProblem<T>(read: () => T): T | { problem: TemplateProblem } {
  try {
    return read();
  } catch (thrown) {
    return { problem: problemOf(thrown) };
  }
}

function problemOf(thrown: unknown): TemplateProblem {
  if (!LiquidError.is(thrown)) return { line: 1, column: 1, message: thrown instanceof Error ? thrown.message : String(thrown) };
  const [line = 1, column = 1] = thrown.token?.getPosition() ?? [];
  const message = (thrown.originalError?.message ?? thrown.message).replace(/, line:\d+, col:\d+$/s, '').split('\n')[0] ?? '';
  return { line, column, message };
}
