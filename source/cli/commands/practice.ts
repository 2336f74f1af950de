import { once } from 'node:events';
import { findServed, openOwn } from '../../app/practice-access.ts';
import { Fault } from '../../faults/fault.ts';
import { incident } from '../../flows/components/incident.ts';
import { runPracticeCompose } from '../../hosts/practice-programs.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import type { VerbContext } from '../command.ts';
import { runFlowVerb } from './flow.ts';

export async function runPracticeVerb(context: VerbContext, action: string | undefined, words: readonly string[]): Promise<number> {
  if (action === 'serve') {
    if (words.length > 0) throw new Fault('usage.words', '"practice serve" accepts no arguments.', 'Usage: quarterdeck practice serve');
    return serve(context);
  }
  if (action === 'incident') return playIncident(context, words);
  if (action === 'compose') return runPracticeCompose(context.env, words);
  const remedy = nameRemedy(action ?? '', ['serve', 'incident'], 'Use quarterdeck practice [serve | incident [NAME]].');
  throw new Fault('usage.practice', `Unknown practice command "${cleanLine(action ?? '')}".`, remedy);
}

export function describePractice({ output }: VerbContext): number {
  output.lines([
    'The practice stack is a simulated container engine with components from the catalog, in memory only: logs, health checks, a secrets manager that seals and unseals. It does not touch this machine.',
    '',
    'In a terminal, "quarterdeck practice" opens the console on this stack.',
    'quarterdeck practice serve [--json]     runs the stack until it is stopped, and prints its address',
    'quarterdeck practice incident [NAME]    simulates a failure in a served stack',
    'quarterdeck --practice COMMAND          runs a command on the stack: quarterdeck --practice status',
  ]);
  return 0;
}

async function serve({ output, options, signal, basePaths }: VerbContext): Promise<number> {
  const other = await findServed(basePaths, signal);
  if (other) {
    const remedy = 'Use the running stack: commands with --practice connect to it. It stops when its process exits.';
    throw new Fault('failed.practiceServed', `A practice stack is already running: ${other.facts.engine}`, remedy);
  }
  const own = await openOwn(basePaths);
  try {
    await own.publish();
    const { facts } = own;
    // These facts include key shares and a token. They exist only in practice and are needed there.
    if (options.json) output.json(facts);
    else {
      const products = Object.entries(facts.products);
      output.lines([
        `The practice stack listens on ${facts.engine}`,
        'Set DOCKER_HOST to this address, or pass --practice to any command.',
        '',
        ...products.map(([id, { address, published }]) => `${id.padEnd(24)} ${published.padEnd(28)} ${address}`),
        '',
        `Key shares of the secrets manager (${facts.threshold} are required to unseal it):`,
        ...facts.shares.map((share) => `  ${share}`),
        `Root token of the secrets manager: ${facts.rootToken}`,
        `Incidents: ${facts.incidents.map(({ name }) => name).join(', ')}`,
        '',
        'The practice stack runs until you press Ctrl-C.',
      ]);
    }
    await output.flushed();
    // A pending promise keeps no process alive; the sockets do.
    if (!signal.aborted) await once(signal, 'abort');
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
      output.line(`${'calm'.padEnd(width)}  Ends all incidents.`);
    }
    return 0;
  }
  if (!practice?.served) {
    const remedy = 'Start a practice stack: quarterdeck practice serve. In the practice console, press : to find incidents.';
    throw new Fault('unreachable.practice', 'No practice stack is running.', remedy);
  }
  return runFlowVerb(context, incident, words, {});
}
