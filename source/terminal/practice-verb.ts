import { Fault } from '../faults/fault.ts';
import { incident } from '../flows/incident.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { runFlowVerb } from './flow-verb.ts';
import { findServed, openOwn } from './practice-access.ts';
import type { VerbContext } from './verb.ts';

/** `practice serve`, `practice incident [NAME]`; without an action and without a terminal it tells what it is. */
export async function runPracticeVerb(context: VerbContext, action: string | undefined, words: readonly string[]): Promise<number> {
  if (action === 'serve') {
    refuseWords(action, words);
    return serve(context);
  }
  if (action === 'incident') return playIncident(context, words);
  if (action === 'compose') {
    const { runCompose } = await import('../practice/compose/compose.ts');
    return runCompose({
      argv: words,
      folder: process.cwd(),
      environment: context.env,
      say: (line) => void process.stderr.write(`${line}\n`),
      answer: (text) => void process.stdout.write(text),
    });
  }
  throw new Fault({
    code: 'usage.practice',
    message: `practice does not know "${cleanLine(action ?? '')}".`,
    remedy: nameRemedy(action ?? '', ['serve', 'incident'], 'There are: practice, practice serve, practice incident [NAME].'),
  });
}

function refuseWords(action: string, words: readonly string[]): void {
  if (words.length === 0) return;
  throw new Fault({ code: 'usage.words', message: `practice ${action} takes no further words.`, remedy: `quarterdeck practice ${action}` });
}

/** For who has no terminal to look around in. */
export function describePractice({ output }: VerbContext): number {
  for (const line of [
    'The practice stack is a container engine with a dozen components that live in memory: logs, health, a secrets manager that really seals. Nothing of it touches this machine.',
    '',
    'In a terminal "quarterdeck practice" opens the console on it.',
    'quarterdeck practice serve [--json]     runs it until it is stopped, and prints where it is',
    'quarterdeck practice incident [NAME]    lets something go wrong in the one that is served',
    'quarterdeck --practice VERB             does it there: quarterdeck --practice status',
  ])
    output.line(line);
  return 0;
}

async function serve({ output, options, signal, basePaths }: VerbContext): Promise<number> {
  const other = await findServed(basePaths, signal);
  if (other) {
    throw new Fault({
      code: 'failed.practiceServed',
      message: `A practice stack is served already: ${other.facts.engine}`,
      remedy: 'Use that one: verbs with --practice find it. It ends with the process that serves it.',
    });
  }
  const own = await openOwn(basePaths);
  try {
    await own.publish();
    const { facts } = own;
    // Key shares and a token: all of them practice, and what the practice is for.
    if (options.json) output.json(facts);
    else {
      output.line(`The practice stack listens at ${facts.engine}`);
      output.line('Take it for DOCKER_HOST, or say --practice to any verb.');
      output.line('');
      for (const [id, { address, published }] of Object.entries(facts.products))
        output.line(`${id.padEnd(24)} ${published.padEnd(28)} ${address}`);
      output.line('');
      output.line(`Key shares of the secrets manager, of which ${facts.threshold} unseal it:`);
      for (const share of facts.shares) output.line(`  ${share}`);
      output.line(`Its root token: ${facts.rootToken}`);
      output.line(`Incidents: ${facts.incidents.map(({ name }) => name).join(', ')}`);
      output.line('');
      output.line('It runs until it is stopped with Ctrl-C.');
    }
    await output.flushed();
    await new Promise<void>((resolve) => {
      // A pending promise keeps no process alive; its sockets do.
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return 0;
  } finally {
    await own.close();
  }
}

async function playIncident(context: VerbContext, words: readonly string[]): Promise<number> {
  const { practice, output, options } = context;
  if (words.length === 0) {
    const incidents = practice?.facts.incidents ?? [];
    if (options.json) output.json({ schema: 1, incidents });
    else {
      const width = Math.max(...incidents.map(({ name }) => name.length));
      for (const { name, summary } of incidents) output.line(`${name.padEnd(width)}  ${summary}`);
      output.line(`${'calm'.padEnd(width)}  Ends whatever goes on.`);
    }
    return 0;
  }
  if (!practice?.served) {
    throw new Fault({
      code: 'unreachable.practice',
      message: 'No practice stack is served here, so nobody would see an incident.',
      remedy: 'Start one with quarterdeck practice serve; in the console of quarterdeck practice, : finds incidents.',
    });
  }
  return runFlowVerb(context, incident, words, {});
}
