/** A preflight result about a plan. A value, not an error: all findings are shown together. */
export interface Finding {
  /** Stable: `port-taken:web`, `no-https`. Scripts and tests rely on it. */
  id: string;
  /** `blocking`: the plan cannot be applied. `warning`: it can, once the operator has seen it. */
  level: 'blocking' | 'warning';
  message: string;
  advice: string;
  /** For scripts; not printed. */
  rule?: string;
  /** Who uses a taken port; for code, not printed. */
  owner?: string;
  /** The remedy behind one key, if the problem can be solved in this program. */
  remedy?: Remedy;
}

/**
 * `set` changes the answers and plans again; `run` is a program on the host, shown before it runs; `deploy` opens another component first;
 * `flow` runs another flow, which prompts for what it requires.
 */
export type Remedy =
  | { kind: 'set'; label: string; values: Readonly<Record<string, string>> }
  | { kind: 'run'; label: string; argv: readonly string[] }
  | { kind: 'deploy'; label: string; component: string }
  | { kind: 'flow'; label: string; flow: string; options: Readonly<Record<string, string | boolean>> };

const findingOf =
  (level: Finding['level']) =>
  (id: string, message: string, advice: string, more?: Pick<Finding, 'rule' | 'owner' | 'remedy'>): Finding => ({
    id,
    level,
    message,
    advice,
    ...more,
  });

export const warning = findingOf('warning');
export const blocking = findingOf('blocking');

export const setTo = (
  variable: string | undefined,
  value: string | undefined,
  label = `Set ${variable} to ${value}`,
): Remedy | undefined =>
  variable === undefined || value === undefined ? undefined : { kind: 'set', label, values: { [variable]: value } };

export const deployFirst = (component: string): Remedy => ({ kind: 'deploy', label: `Deploy ${component} first`, component });
