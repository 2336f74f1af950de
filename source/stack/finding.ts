/** What preflight says of a plan. A value, not an error: all of them are shown together. */
export interface Finding {
  /** Stable: `port-taken:web`, `no-https`. Scripts and tests rely on it. */
  id: string;
  /** `blocking`: cannot be applied. `warning`: can, once seen. */
  level: 'blocking' | 'warning';
  /** One sentence: what is wrong. */
  message: string;
  /** What the operator can do. */
  advice: string;
  rule?: string;
  /** What one key does about it, where something can be done from here. */
  remedy?: Remedy;
}

/** `set` changes the answers and plans anew; `run` is a program on the host, shown before it runs; `deploy` goes to another component first; `flow` runs another procedure, which asks what it has to know. */
export type Remedy =
  | { kind: 'set'; label: string; values: Readonly<Record<string, string>>; site?: string }
  | { kind: 'run'; label: string; argv: readonly string[] }
  | { kind: 'deploy'; label: string; component: string }
  | { kind: 'flow'; label: string; flow: string; options: Readonly<Record<string, string | boolean>> };
