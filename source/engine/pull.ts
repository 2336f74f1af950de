import { Fault, type FaultCode } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { plainWords } from '../text/program-words.ts';
import type { EngineKind, PullProgress } from './engine.ts';
import { refusalOf } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { imageNameParts, wholeImageName } from './image-name.ts';
import { jsonLinesOf } from './json-lines.ts';
import { type PullLine, PullSum } from './pull-progress.ts';

/** Before its first line, an engine queries the registry, and each mirror before it. */
const registryLimitMs = 3 * 60_000;
const digestLimitMs = 60_000;
/** Between two lines: a large layer is verified and unpacked without output. */
const silenceLimitMs = 15 * 60_000;

interface PullAnswerLine extends PullLine {
  error?: unknown;
  errorDetail?: { message?: unknown } | null;
}

/** A failure comes as a status or, once the engine has begun to report, as a line: Fault `engine.pull`; `unreachable.engine`. */
export async function pullImage(
  link: EngineLink,
  reference: string,
  { kind, signal, reported }: { kind: EngineKind; signal: AbortSignal; reported: (progress: PullProgress) => void },
): Promise<void> {
  const { name, choice } = imageNameParts(reference);
  const answer = await link
    .open('/images/create', { method: 'POST', query: { fromImage: name, tag: choice }, signal, limitMs: registryLimitMs })
    .catch((thrown: unknown) => {
      const refusal = thrown instanceof Fault && thrown.code.startsWith('engine.') ? refusalOf(thrown.cause) : undefined;
      throw refusal ? pullFault(reference, refusal.sentence, thrown) : thrown;
    });
  const sum = new PullSum(kind);
  let last: string | undefined;
  const tell = (progress: PullProgress) => {
    const shown = `${progress.fraction?.toFixed(2)} ${progress.text}`;
    if (shown === last) return;
    last = shown;
    reported(progress);
  };
  const silence = setTimeout(() => answer.destroy(silentFault(reference)), silenceLimitMs);
  try {
    for await (const line of jsonLinesOf(answer) as AsyncIterable<PullAnswerLine>) {
      silence.refresh();
      const failure = line.errorDetail?.message ?? line.error;
      if (failure) throw pullFault(reference, String(failure));
      const progress = sum.take(line);
      if (progress) tell(progress);
    }
    tell(sum.end());
  } catch (thrown) {
    throw await link.faultOf(thrown, signal);
  } finally {
    clearTimeout(silence);
  }
}

const unreachable =
  /no such host|lookup |dial tcp|i\/o timeout|connection (refused|reset)|network is unreachable|deadline exceeded|TLS handshake timeout|Client\.Timeout/i;

const remedies: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [/no space left/i, 'Free space on the disk of the engine (quarterdeck prune), then pull again.'],
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

function pullFault(reference: string, said: string, cause?: unknown): Fault {
  const reason = cleanLine(plainWords(said)).trim().replace(/\.$/, '') || 'the engine does not say why';
  return registryFault('engine.pull', `${cleanLine(wholeImageName(reference))} cannot be pulled: ${reason}.`, reason, cause);
}

function registryAnswerFault(reference: string, said: string, cause?: unknown): Fault {
  const reason = cleanLine(said).trim().replace(/\.$/, '') || 'the engine does not say why';
  return registryFault(
    unreachable.test(reason) ? 'unreachable.registry' : 'engine.registry',
    `The registry does not say what it has as ${cleanLine(wholeImageName(reference))}: ${reason}.`,
    reason,
    cause,
  );
}

function registryFault(code: FaultCode, message: string, reason: string, cause: unknown): Fault {
  const remedy = remedies.find(([pattern]) => pattern.test(reason))?.[1] ?? "The engine's own log may say more.";
  return new Fault(code, message, remedy, { cause });
}

function silentFault(reference: string): Fault {
  return new Fault(
    'engine.pull',
    `${cleanLine(wholeImageName(reference))} cannot be pulled: the engine said nothing for ${silenceLimitMs / 60_000} minutes.`,
    'Look at the network and the disk of the engine, then pull again: what is there already is not fetched twice.',
  );
}

/**
 * The digest of a name in the registry now; undefined if a socket proxy forbids the query, or if it requires a login.
 * @throws Fault `engine.registry` with the registry's own reason, `unreachable.registry` if the engine cannot reach it
 */
export async function registryDigestOf(link: EngineLink, reference: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const path = `/distribution/${encodeURIComponent(reference)}/json`;
    const answer = await link.get<{ Descriptor?: { digest?: unknown } | null }>(path, { signal, limitMs: digestLimitMs });
    const digest = answer.Descriptor?.digest;
    return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || !thrown.code.startsWith('engine.')) throw thrown;
    if (thrown.code === 'engine.forbidden' || thrown.code === 'engine.notSupported') return undefined;
    throw registryAnswerFault(reference, refusalOf(thrown.cause)?.sentence ?? thrown.message, thrown);
  }
}
