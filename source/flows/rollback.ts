import { Fault } from '../faults/fault.ts';
import { notDeployed } from '../stack/confirm-duty.ts';
import { recordPath } from '../stack/read-deployment.ts';
import { readRuns } from '../stack/run-journal.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { cleanLine } from '../text/clean.ts';
import { rollbackAbout } from './about-stack.ts';
import type { Flow } from './flow.ts';
import { goOn } from './recover.ts';
import { componentOf } from './service-targets.ts';

export const rollback: Flow = {
  ...rollbackAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const { signal } = session;
    const host = world.hostOf(input.place);
    const stackFolder = await world.stackFolderOf(input.place, signal);
    const runs = await readRuns(host, stackFolder, signal);
    const last = runs.findLast((run) => touches(run, component.id));
    if (!last) {
      const ours = (await host.files.facts(recordPath(stackFolder, component.id), signal)) !== undefined;
      throw new Fault({
        code: 'refused.nothingToRollBack',
        message: `Nothing is known of an earlier ${component.id}: no change to it was made from here, or it was taken back already.`,
        remedy:
          ours || !component.known ? `A backup can be restored: quarterdeck restore ${component.id}.` : notDeployed(component.id).remedy,
      });
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
      findings: others.length === 0 ? [] : [alsoFinding(others)],
      actions: [
        { id: 'undo', label: 'Take it back' },
        { id: 'cancel', label: 'Leave it' },
      ],
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was changed.' };
    if (choice !== 'undo') {
      throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was changed.', remedy: 'Start it again whenever you like.' });
    }
    await goOn(session, world, input.place, last, 'undo');
    return {
      message: `${changed.join(', ')}: as before the change of ${at}.`,
      data: { component: component.id, host: input.place, run: transaction.run },
    };
  },
};

function alsoFinding(others: readonly string[]) {
  return {
    id: 'changed-together',
    level: 'warning' as const,
    message: `${others.join(', ')} ${others.length === 1 ? 'was changed together with it, and goes' : 'were changed together with it, and go'} back too.`,
    advice: 'To change this one alone, deploy it with the values that it had.',
  };
}

function touches({ state, transaction }: RunOnHost, id: string): boolean {
  if (state === 'undone' || state === 'staged') return false;
  return transaction.plans.some(({ component, kind }) => component === id && kind !== 'remove' && kind !== 'rejoin');
}
