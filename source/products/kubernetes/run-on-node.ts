import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { cleanLine } from '../../text/clean.ts';
import type { ClusterNode } from './client/cluster-facts.ts';
import { logLocation } from './client/distribution.ts';
import type { NodeCommands } from './client/node-commands.ts';
import { failureText } from './client/node-exec.ts';
import { actOn, type ClusterChecklist } from './cluster-checklist.ts';

const commandsLimitMs = 1_800_000;

interface NodeStep {
  what: string;
  commands: NodeCommands;
  /** Checks whether the commands have taken effect. */
  seen: () => Promise<boolean>;
  destroys?: readonly string[];
}

const commandText = ({ text }: NodeCommands): string => text.join(' && ');
const commandList = (heading: string, { text }: NodeCommands) => [heading, ...text.map((line) => `  ${line}`)].join('\n');

export async function runCommands(checklist: ClusterChecklist, node: ClusterNode, step: NodeStep): Promise<void> {
  const { session, nodeExecs } = checklist;
  const { what, commands, seen, destroys } = step;
  const where = checklist.facts.distribution.kind === 'talos' ? '' : `on ${node.name}, `;
  const nodeExec = commands.hand === undefined && !checklist.hand ? await nodeExecs.to(node) : undefined;
  if (!nodeExec) return runByHand(checklist, node, step);
  if (!session.dryRun && !(await seen())) session.show({ kind: 'text', text: commandList(`Runs ${where}${nodeExec.shown}:`, commands) });
  await actOn(checklist, what, {
    right: destroys ? 'destroy' : 'operate',
    title: what,
    request: `${where}${nodeExec.shown}: ${commandText(commands)}`,
    ...(destroys && { consequences: destroys }),
    limitMs: commandsLimitMs,
    done: seen,
    run: async (grant) => {
      for (const [index, words] of commands.argv.entries()) {
        const command = cleanLine(words.join(' '));
        session.progress({ id: 'command', label: `${node.name}: ${command}`, fraction: index / commands.argv.length });
        const outcome = await nodeExec.run(grant, words);
        for (const line of lastLines(outcome.stdout)) session.progress({ id: 'command', label: line, output: true });
        if (outcome.exitCode === 0) continue;
        const remedy = `Fix the problem on ${node.name}, then resume; completed steps are kept.`;
        throw new Fault('failed.node', failureText(`${command} on ${node.name}`, outcome), remedy);
      }
    },
  });
  session.progress({ id: 'command', label: node.name, done: true });
}

async function runByHand(checklist: ClusterChecklist, node: ClusterNode, { what, commands, seen }: NodeStep): Promise<void> {
  const { session, nodeExecs } = checklist;
  if (await seen()) return;
  const { kind, managed } = checklist.facts.distribution;
  const why = commands.hand ?? (checklist.hand ? '--hand' : nodeExecs.why(node));
  const target = managed ? 'with the tools of the provider' : kind === 'talos' ? 'where talosctl is installed' : `on ${node.name} as root`;
  const heading = `Run manually ${target} (${why}):`;
  session.show({ kind: 'text', text: commandList(heading, commands) });
  if (session.dryRun) return;
  const answer = await askChoice(session, {
    id: `ran ${what}`,
    label: `Confirm that the commands were run${kind === 'talos' || managed ? '' : ` on ${node.name}`}`,
    help: commandText(commands),
    choices: { done: ['Done, continue', 'the result is checked'], leave: 'Pause' },
    initial: 'done',
    fresh: true,
  });
  if (answer === 'leave') throw new Fault('interrupted.cancelled', `Paused before this step: ${what}.`, 'Run the command again to resume.');
}

const lastLines = (text: string): string[] => text.trim().split('\n').slice(-3).map(cleanLine).filter(Boolean);

/** Waits until `look` returns no reason to wait. While its API server restarts, a cluster does not respond. Throws `failed.node`. */
export async function untilSeen(
  checklist: ClusterChecklist,
  { controlPlane }: { controlPlane: boolean },
  label: string,
  look: () => Promise<string | undefined>,
): Promise<void> {
  const { session, pace } = checklist;
  if (session.dryRun) return;
  const endMs = performance.now() + pace.backMs;
  try {
    for (;;) {
      const waiting = await look().catch((thrown: unknown) => {
        session.signal.throwIfAborted();
        if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable') throw thrown;
        return 'the cluster is not responding';
      });
      if (waiting === undefined) return;
      session.progress({ id: 'wait', label: `${label}: ${waiting}` });
      if (performance.now() > endMs) {
        const remedy = `Check the log (${logLocation(checklist.facts.distribution, controlPlane)}), then resume.`;
        throw new Fault('failed.node', `${label}: ${waiting} (waited ${Math.round(pace.backMs / 60_000)} minutes).`, remedy);
      }
      await pauseFor(pace.lookMs, session.signal);
    }
  } finally {
    session.progress({ id: 'wait', label, done: true });
  }
}
