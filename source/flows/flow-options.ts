import { isPort } from '../catalog/field-types.ts';
import { Fault } from '../faults/fault.ts';
import type { Session, ShownSecret } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput } from './flow.ts';

export function optionOf({ options }: Pick<FlowInput, 'options'>, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

export function optionsOf({ options }: Pick<FlowInput, 'options'>, name: string): readonly string[] | undefined {
  const value = options[name];
  return value === undefined ? undefined : [value].flat().map(String);
}

/** Returns the port that a flag sets; undefined without the flag. Throws `usage.port`. */
export function portOption(input: FlowInput, name: string): number | undefined {
  const written = optionOf(input, name);
  if (written === undefined) return undefined;
  if (isPort(written)) return Number(written);
  const message = `--${name} must be a port between 1 and 65535, not "${cleanLine(written)}".`;
  throw new Fault('usage.port', message, `For example: --${name} 8080`);
}

/** Throws `usage.words` for more words than `most`. `takes` states the accepted words: `One device at a time`. */
export function wordsUpTo(most: number, { words }: Pick<FlowInput, 'words'>, { takes, remedy }: { takes: string; remedy: string }) {
  const more = words[most];
  if (more === undefined) return words;
  throw new Fault('usage.words', `Unexpected argument "${cleanLine(more)}". ${takes}.`, remedy);
}

/** Shows a secret as the flags `--plain` and `--copy` say. */
export function showSecret(
  session: Session,
  { options: { plain, copy } }: Pick<FlowInput, 'options'>,
  secret: Pick<ShownSecret, 'label' | 'value' | 'secondsLeft'>,
): void {
  session.show({ kind: 'secret', ...secret, ...(plain === true && { plain }), ...(copy === true && { copyOnly: copy }) });
}
