import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { confirmTask, settledComponent } from '../../flows/components/setup-task.ts';
import { onEngine } from '../../flows/engine-scope.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { cleanLine } from '../../text/clean.ts';

export const firstAdmin = onEngine(async (scope, input, session, context) => {
  const component = await settledComponent(session, input, context);
  const { id } = component;
  const withPage = component.setupTasks.filter(({ page }) => page !== undefined);
  const task = setupTasksLeft(component).find(({ page }) => page !== undefined);
  if (withPage.length === 0) {
    const message = `The catalog defines no page for creating the first account of ${id}.`;
    throw new Fault('usage.setupTask', message, `To list the setup tasks: quarterdeck status ${id}`);
  }
  if (!task) return { message: `${id}: the setup task "${withPage[0]?.title ?? ''}" is done.`, data: { done: true } };
  const address = `${component.url?.replace(/\/$/, '') ?? ''}${task.page ?? ''}`;
  const title = task.title.replace(/\.$/, '');
  const stays = {
    message: `Still to do${component.url === undefined ? '' : ` at ${cleanLine(address)}`}: ${title}.`,
    remedy: `To resume: quarterdeck first-admin ${id}`,
  };
  const asks = task.by === 'hand' && session.attended;
  for (const line of guideOf(component, address, asks ? '' : task.title, task.detail)) session.show({ kind: 'text', text: line });
  const data = { address, done: false };
  if (task.by === 'observed') return { message: `${stays.message} Quarterdeck detects when the task is done.`, data };
  if (!session.attended) return { message: `${stays.message} When it is done, run: quarterdeck tasks ${id} ${task.id}`, data };
  const choices = { yes: 'Done', later: ['Later', 'the task stays on the list'] } as const;
  const chosen = await unlessCancelled(session, stays, () => askChoice(session, { id: 'done', label: title, choices }));
  if (chosen === 'later') return { message: stays.message, data };
  await confirmTask(scope, component, task);
  if (session.dryRun) return { message: 'Dry run: nothing was recorded.' };
  return { message: `${id}: the setup task "${task.title}" is done.`, data: { address, done: true } };
});

/** @param title empty if a prompt already shows it */
function guideOf({ id, url, speaks }: ComponentView, address: string, title: string, detail: string): string[] {
  if (url === undefined) return [title, detail, 'The page is not published. Set a proxy site, or publish a port.'].filter(Boolean);
  const tunnel = `From another machine: quarterdeck tunnel ${id}`;
  const plain = speaks === 'vaultwarden' ? `Vaultwarden works in browsers only over https or on localhost. ${tunnel}` : tunnel;
  return [title, detail, `Open ${cleanLine(address)}`, url.startsWith('https://') ? '' : plain].filter(Boolean);
}
