/**
 * What an operator types to filter a log: a text, `/a regular expression/`, and either with `!` in front for the lines that do not match. Capitals make
 * it exact (smart case); `\!` and `\/` at the start stand for themselves.
 */
export interface LogFilter {
  /** As it was typed. */
  readonly typed: string;
  passes(text: string): boolean;
  /** Where it matches, for highlighting: start and end, ascending. Empty for a filter with `!`. At most 100. */
  ranges(text: string): readonly (readonly [number, number])[];
}
