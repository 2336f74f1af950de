/** What can be said of every verb, before it or after it. */
export interface GlobalOptions {
  host?: string;
  json: boolean;
  /** On the practice stack, a served one or one's own. */
  practice: boolean;
  readOnly: boolean;
  colour: boolean;
  verbose: boolean;
  rehearse: boolean;
  /** Confirms what `destroy` asks, except where a name must be typed. */
  yes: boolean;
  /** Answers to what is asked, of a file or, as `-`, piped in. */
  answers?: string;
  /** The name that a production host wants typed. */
  confirm?: string;
}
