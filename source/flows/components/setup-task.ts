import { Fault } from '../../faults/fault.ts';
import type { ComponentView, SetupTaskView } from '../../fleet/model.ts';
import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import type { Session } from '../../session/session.ts';
import { confirmSetupTask, notDeployed } from '../../stack/apply/confirm-setup-task.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowContext, FlowInput } from '../flow.ts';
import { componentOf } from './service-targets.ts';

export const tasks = onEngine(async (scope, input, session, context) => {
  const component = await settledComponent(session, input, context);
  const [wanted, more] = input.words;
  if (more !== undefined)
    throw new Fault('usage.setupTask', 'Pass only one setup task.', `List the task IDs: quarterdeck status ${component.id}`);
  if (!component.deployed) throw notDeployed(component.id);
  const left = setupTasksLeft(component).filter((task) => task.by === 'hand');
  const id = wanted ?? (await chosen());
  const meant = component.setupTasks.find((candidate) => candidate.id === id);
  if (!meant) throw new Fault('usage.setupTask', `${component.id} has no setup task "${id}".`, idsText(component.id, left));
  if (meant.done) return { message: `${component.id}: "${meant.title}" is already done.`, data: { task: id, left: idsOf(left) } };
  if (meant.by === 'observed') throw observedTask(meant);
  await confirmTask(scope, component, meant);
  if (session.dryRun) return { message: 'Dry run: nothing was recorded.' };
  const rest = setupTasksLeft(component).filter((other) => other.id !== id);
  const next =
    rest.length === 0 ? 'No setup tasks are left.' : `Remaining: ${rest.map(({ title }) => title.replace(/\.$/, '')).join('; ')}.`;
  return { message: `Confirmed "${meant.title}" for ${component.id}. ${next}`, data: { task: id, left: idsOf(rest) } };

  async function chosen(): Promise<string> {
    const [first] = left;
    if (!first) {
      const observed = setupTasksLeft(component)[0];
      if (observed) throw observedTask(observed);
      const remedy = `Check the component: quarterdeck status ${component.id}`;
      throw new Fault('usage.setupTask', `${component.id} has no open setup tasks.`, remedy);
    }
    if (!session.attended) throw new Fault('usage.setupTask', 'A setup task is required.', idsText(component.id, left));
    return session.ask.choice({
      id: 'task',
      label: `Completed setup task of ${component.id}`,
      choices: left.map(({ id: value, title, detail }) => ({ value, label: title, ...(detail !== '' && { detail }) })),
    });
  }
});

/** Returns the component with its records and probe results, which are available only a moment after the containers are known. */
export async function settledComponent({ signal }: Session, input: FlowInput, { fleet }: FlowContext): Promise<ComponentView> {
  const component = componentOf(input);
  const { components } = await fleet.settle(signal, 'complete');
  return components.find(({ key }) => key === component.key) ?? component;
}

export async function confirmTask(scope: EngineScope, { id: component, key }: ComponentView, { id, title }: SetupTaskView): Promise<void> {
  const { session, context } = scope;
  const stackFolder = await scope.stackFolder();
  await session.act({
    id: `task ${id}`,
    right: 'operate',
    request: `record in ${stackFolder} that the setup task "${title}" of ${component} is done`,
    run: (grant) => confirmSetupTask(grant, scope.host, stackFolder, { component, task: id, at: new Date().toISOString() }),
  });
  if (!session.dryRun) context.fleet.refresh(key);
}

const idsOf = (setupTasks: readonly SetupTaskView[]): string[] => setupTasks.map(({ id }) => id);

function idsText(component: string, left: readonly SetupTaskView[]): string {
  if (left.length === 0) return `${component} has no setup tasks to confirm.`;
  return `Pass a task: quarterdeck tasks ${component} ${idsOf(left).join(' | ')}`;
}

function observedTask({ title }: SetupTaskView): Fault {
  const message = `Quarterdeck detects whether "${title}" is done; it cannot be confirmed manually.`;
  return new Fault('refused.observed', message, 'Complete the task in the product; Quarterdeck then removes it from the list.');
}
