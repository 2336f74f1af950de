/** A mistake in a configuration. Lines and columns count from 1; `message` never holds a key. */
export interface ConfigProblem {
  level: 'error' | 'warning';
  line: number;
  column: number;
  /** `[Interface] MTU`; empty where no field is meant. */
  field: string;
  message: string;
  remedy: string;
  rule?: string;
}
