import { Fault, type FaultInit } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import type { EngineKind, PullProgress } from './engine.ts';
import { refusalOf } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { imageNameParts, wholeImageName } from './image-name.ts';
import { JsonLines } from './json-lines.ts';
import { type PullLine, PullSum } from './pull-progress.ts';

/** Before its first word an engine asks the registry, and each mirror before it. */
const registryLimitMs = 3 * 60_000;
/** Between two lines: a large layer is checked and unpacked without a word. */
const silenceLimitMs = 15 * 60_000;

interface PullAnswerLine extends PullLine {
  error?: unknown;
  errorDetail?: { message?: unknown } | null;
}

/**
 * Fetches one image. A failure comes as a status or, once the engine has begun to tell, as a line of the answer.
 * @throws Fault `engine.pull`; `unreachable.engine`
 */
export async function pullImage(
  link: EngineLink,
  reference: string,
  { kind, signal, told }: { kind: EngineKind; signal: AbortSignal; told: (progress: PullProgress) => void },
): Promise<void> {
  const { name, choice } = imageNameParts(reference);
  const answer = await link
    .open('/images/create', { method: 'POST', query: { fromImage: name, tag: choice }, signal, limitMs: registryLimitMs })
    .catch((thrown: unknown) => {
      const refusal = thrown instanceof Fault && thrown.code.startsWith('engine.') ? refusalOf(thrown.cause) : undefined;
      throw refusal ? pullFault(reference, refusal.sentence, thrown) : thrown;
    });
  const sum = new PullSum(kind);
  const lines = new JsonLines();
  let last: string | undefined;
  const tell = (progress: PullProgress) => {
    // Many lines change nothing that is shown.
    const shown = `${progress.fraction?.toFixed(2)} ${progress.text}`;
    if (shown === last) return;
    last = shown;
    told(progress);
  };
  const take = (values: readonly unknown[]) => {
    for (const line of values as PullAnswerLine[]) {
      const failure = line.errorDetail?.message ?? line.error;
      if (failure) throw pullFault(reference, String(failure));
      const progress = sum.take(line);
      if (progress) tell(progress);
    }
  };
  const silence = setTimeout(() => answer.destroy(silentFault(reference)), silenceLimitMs);
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      silence.refresh();
      take(lines.push(chunk));
    }
    take(lines.end());
    tell(sum.end());
  } catch (thrown) {
    throw await link.faultOf(thrown, signal);
  } finally {
    clearTimeout(silence);
    answer.destroy();
  }
}

const unreachable =
  /no such host|lookup |dial tcp|i\/o timeout|connection (refused|reset)|network is unreachable|deadline exceeded|TLS handshake timeout|Client\.Timeout/i;

const remedies: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [/no space left/i, 'Free room on the disk of the engine (quarterdeck prune), then pull again.'],
  [/toomanyrequests|rate limit/i, 'The registry limits how much is pulled: wait, or pull it by hand with an account of your own.'],
  [
    /no matching manifest|no image found in (manifest list|image index)|does not match the (specified|expected) platform/i,
    'There is no such image for this machine: choose another tag.',
  ],
  [/x509|certificate|server gave HTTP response to HTTPS/i, 'Check the certificate of the registry, and the clock of the machine.'],
  [unreachable, 'Check that the machine of the engine reaches the registry: network, DNS, proxy.'],
  [
    /unauthorized|denied|authentication required|requires? .*login/i,
    'Check the name. A private image is pulled by hand, by a user who is logged in at the registry.',
  ],
  [/manifest unknown|not found|unknown: |name unknown|invalid reference/i, 'Check the name and the tag at the registry.'],
];

/** The registry's own reason, as far as the engine passes it on. */
export function pullFault(reference: string, said: string, cause?: unknown): Fault {
  const reason = cleanLine(plainWords(said)).trim().replace(/\.$/, '') || 'the engine does not say why';
  return registryFault('engine.pull', `${cleanLine(wholeImageName(reference))} cannot be pulled: ${reason}.`, reason, cause);
}

/** The registry does not tell what it has. */
export function registryAnswerFault(reference: string, said: string, cause?: unknown): Fault {
  const reason = cleanLine(said).trim().replace(/\.$/, '') || 'the engine does not say why';
  return registryFault(
    unreachable.test(reason) ? 'unreachable.registry' : 'engine.registry',
    `The registry does not say what it has as ${cleanLine(wholeImageName(reference))}: ${reason}.`,
    reason,
    cause,
  );
}

function registryFault(code: FaultInit['code'], message: string, reason: string, cause: unknown): Fault {
  const remedy = remedies.find(([pattern]) => pattern.test(reason))?.[1] ?? "The engine's own log may say more.";
  return new Fault({ code, message, remedy, cause });
}

function silentFault(reference: string): Fault {
  return new Fault({
    code: 'engine.pull',
    message: `${cleanLine(wholeImageName(reference))} cannot be pulled: the engine said nothing for ${silenceLimitMs / 60_000} minutes.`,
    remedy: 'Look at the network and the disk of the engine, then pull again: what is there already is not fetched twice.',
  });
}
