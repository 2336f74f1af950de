import { Liquid, LiquidError } from 'liquidjs';

/** What is wrong with a template. Lines and columns count from 1. */
export interface TemplateProblem {
  line: number;
  column: number;
  message: string;
}

const liquid = new Liquid({
  // A misspelt name is to be found, not left out.
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  // There is nothing to include: a template sees the component's settings alone.
  templates: {},
  relativeReference: false,
  trimTagRight: false,
  parseLimit: 500_000,
  renderLimit: 2000,
  memoryLimit: 5_000_000,
});

/** Names that a template takes from outside, or what is wrong with it. */
export function templateVariables(text: string): { names: readonly string[] } | { problem: TemplateProblem } {
  try {
    return { names: liquid.globalVariablesSync(text, { partials: false }) };
  } catch (thrown) {
    return { problem: problemOf(thrown) };
  }
}

/** The filled-in text, or what is wrong with it. Every value is a text; what is not set is empty. */
export function fillFile(text: string, values: Readonly<Record<string, string>>): { text: string } | { problem: TemplateProblem } {
  try {
    return { text: String(liquid.parseAndRenderSync(text, values)) };
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
