import { Fault } from '../faults/fault.ts';
import { refusalOf } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { registryAnswerFault } from './pull.ts';

/** The engine asks the registry for it, and each mirror before it. */
const registryLimitMs = 60_000;

/**
 * The digest that the registry has under a name now. Undefined where a socket proxy forbids the question, and where only a login would open the answer.
 * @throws Fault `engine.registry` with the registry's own reason, `unreachable.registry` where the engine cannot reach it
 */
export async function registryDigestOf(link: EngineLink, reference: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const answer = await link.get<{ Descriptor?: { digest?: unknown } | null }>(`/distribution/${encodeURIComponent(reference)}/json`, {
      signal,
      limitMs: registryLimitMs,
    });
    const digest = answer.Descriptor?.digest;
    return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || !thrown.code.startsWith('engine.')) throw thrown;
    if (thrown.code === 'engine.forbidden' || thrown.code === 'engine.notSupported') return undefined;
    throw registryAnswerFault(reference, refusalOf(thrown.cause)?.sentence ?? thrown.message, thrown);
  }
}
