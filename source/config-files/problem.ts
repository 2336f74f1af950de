import type { TextPosition } from '../text/position.ts';

/** A problem in a configuration. Lines and columns count from 1; `message` never contains a key. */
export interface ConfigProblem {
  level: 'error' | 'warning';
  line: number;
  column: number;
  /** `[Interface] MTU`; empty if no field is meant. */
  field: string;
  message: string;
  remedy: string;
  /** Id of the broken rule, for scripts. */
  rule?: string;
}

export function errorAt({ line, column }: TextPosition, message: string, remedy: string, field = ''): ConfigProblem {
  return { level: 'error', line, column, field, message, remedy };
}
