import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { type Flow, lazyFlows } from '../flow.ts';
import { copy } from './copy.ts';
import { graceFlag, serviceFlag } from './service.ts';
import { hasContainer, isDown, isPaused, isUp } from './service-targets.ts';

const common = { right: 'operate', about: 'component' } as const;

const lifecycle = lazyFlows(common, [
  {
    verb: 'start',
    title: 'Start the component',
    summary:
      'Starts the containers of a component, what others depend on first, and waits until they are seen running and their health checks have answered.',
    flags: serviceFlag,
    offered: (component) => component.services.some(isDown),
    load: async () => (await import('./start.ts')).start,
  },
  {
    verb: 'stop',
    title: 'Stop the component',
    summary: 'Stops the containers of a component, what depends on others first, and waits until they are seen to have ended. Data stays.',
    flags: { ...serviceFlag, ...graceFlag },
    interrupts: 'It is not available until it is started again.',
    offered: (component) => component.services.some((service) => isUp(service) || isPaused(service)),
    load: async () => (await import('./stop.ts')).stop,
  },
  {
    verb: 'restart',
    title: 'Restart the component',
    summary:
      'Restarts the containers of a component, what others depend on first, and waits until they are seen running again and their health checks have answered.',
    flags: { ...serviceFlag, ...graceFlag },
    interrupts: 'It is not available until it is up again.',
    offered: (component) => component.services.some(hasContainer),
    load: async () => (await import('./start.ts')).restart,
  },
  {
    verb: 'pause',
    title: 'Pause the component',
    summary: 'Freezes the programs of a component where they stand. They keep their memory, and answer nobody until they go on.',
    flags: serviceFlag,
    interrupts: 'It answers nothing until it is unpaused.',
    offered: (component) => component.services.some(isUp),
    load: async () => (await import('./pause.ts')).pause,
  },
  {
    verb: 'unpause',
    title: 'Let the paused component go on',
    summary: 'Lets frozen programs go on where they stood.',
    flags: serviceFlag,
    offered: (component) => component.services.some(isPaused),
    load: async () => (await import('./pause.ts')).unpause,
  },
  {
    verb: 'remove',
    title: 'Remove the component',
    summary:
      'Removes the containers of a component, and of one that was deployed from here the files that nobody changed and its site. Images and data stay, unless its name is typed for that; what is lost is listed before it is confirmed.',
    right: 'destroy',
    flags: {
      ...serviceFlag,
      force: { meaning: 'also remove running containers: their programs are killed' },
      volumes: { meaning: 'also remove their unnamed volumes, with what is in them' },
      data: { meaning: 'of one that was deployed from here: delete its data too; the name again, to be sure', value: 'COMPONENT' },
    },
    offered: (component) => component.services.some(hasContainer),
    load: async () => (await import('./remove.ts')).remove,
  },
  {
    verb: 'shell',
    title: 'Open a shell inside',
    summary:
      'Opens a terminal inside a running container: bash where there is one, otherwise sh. Ctrl-] three times leaves without ending what runs.',
    flags: serviceFlag,
    offered: (component) => component.services.some(isUp),
    load: async () => (await import('./exec.ts')).shell,
  },
  {
    verb: 'exec',
    title: 'Run a program inside',
    summary:
      'Runs a program in a running container and ends with its exit code. Its output goes on byte for byte. Secrets do not belong in its arguments: the engine shows them to everybody.',
    usage: '-- PROGRAM [ARGUMENT...]',
    flags: {
      ...serviceFlag,
      stdin: { meaning: 'give it what is piped in, up to 64 MB' },
      tty: { meaning: 'give it the terminal, for programs that draw or ask' },
    },
    offered: (component) => component.services.some(isUp),
    load: async () => (await import('./exec.ts')).exec,
  },
]);

const others = lazyFlows(common, [
  {
    verb: 'df',
    title: 'Show what takes the disk space',
    summary:
      'Shows how much room images, containers, volumes and the build cache take, how much of it nothing uses, and the largest of them.',
    right: 'read',
    about: 'host',
    flags: { all: { meaning: 'list everything, not only the largest' } },
    load: async () => (await import('./disk-usage.ts')).diskUsage,
  },
  {
    verb: 'prune',
    title: 'Free disk space that nothing uses',
    summary:
      'Shows which stopped containers, unused images, volumes and build cache could go, and removes exactly those that were shown and confirmed. Kinds: containers, images, volumes, build-cache.',
    right: 'destroy',
    about: 'host',
    usage: '[KIND...]',
    flags: { all: { meaning: 'also unused images that have a tag, and unused volumes that have a name' } },
    load: async () => (await import('./prune.ts')).prune,
  },
  {
    verb: 'edit',
    title: 'Edit its files',
    summary:
      'Opens compose.yaml, .env or a configuration file of a component in your editor, then shows what the change would do and applies it like any other. With --stdin the new text is piped in.',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'take the new text from what is piped in' } },
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./edit.ts')).edit,
  },
  {
    verb: 'tasks',
    title: 'Confirm a setup task',
    summary:
      'Says that something is done which nobody can see from here: a default password was changed, a certificate imported. What the product itself tells is seen without this.',
    usage: '[ID]',
    offered: (component) => setupTasksLeft(component).some(({ by }) => by === 'hand'),
    load: async () => (await import('./setup-task.ts')).tasks,
  },
  {
    verb: 'compose',
    title: 'Run a compose command',
    summary:
      "Runs any compose command in the component's folder on the host, with its secrets supplied, and ends with its exit code. What it changes is not planned, not journaled and not rolled back. A command that removes containers or volumes is confirmed first.",
    usage: '-- COMMAND [ARGUMENT...]',
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./compose.ts')).compose,
  },
  {
    verb: 'chain',
    title: 'Show how releases get into the library',
    summary:
      'Shows the five stages of media automation: release at an indexer, download request, completed download, import and rename, library scan. Says which component serves each, what is missing or stopped, and what is wrong between two of them, such as folders that are not the same or a gateway that is down. Ends with 1 where something is wrong.',
    right: 'read',
    about: 'host',
    offline: true,
    load: async () => (await import('./chain.ts')).chain,
  },
]);

export const componentFlows: readonly Flow[] = [...lifecycle, copy, ...others];
