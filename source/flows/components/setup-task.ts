import { Fault } from '../../faults/fault.ts';
import type { SetupTaskView } from '../../fleet/model.ts';
import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { confirmSetupTask, notDeployed } from '../../stack/apply/confirm-setup-task.ts';
import type { Procedure } from '../flow.ts';
import { componentOf } from './service-targets.ts';

const byHand = (task: SetupTaskView) => task.by === 'hand';

export const tasks: Procedure = async (session, input, context) => {
  const { key } = componentOf(input);
  // Records and probe results are available only a moment after the containers are known.
  const { components } = await context.fleet.settle(session.signal, { complete: true });
  const component = components.find((candidate) => candidate.key === key) ?? componentOf(input);
  const [wanted, more] = input.words;
  if (more !== undefined) {
    throw new Fault('usage.setupTask', 'tasks confirms one setup task at a time.', `Its ids: quarterdeck status ${component.id}`);
  }
  if (!component.deployed) throw notDeployed(component.id);
  const left = setupTasksLeft(component).filter(byHand);
  const id = wanted ?? (await chosen());
  const meant = component.setupTasks.find((candidate) => candidate.id === id);
  if (!meant) throw new Fault('usage.setupTask', `${component.id} has no setup task "${id}".`, idsText(component.id, left));
  if (meant.by === 'observed') throw observedTask(meant);
  if (meant.done) return { message: `${component.id}: "${meant.title}" was confirmed before.`, data: { task: id, left: idsOf(left) } };
  const stackFolder = await context.stackFolderOf(input.engineName, session.signal);
  await session.act({
    id: `task ${id}`,
    right: 'operate',
    request: `note in ${stackFolder} that "${meant.title}" is done for ${component.id}`,
    run: (grant) => {
      const confirmed = { component: component.id, task: id, at: new Date().toISOString() };
      return confirmSetupTask(grant, context.hostOf(input.engineName), stackFolder, confirmed);
    },
  });
  if (session.dryRun) return { message: 'Dry run: nothing was written down.' };
  context.fleet.refresh(component.key);
  const rest = setupTasksLeft(component).filter((other) => other.id !== id);
  const next =
    rest.length === 0 ? 'Nothing is left to do.' : `Left to do: ${rest.map(({ title }) => title.replace(/\.$/, '')).join('; ')}.`;
  return { message: `${component.id}: "${meant.title}" is confirmed. ${next}`, data: { task: id, left: idsOf(rest) } };

  async function chosen(): Promise<string> {
    const [first] = left;
    if (!first) {
      const observed = setupTasksLeft(component)[0];
      if (observed) throw observedTask(observed);
      const remedy = `"quarterdeck status ${component.id}" shows what was.`;
      throw new Fault('usage.setupTask', `Nothing is left to do for ${component.id}.`, remedy);
    }
    if (!session.attended) throw new Fault('usage.setupTask', 'Nobody has said which setup task is done.', idsText(component.id, left));
    return session.ask.choice({
      id: 'task',
      label: `What is done for ${component.id}?`,
      choices: left.map(({ id: value, title, detail }) => ({ value, label: title, ...(detail !== '' && { detail }) })),
    });
  }
};

function idsOf(setupTasks: readonly SetupTaskView[]): string[] {
  return setupTasks.map(({ id }) => id);
}

function idsText(component: string, left: readonly SetupTaskView[]): string {
  if (left.length === 0) return `Nothing of ${component} waits to be confirmed.`;
  return `Say which: quarterdeck tasks ${component} ${idsOf(left).join(' | ')}`;
}

function observedTask({ title }: SetupTaskView): Fault {
  const message = `"${title}" is asked of the product itself, and cannot be confirmed by hand.`;
  return new Fault('refused.observed', message, 'Do it there; it goes from the list by itself, within a minute.');
}
