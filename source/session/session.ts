import type { Grant, Right } from '../grants/grant.ts';
import type { Modules } from '../text/module-blocks.ts';
import type { ChecklistItem } from './checklist.ts';

/** One question of a flow. `id` is the step: the key in an answers file and in the journal. */
export interface QuestionBase {
  id: string;
  label: string;
  /** One more sentence, shown with the question. */
  help?: string;
  /** A secret that is seen for as long as the question stands, and nowhere afterwards. A person answers it, nothing that was written before. */
  reveals?: Pick<ShownSecret, 'label' | 'value'>;
  /** May hold a secret although it is seen while it is typed: a command line. Kept out of journal and audit. */
  sensitive?: true;
  /** Is asked again when a run is gone on with: what it is about may have changed since. */
  fresh?: true;
  /** Returns what is wrong, or undefined. */
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
  /** What the question is about: items with what was seen of each. Choices `skip:ID` belong to the item of that id. */
  checklist?: { title: string; items: readonly ChecklistItem[] };
}
export interface SeveralQuestion extends QuestionBase {
  kind: 'several';
  choices: readonly Choice[];
  initial?: readonly string[];
}
export type Question = TextQuestion | ChoiceQuestion | SeveralQuestion;

/** One line of a form. `value` stands in it at first; `generated` secrets may stay empty. */
export interface FormField {
  /** Unique in the form; what `--set` names. */
  id: string;
  label: string;
  kind: 'text' | 'secret' | 'choice';
  value: string;
  choices?: readonly Choice[];
  required: boolean;
  /** A secret that is made up when nothing is typed. */
  generated?: true;
  /** Of a secret: there is one already, and it stays when nothing is typed. */
  kept?: true;
  /** What it means and which rule it follows, a sentence or two. */
  help?: string;
  /** Heading it stands under. */
  section: string;
  /** Returns what is wrong, or undefined. Called while typing: quick, without waiting. */
  check?: (value: string) => string | undefined;
}

/** Several questions on one screen, in any order. */
export interface Form {
  id: string;
  title: string;
  fields: readonly FormField[];
  /** What is wrong between fields (R21), by field. */
  check?: (values: Readonly<Record<string, string>>) => Readonly<Partial<Record<string, string>>>;
}

/** What is about to be done, all of it, to be looked at before it is. */
export interface Review {
  id: string;
  title: string;
  sections: readonly { title: string; lines: readonly ReviewLine[] }[];
  findings: readonly ReviewFinding[];
  /** All of it in one sentence, for beside the question: `Writes 2 files, fetches 1 image, restarts vault.` */
  summary?: string;
  /** The ways on, first the one that Enter takes. `blocked`: why it cannot be taken now. */
  actions: readonly { id: string; label: string; blocked?: string }[];
}
/** `added` and `removed` are lines of a diff, without its signs: whoever shows it marks and cleans it. */
export interface ReviewLine {
  mark?: 'added' | 'removed' | 'same' | 'warning' | 'heading';
  text: string;
}
export interface ReviewFinding {
  id: string;
  level: 'blocking' | 'warning';
  message: string;
  advice: string;
  rule?: string;
  /** What one key does about it; answered as `remedy:<id of the finding>`. */
  remedy?: string;
}

/** What harm a confirmation is about. `typed` must be typed to confirm (a production host's name). */
export interface Confirmation {
  id: string;
  /** `Remove container vault-db`. */
  title: string;
  /** What is sent: `DELETE /containers/vault-db?force=false&v=false`. Missing where the title says it already. */
  request?: string;
  /** What will be lost, a line each. */
  consequences: readonly string[];
  typed?: string;
  /** Enter confirms: what it does can be undone. */
  lenient?: true;
}

export type Shown =
  | { kind: 'text'; text: string }
  /** `align` goes with the columns; left where it says nothing. */
  | {
      kind: 'table';
      title?: string;
      columns: readonly string[];
      align?: readonly ('left' | 'right')[];
      rows: readonly (readonly string[])[];
    }
  /** What a program inside a container wrote, byte for byte: cleaned for a screen, passed on unchanged to a pipe. */
  | { kind: 'output'; stream: 'stdout' | 'stderr'; bytes: Uint8Array }
  | { kind: 'item'; id: string; title: string; state: 'todo' | 'running' | 'ok' | 'warning' | 'blocked' | 'skipped'; evidence?: string }
  /** A review that nobody is asked about: in a rehearsal. */
  | { kind: 'review'; review: Review }
  | ShownSecret;

/**
 * A secret that the operator asked to see. It goes onto the screen of whoever asked and is in no journal, audit, report or JSON. Where that screen is
 * a pipe, `show` throws `refused.pipe`.
 */
export interface ShownSecret {
  kind: 'secret';
  label: string;
  value: string;
  /** After so many seconds the console masks it again. */
  secondsLeft: number;
  /** It may go into a pipe: the operator said so, with a flag of its own. */
  plain?: true;
  /** Is put on the clipboard, and not shown. */
  copyOnly?: true;
  /** A QR code of it (`flows/qr-code.ts`). */
  code?: Modules;
}

export interface Progress {
  id: string;
  label: string;
  /** 0..1, or undefined when only the motion can be shown. */
  fraction?: number;
  /** The label is a line that a program wrote: the last ones are seen while it goes on, and where it fails. */
  output?: true;
  done?: boolean;
}

/** A terminal handed to a program for as long as it runs: the console steps aside. */
export interface TerminalLoan {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
}

/** Who is in front: the console, a plain terminal, or nobody. Small on purpose: this is all a flow's user interface. */
export interface Operator {
  readonly kind: 'console' | 'terminal' | 'unattended';
  /** Rejects with `interrupted.cancelled` when the operator walks away. */
  ask(question: Question, signal: AbortSignal): Promise<string | readonly string[]>;
  confirm(confirmation: Confirmation, signal: AbortSignal): Promise<boolean>;
  /** All values of the form by field. One that has nobody to ask answers with what stands in it, where that will do, and throws `usage.answer` where not. */
  fill(form: Form, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** The id of the action taken, `remedy:<finding>`, or `cancel` from who walks away. One that has nobody to ask takes the first action where `--yes` was given, and throws `refused.*` otherwise. */
  review(review: Review, signal: AbortSignal): Promise<string>;
  show(shown: Shown): void;
  progress(progress: Progress): void;
  /** Gives the real terminal to `use` and takes it back, also when `use` fails. Throws `refused.noTerminal` without one. */
  lend<T>(use: (terminal: TerminalLoan) => Promise<T>): Promise<T>;
}

/** One thing in a flow that changes something. */
export interface Act<T> {
  /** Unique in the flow's run; the key in the journal. */
  id: string;
  right: Exclude<Right, 'read'>;
  /** Heads the confirmation: `Remove the container vault-db`. Missing: the request does. */
  title?: string;
  /** What is sent, in words the operator can check: `POST /containers/vault/stop`. */
  request: string;
  /** Whom it is about, for the audit and for production hosts. */
  target: { host: string; component?: string };
  /** What is lost; `destroy` must have it, and is confirmed with it. */
  consequences?: readonly string[];
  /** Runs what the operator typed, so its effect is not known: on a production host it is confirmed like `destroy`. */
  confirmOnProduction?: true;
  /** Asks the world whether this already happened. */
  done?: () => Promise<boolean>;
  /** Default two minutes; `Infinity` for what lasts as long as the operator wants. */
  limitMs?: number;
  run: (grant: Grant) => Promise<T>;
  /** Why what came of it is a failure although nothing was thrown: a program that ended badly, a share that the server rejected. Undefined where it is none. */
  failure?: (result: T) => string | undefined;
  /** Puts back what was only borrowed (a service that was stopped for a copy), once `run` has ended, however it ended: after a cancel too. Has a minute of its own. */
  afterwards?: (grant: Grant) => Promise<void>;
}

/** What a flow is given. */
export interface Session {
  readonly signal: AbortSignal;
  readonly rehearsing: boolean;
  readonly readOnly: boolean;
  /** Is there somebody to ask? Otherwise a flow needs all it wants to know from the command line. */
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
  /** Asks for a whole form. Values of secret fields are masked in journal and audit, as those of `ask.secret` are. */
  fill(form: Form): Promise<Readonly<Record<string, string>>>;
  /** Shows what is about to be done and asks how to go on: an action, `remedy:<finding>`, or `cancel`. In a rehearsal it is shown, and the answer is `cancel`. */
  review(review: Review): Promise<string>;
  /** Kept for the case that the run breaks off, so that it is found again when it is gone on with: what was made up, or seen before a change. No secrets. */
  note(step: string, value: string): Promise<void>;
  /** What was noted under this step before the run broke off, the oldest first. Empty in one that begins. */
  noted(step: string): readonly string[];
  /** What is shown, thrown or written down from here on has this hidden: a secret that the flow made or read by itself. A program's own output is passed on as it is. */
  hide(secret: string): void;
  /** A text without what was hidden: for what leaves in another way than over `show`. */
  withoutSecrets(text: string): string;
  show(shown: Shown): void;
  progress(progress: Progress): void;
  /**
   * The one door for changes. Checks read-only, confirmation and production, writes the audit before and after, applies the
   * limit, journals. In a rehearsal it shows the request and answers `undefined`. Throws `refused.*` when it may not.
   */
  act<T>(act: Act<T>): Promise<T | undefined>;
  lend: Operator['lend'];
}
