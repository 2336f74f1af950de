import { Fault } from '../faults/fault.ts';

/** Runs what asks questions; whoever walks away from one is told what that leaves. */
export async function unlessLeft<T>(asks: () => Promise<T>, left: { message: string; remedy: string }): Promise<T> {
  try {
    return await asks();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'interrupted')
      throw new Fault({ code: 'interrupted.cancelled', ...left, cause: thrown });
    throw thrown;
  }
}
