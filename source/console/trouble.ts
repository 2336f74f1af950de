import { Fault, messageOf } from '../faults/fault.ts';

export type Trouble = Pick<Fault, 'message' | 'remedy'>;

export function troubleFrom(thrown: unknown, words: string, remedy: string): Trouble {
  return thrown instanceof Fault ? thrown : { message: `${words}: ${messageOf(thrown).replace(/\.?$/, '.')}`, remedy };
}
