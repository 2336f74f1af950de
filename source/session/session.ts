import type { Grant, Right } from '../grants/grant.ts';
import type { Modules } from '../text/module-blocks.ts';
import type { ChecklistItem } from './checklist.ts';

/** One question of a flow. `id` is the step: its key in an answers file and in the journal. */
export interface QuestionBase {
  id: string;
  label: string;
  help?: string;
  /** A secret that is visible only while the question is open. It must be answered by a person; no stored answer is used. */
  reveals?: Pick<ShownSecret, 'label' | 'value'>;
  /** May contain a secret although it is visible while it is typed, such as a command line. It is not written to journal and audit. */
  sensitive?: true;
  /** Prompted for again when a run is resumed: its subject may have changed since. */
  fresh?: true;
  /** Returns the problem, or undefined. */
  check?: (answer: string) => string | undefined;
}
export interface TextQuestion extends QuestionBase {
  kind: 'text' | 'secret' | 'number' | 'duration' | 'address';
  initial?: string;
}
export interface Choice {
  value: string;
  label: string;
  detail?: string;
}
export interface ChoiceQuestion extends QuestionBase {
  kind: 'choice';
  choices: readonly Choice[];
  initial?: string;
  /** The items that the question is about, with the observation of each. Choices `skip:ID` belong to the item with that id. */
  checklist?: { title: string; items: readonly ChecklistItem[] };
}
export interface SeveralQuestion extends QuestionBase {
  kind: 'several';
  choices: readonly Choice[];
  initial?: readonly string[];
}
export type Question = TextQuestion | ChoiceQuestion | SeveralQuestion;

/** One field of a form. `value` is its initial value; `generated` secrets may stay empty. */
export interface FormField {
  /** Unique in the form; the name that `--set` uses. */
  id: string;
  label: string;
  kind: 'text' | 'secret' | 'choice';
  value: string;
  choices?: readonly Choice[];
  required: boolean;
  /** A secret that is generated if nothing is typed. */
  generated?: true;
  /** For a secret: a value exists already and is kept if nothing is typed. */
  kept?: true;
  /** Help: the meaning of the field and the rule it follows, in a sentence or two. */
  help?: string;
  section: string;
  /** Returns the problem, or undefined. Called while the user types: it must return at once. */
  check?: (value: string) => string | undefined;
}

export interface Form {
  id: string;
  title: string;
  fields: readonly FormField[];
  /** Returns the problems between fields (R21), by field. */
  check?: (values: Readonly<Record<string, string>>) => Readonly<Partial<Record<string, string>>>;
}

export interface Review {
  id: string;
  title: string;
  sections: readonly { title: string; lines: readonly ReviewLine[] }[];
  findings: readonly ReviewFinding[];
  /** All of it in one sentence, shown beside the question: `Writes 2 files, fetches 1 image, restarts vault.` */
  summary?: string;
  /** The actions to choose from; Enter selects the first. `blocked`: the reason why it is not available. */
  actions: readonly { id: string; label: string; blocked?: string }[];
}
/** `added` and `removed` are diff lines without their signs: the display marks and cleans them. */
export interface ReviewLine {
  mark?: 'added' | 'removed' | 'same' | 'warning' | 'heading';
  text: string;
}
export interface ReviewFinding {
  id: string;
  level: 'blocking' | 'warning';
  message: string;
  advice: string;
  /** The remedy behind one key; its answer is `remedy:<id of the finding>`. */
  remedy?: string;
}

/** The impact that a confirmation states. `typed` must be typed to confirm (the name of a production host). */
export interface Confirmation {
  id: string;
  /** `Remove container vault-db`. */
  title: string;
  /** The request: `DELETE /containers/vault-db?force=false&v=false`. Missing if the title already states it. */
  request?: string;
  consequences: readonly string[];
  typed?: string;
  /** Enter confirms: the action can be undone. */
  lenient?: true;
}

export type Shown =
  | { kind: 'text'; text: string }
  /** `align` has one entry per column; undefined for the default. */
  | {
      kind: 'table';
      title?: string;
      columns: readonly Uppercase<string>[];
      align?: readonly ('left' | 'right')[];
      rows: readonly (readonly string[])[];
    }
  /** Output of a program inside a container, byte for byte: cleaned on a screen, passed on unchanged to a pipe. */
  | { kind: 'output'; stream: 'stdout' | 'stderr'; bytes: Uint8Array }
  | { kind: 'item'; id: string; title: string; state: 'todo' | 'running' | 'ok' | 'warning' | 'blocked' | 'skipped'; evidence?: string }
  /** A review without a prompt: in a dry run. */
  | { kind: 'review'; review: Review }
  | ShownSecret;

/** It is not in any journal, audit, report or JSON. If the operator's screen is a pipe, `show` throws `refused.pipe`. */
export interface ShownSecret {
  kind: 'secret';
  label: string;
  value: string;
  secondsLeft: number;
  /** May be written to a pipe: the operator allowed it with a separate flag. */
  plain?: true;
  /** Copied to the clipboard, and not shown. */
  copyOnly?: true;
  code?: Modules;
}

export interface Progress {
  id: string;
  label: string;
  /** 0..1, or undefined if the progress cannot be measured. */
  fraction?: number;
  /** The label is a line of a program's output: the last lines are shown while it runs, and if it fails. */
  output?: true;
  done?: boolean;
}

/** The terminal, handed over to a program for as long as it runs: the console suspends itself. */
export interface TerminalLoan {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
}

/** The user interface of a flow: the console, a plain terminal, or unattended use. Small on purpose: flows have no other user interface. */
export interface Operator {
  readonly kind: 'console' | 'terminal' | 'unattended';
  /** Rejects with `interrupted.cancelled` when the operator cancels. */
  ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]>;
  confirm(confirmation: Confirmation, signal: AbortSignal): Promise<boolean>;
  /** Without a user to prompt it returns the initial values if they are valid, and otherwise throws `usage.answer`. */
  fill(form: Form, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Returns the chosen action, `remedy:<finding>` or `cancel`. Unattended: the first action with `--yes`, otherwise throws `refused.*`. */
  review(review: Review, signal: AbortSignal): Promise<string>;
  show(shown: Shown): void;
  progress(progress: Progress): void;
  /** Restores the terminal afterwards, also when `use` fails. Throws `refused.noTerminal` without a terminal. */
  lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T>;
}

/** The target of an action, for the audit and for production hosts. */
export interface ActTarget {
  host: string;
  component?: string;
}

export interface Act<T> {
  /** Unique in the flow's run; the key in the journal. */
  id: string;
  right: Exclude<Right, 'read'>;
  /** Title of the confirmation: `Remove the container vault-db`. Defaults to the request. */
  title?: string;
  /** The request, in words that the operator can check: `POST /containers/vault/stop`. */
  request: string;
  /** Host and component of the flow by default. */
  target?: ActTarget;
  /** The data that will be lost; required for `destroy`, and shown in its confirmation. */
  consequences?: readonly string[];
  /** Runs a command that the operator typed, so its effect is unknown: on a production host it is confirmed like `destroy`. */
  confirmOnProduction?: true;
  done?: () => Promise<boolean>;
  /** Defaults to two minutes; `Infinity` for actions that last until the operator ends them. */
  limitMs?: number;
  run: (grant: Grant) => Promise<T>;
  /** Why the result is a failure although nothing was thrown: a non-zero exit code, a share that the server rejected. */
  failure?: (result: T) => string | undefined;
  /** Restores temporary changes (a service stopped for a copy) once `run` has ended, after a cancel too. Limited to one minute. */
  afterwards?: (grant: Grant) => Promise<void>;
}

export interface Session {
  readonly signal: AbortSignal;
  readonly dryRun: boolean;
  readonly readOnly: boolean;
  /** Whether a user can be prompted. Otherwise the command line must provide everything that a flow needs. */
  readonly attended: boolean;
  ask: {
    text(question: Omit<TextQuestion, 'kind'>): Promise<string>;
    secret(question: Omit<TextQuestion, 'kind'>): Promise<string>;
    number(question: Omit<TextQuestion, 'kind'> & { least?: number; most?: number }): Promise<number>;
    /** Seconds. */
    duration(question: Omit<TextQuestion, 'kind'>): Promise<number>;
    address(question: Omit<TextQuestion, 'kind'>): Promise<string>;
    choice(question: Omit<ChoiceQuestion, 'kind'>): Promise<string>;
    several(question: Omit<SeveralQuestion, 'kind'>): Promise<readonly string[]>;
  };
  /** Prompts for a whole form. Values of secret fields are masked in journal and audit, as those of `ask.secret` are. */
  fill(form: Form): Promise<Readonly<Record<string, string>>>;
  /** Prompts for an action, `remedy:<finding>`, or `cancel`. In a dry run the review is shown, and the answer is `cancel`. */
  review(review: Review): Promise<string>;
  /** Records a value so that a resumed run finds it again: a generated value, or an observation before a change. No secrets. */
  note(step: string, value: string): Promise<void>;
  /** Returns the values recorded under this step before the run was interrupted, oldest first. Empty for a new run. */
  noted(step: string): readonly string[];
  /** Masks a secret that the flow generated or read itself from here on. The output of programs is passed on unchanged. */
  hide(secret: string): void;
  /** Returns a text without the masked secrets, for output that does not go through `show`. */
  withoutSecrets(text: string): string;
  show(shown: Shown): void;
  progress(progress: Progress): void;
  /**
   * The only function that permits changes. Checks read-only, confirmation and production, writes the audit entry before and after, applies
   * the limit, and writes the journal. In a dry run it shows the request and returns `undefined`. Throws `refused.*` if the change is not
   * allowed.
   */
  act<T>(act: Act<T>): Promise<T | undefined>;
  lend: Operator['lend'];
}
