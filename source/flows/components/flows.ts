import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { type Flow, flow, lazyFlows } from '../flow.ts';
import { copy } from './copy.ts';
import { graceFlag, serviceFlag } from './service.ts';
import { hasContainer, isDown, isPaused, isUp } from './service-targets.ts';

const common = { about: 'component' } as const;

const userFlag = { user: { meaning: "run the program as this user, instead of the container's default user", value: 'USER' } } as const;

const lifecycle = lazyFlows(common, [
  flow('operate', 'start', {
    title: 'Start a component',
    summary: 'Starts the containers of a component in order of their dependencies, and waits until they run and pass their health checks.',
    flags: serviceFlag,
    offered: (component) => component.services.some(isDown),
    load: async () => (await import('./start.ts')).start,
  }),
  flow('operate', 'stop', {
    title: 'Stop a component',
    summary: 'Stops the containers of a component in reverse order of their dependencies, and waits until they have stopped. Data is kept.',
    flags: { ...serviceFlag, ...graceFlag },
    interrupts: 'The component is not available until it is started again.',
    offered: (component) => component.services.some((service) => isUp(service) || isPaused(service)),
    load: async () => (await import('./stop.ts')).stop,
  }),
  flow('operate', 'restart', {
    title: 'Restart a component',
    summary:
      'Restarts the containers of a component in order of their dependencies, and waits until they run and pass their health checks.',
    flags: { ...serviceFlag, ...graceFlag },
    interrupts: 'The component is not available until it is running again.',
    offered: (component) => component.services.some(hasContainer),
    load: async () => (await import('./start.ts')).restart,
  }),
  flow('operate', 'pause', {
    title: 'Pause a component',
    summary: 'Freezes the processes of a component. They keep their memory and do not respond until unpaused.',
    flags: serviceFlag,
    interrupts: 'The component does not respond until it is unpaused.',
    offered: (component) => component.services.some(isUp),
    load: async () => (await import('./pause.ts')).pause,
  }),
  flow('operate', 'unpause', {
    title: 'Unpause a component',
    summary: 'Resumes the frozen processes of a paused component.',
    flags: serviceFlag,
    offered: (component) => component.services.some(isPaused),
    load: async () => (await import('./pause.ts')).unpause,
  }),
  flow('destroy', 'remove', {
    title: 'Remove a component',
    summary:
      'Removes the containers of a component and, if Quarterdeck deployed it, its reverse proxy site and its unmodified files. Images are kept, and so is the data unless you type the name of the component to delete it. Before you confirm, lists everything that will be lost.',
    flags: {
      ...serviceFlag,
      force: { meaning: 'kill and remove running containers of a component that Quarterdeck did not deploy' },
      volumes: { meaning: 'also delete the anonymous volumes of a component that Quarterdeck did not deploy, with all data in them' },
      data: { meaning: 'also delete the data of a component that Quarterdeck deployed; repeat its name to confirm', value: 'COMPONENT' },
    },
    offered: (component) => component.services.some(hasContainer),
    load: async () => (await import('./remove.ts')).remove,
  }),
  flow('operate', 'shell', {
    title: 'Open a shell in a container',
    summary:
      'Opens a terminal in a running container: bash if available, otherwise sh. Press Ctrl-] three times to detach and leave programs running.',
    flags: { ...serviceFlag, ...userFlag },
    offered: (component) => component.services.some(isUp),
    load: async () => (await import('./exec.ts')).shell,
  }),
  flow('operate', 'exec', {
    title: 'Run a program in a container',
    summary:
      'Runs a program in a running container and exits with its exit code. The output is passed through unchanged. Do not pass secrets as arguments, because all users of the engine can see them.',
    usage: '-- PROGRAM [ARGUMENT...]',
    flags: {
      ...serviceFlag,
      ...userFlag,
      stdin: { meaning: 'pass standard input to the program, up to 64 MB' },
      tty: { meaning: 'attach the terminal, for interactive programs' },
    },
    offered: (component) => component.services.some(isUp),
    load: async () => (await import('./exec.ts')).exec,
  }),
]);

const others = lazyFlows(common, [
  flow('read', 'doctor', {
    title: 'List all problems',
    summary:
      'Lists everything that is wrong with a component or a host, worst first, each with its remedy: states, findings, open setup tasks, due backups, port conflicts, clock skew, failing notification targets. Exits with 1 if there are errors or warnings. Does not check for updates.',
    all: true,
    load: async () => (await import('./doctor.ts')).doctor,
  }),
  flow('read', 'df', {
    title: 'Show disk usage',
    summary:
      'Shows how much disk space images, containers, volumes and the build cache use, how much can be reclaimed, and the largest items.',
    about: 'host',
    flags: { all: { meaning: 'list everything, not only the largest' } },
    load: async () => (await import('./disk-usage.ts')).diskUsage,
  }),
  flow('destroy', 'prune', {
    title: 'Free unused disk space',
    summary:
      'Lists stopped containers, unused untagged images, unused anonymous volumes and build cache, and removes only those that you confirm. Kinds: containers, images, volumes, build-cache.',
    about: 'host',
    usage: '[KIND...]',
    flags: { all: { meaning: 'also remove unused tagged images and unused named volumes' } },
    load: async () => (await import('./prune.ts')).prune,
  }),
  flow('operate', 'edit', {
    title: 'Edit the files of a component',
    summary:
      'Opens compose.yaml, .env or a configuration file of a component in your editor, then shows the effect of the change and applies it. With --stdin, reads the new text from standard input.',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'read the new text from standard input' } },
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./edit.ts')).edit,
  }),
  flow('operate', 'tasks', {
    title: 'Confirm a setup task',
    summary:
      'Confirms that a setup task is done, for tasks whose completion Quarterdeck cannot detect, such as a changed default password or an imported certificate. Tasks that the product reports are detected automatically.',
    usage: '[ID]',
    offered: (component) => setupTasksLeft(component).some(({ by }) => by === 'hand'),
    load: async () => (await import('./setup-task.ts')).tasks,
  }),
  flow('operate', 'compose', {
    title: 'Run a compose command',
    summary:
      "Runs any compose command in the component's folder on the host, with the component's secrets, and exits with the exit code of that command. Changes made this way are neither planned nor journaled, and cannot be rolled back. Commands that remove containers or volumes require confirmation.",
    usage: '-- COMMAND [ARGUMENT...]',
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./compose.ts')).compose,
  }),
  flow('read', 'chain', {
    title: 'Show the media automation chain',
    summary:
      'Shows the five stages of media automation: release at an indexer, download request, completed download, import and rename, library scan. Reports which component serves each stage, what is missing or stopped, and problems between stages, such as different folders or a gateway that is down. Exits with 1 if there are problems.',
    about: 'host',
    offline: true,
    load: async () => (await import('./chain.ts')).chain,
  }),
]);

export const componentFlows: readonly Flow[] = [...lifecycle, copy, ...others];
