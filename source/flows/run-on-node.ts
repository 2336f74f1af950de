import type { ClusterNode } from '../cluster/cluster-facts.ts';
import { whereItLogs } from '../cluster/distribution.ts';
import type { NodeCommands } from '../cluster/node-commands.ts';
import { lastWords } from '../cluster/node-way.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { cleanLine } from '../text/clean.ts';
import { actId, type ClusterWalk, commandText, targetOf } from './cluster-walk.ts';

const commandsLimitMs = 1_800_000;

/** Shows commands, and either runs them or waits for the person who does. `seen` asks the world whether they have had their effect. */
export async function runCommands(
  walk: ClusterWalk,
  node: ClusterNode,
  { what, commands, seen, destroys }: { what: string; commands: NodeCommands; seen: () => Promise<boolean>; destroys?: readonly string[] },
): Promise<void> {
  const { session, ways } = walk;
  const isTalos = walk.facts.distribution.kind === 'talos';
  const way = commands.hand === undefined && !walk.hand ? await ways.to(node) : undefined;
  if (!way) {
    if (await seen()) return;
    const why = commands.hand ?? (walk.hand ? 'as you said' : ways.why(node));
    session.show({
      kind: 'text',
      text: [
        `To be run ${isTalos ? 'where talosctl is' : `on ${node.name}, as root`} (by hand: ${why}):`,
        ...commands.text.map((line) => `  ${line}`),
      ].join('\n'),
    });
    if (session.rehearsing) return;
    const answer = await session.ask.choice({
      id: `ran ${what}`,
      label: isTalos ? 'Have they been run?' : `Have they been run on ${node.name}?`,
      help: commandText(commands),
      choices: [
        { value: 'done', label: 'Yes, go on', detail: 'what they did is looked at' },
        { value: 'leave', label: 'Leave it here' },
      ],
      initial: 'done',
      fresh: true,
    });
    if (answer === 'leave')
      throw new Fault({ code: 'interrupted.cancelled', message: `Left before ${what}.`, remedy: 'Go on whenever you like.' });
    return;
  }
  const { argv } = commands;
  if (!session.rehearsing && !(await seen()))
    session.show({
      kind: 'text',
      text: [`Runs ${isTalos ? '' : `on ${node.name}, `}${way.shown}:`, ...commands.text.map((line) => `  ${line}`)].join('\n'),
    });
  await session.act({
    id: actId(walk, what),
    right: destroys ? 'destroy' : 'operate',
    title: what,
    request: `${isTalos ? '' : `on ${node.name}, `}${way.shown}: ${commandText(commands)}`,
    target: targetOf(walk),
    ...(destroys && { consequences: destroys }),
    limitMs: commandsLimitMs,
    done: seen,
    run: async (grant) => {
      for (const [index, words] of argv.entries()) {
        session.progress({ id: 'command', label: `${node.name}: ${cleanLine(words.join(' '))}`, fraction: index / argv.length });
        const outcome = await way.run(grant, words);
        for (const line of lastLines(outcome.stdout)) session.progress({ id: 'command', label: line, output: true });
        if (outcome.exitCode !== 0) {
          throw new Fault({
            code: 'failed.node',
            message: `${cleanLine(words.join(' '))} on ${node.name} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`,
            remedy: `Look at it on ${node.name}; what was done stays, and the walk goes on from there.`,
          });
        }
      }
    },
  });
  session.progress({ id: 'command', label: node.name, done: true });
}

const lastLines = (text: string): string[] => text.trim().split('\n').slice(-3).map(cleanLine).filter(Boolean);

/** Waits until `look` says so; a cluster whose API server restarts answers nothing for a while. Throws `failed.node`. */
export async function untilSeen(
  walk: ClusterWalk,
  { controlPlane }: { controlPlane: boolean },
  label: string,
  look: () => Promise<string | undefined>,
): Promise<void> {
  const { session, pace } = walk;
  if (session.rehearsing) return;
  const endMs = performance.now() + pace.backMs;
  let last = '';
  for (;;) {
    try {
      const waiting = await look();
      if (waiting === undefined) break;
      last = waiting;
    } catch (thrown) {
      session.signal.throwIfAborted();
      if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable') throw thrown;
      last = 'the cluster does not answer just now';
    }
    session.progress({ id: 'wait', label: `${label}: ${last}` });
    if (performance.now() > endMs) {
      session.progress({ id: 'wait', label, done: true });
      throw new Fault({
        code: 'failed.node',
        message: `${label}: ${last}, for ${Math.round(pace.backMs / 60_000)} minutes.`,
        remedy: `The node says why (${whereItLogs(walk.facts.distribution, controlPlane)}). The walk goes on from there.`,
      });
    }
    await pauseFor(pace.lookMs, session.signal);
  }
  session.progress({ id: 'wait', label, done: true });
}
