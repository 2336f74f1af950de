import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { type Flow, lazyFlows } from '../flow.ts';
import { copy } from './copy.ts';
import { diskUsage } from './disk-usage.ts';
import { exec } from './exec.ts';
import { pause, unpause } from './pause.ts';
import { prune } from './prune.ts';
import { remove } from './remove.ts';
import { restart } from './restart.ts';
import { shell } from './shell.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';

export const componentFlows: readonly Flow[] = [
  start,
  stop,
  restart,
  pause,
  unpause,
  remove,
  shell,
  exec,
  copy,
  diskUsage,
  prune,
  ...lazyFlows({}, [
    {
      id: 'edit',
      verb: 'edit',
      title: 'Edit its files',
      summary:
        'Opens compose.yaml, .env or a configuration file of a component in your editor, then shows what the change would do and applies it like any other. With --stdin the new text is piped in.',
      right: 'operate',
      about: 'component',
      usage: '[FILE]',
      flags: { stdin: { meaning: 'take the new text from what is piped in' } },
      ours: true,
      offered: (component) => component.known,
      load: async () => (await import('./edit.ts')).edit,
    },
    {
      id: 'tasks',
      verb: 'tasks',
      title: 'Confirm a setup task',
      summary:
        'Says that something is done which nobody can see from here: a default password was changed, a certificate imported. What the product itself tells is seen without this.',
      right: 'operate',
      about: 'component',
      usage: '[ID]',
      offered: (component) => setupTasksLeft(component).some(({ by }) => by === 'hand'),
      load: async () => (await import('./setup-task.ts')).tasks,
    },
    {
      id: 'compose',
      verb: 'compose',
      title: 'Run a compose command',
      summary:
        "Runs any compose command in the component's folder on the host, with its secrets supplied, and ends with its exit code. What it changes is not planned, not journaled and not rolled back. A command that removes containers or volumes is confirmed first.",
      right: 'operate',
      about: 'component',
      usage: '-- COMMAND [ARGUMENT...]',
      ours: true,
      offered: (component) => component.known,
      load: async () => (await import('./compose.ts')).compose,
    },
    {
      id: 'chain',
      verb: 'chain',
      title: 'Show how releases get into the library',
      summary:
        'Shows the five stages of media automation: release at an indexer, download request, completed download, import and rename, library scan. Says which component serves each, what is missing or stopped, and what is wrong between two of them, such as folders that are not the same or a gateway that is down. Ends with 1 where something is wrong.',
      right: 'read',
      about: 'host',
      offline: true,
      load: async () => (await import('./chain.ts')).chain,
    },
  ]),
];
