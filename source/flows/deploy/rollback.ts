import { Fault } from '../../faults/fault.ts';
import type { ReviewFinding } from '../../session/session.ts';
import { notDeployed } from '../../stack/apply/confirm-setup-task.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';
import type { RunOnHost } from '../../stack/apply/transaction.ts';
import { recordPath } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { componentOf } from '../components/service-targets.ts';
import { EngineScope } from '../engine-scope.ts';
import type { Procedure } from '../flow.ts';
import { cancelled } from '../prompt-cancelled.ts';
import { goOn } from './recover.ts';

export const rollback: Procedure = async (session, input, context) => {
  const scope = new EngineScope(session, context, input.engineName);
  const { host } = scope;
  const component = componentOf(input);
  const { signal } = session;
  const stackFolder = await scope.stackFolder();
  const runs = await readRuns(host, stackFolder, signal);
  const last = runs.findLast((run) => touches(run, component.id));
  if (!last) {
    const ours = (await host.files.facts(recordPath(stackFolder, component.id), signal)) !== undefined;
    throw new Fault(
      'refused.nothingToRollBack',
      `Nothing is known of an earlier ${component.id}: no change to it was made from here, or it was taken back already.`,
      ours || !component.known ? `A backup can be restored: quarterdeck restore ${component.id}.` : notDeployed(component.id).remedy,
    );
  }
  const { transaction } = last;
  const at = `${cleanLine(transaction.startedAt).slice(0, 16).replace('T', ' ')} UTC`;
  const changed = transaction.plans.filter(({ kind }) => kind !== 'rejoin').map((plan) => plan.component);
  const others = changed.filter((id) => id !== component.id);
  const choice = await session.review({
    id: 'rollback',
    title: `Take back the change of ${at} by ${transaction.by}`,
    sections: transaction.plans.map((plan) => ({
      title: `${plan.component}: ${plan.kind === 'rejoin' ? 'joins again' : plan.kind}`,
      lines:
        plan.kind === 'rejoin'
          ? [{ text: `is made again as it is, in the network of ${plan.joins?.gateway ?? 'the other'}` }]
          : [
              ...plan.services
                .filter(({ change }) => change !== 'keep')
                .map(({ name, image, before }) => ({
                  text: before
                    ? `${name} goes back from ${image} to ${before.reference} (${before.id.replace('sha256:', '').slice(0, 12)})`
                    : `${name} goes: it was not there before`,
                })),
              ...plan.files
                .filter((file) => file.before !== file.after)
                .map(({ path, before }) => ({ text: `${path} ${before === undefined ? 'is deleted' : 'is put back'}` })),
              { text: 'Volumes stay as they are.' },
            ],
    })),
    findings: others.length === 0 ? [] : [changedTogether(others)],
    actions: [
      { id: 'undo', label: 'Take it back' },
      { id: 'cancel', label: 'Leave it' },
    ],
  });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.' };
  if (choice !== 'undo') throw cancelled('Nothing was changed.');
  await goOn(scope, last, 'undo');
  return {
    message: `${changed.join(', ')}: as before the change of ${at}.`,
    data: { component: component.id, host: input.engineName, run: transaction.run },
  };
};

function changedTogether(others: readonly string[]): ReviewFinding {
  const words = others.length === 1 ? 'was changed together with it, and goes' : 'were changed together with it, and go';
  const advice = 'To change this one alone, deploy it with the values that it had.';
  return { id: 'changed-together', level: 'warning', message: `${others.join(', ')} ${words} back too.`, advice };
}

function touches({ state, transaction }: RunOnHost, id: string): boolean {
  if (state === 'undone' || state === 'staged') return false;
  return transaction.plans.some(({ component, kind }) => component === id && kind !== 'remove' && kind !== 'rejoin');
}
