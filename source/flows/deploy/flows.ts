import { targetFlags } from '../backup/flows.ts';
import { type Flow, flow, lazyFlows } from '../flow.ts';

export const deployFlows: readonly Flow[] = lazyFlows({ about: 'component' }, [
  flow('operate', 'deploy', {
    title: 'Deploy or change a component',
    summary:
      'Prompts for the settings of the component, shows exactly what would change on the host and any problems, applies the changes, and waits until the component is healthy. If the component is already deployed, changes it.',
    about: 'catalog',
    flags: {
      set: { meaning: 'set a field, a port or the site without a prompt; repeatable', value: 'NAME=VALUE', repeats: true },
      fresh: { meaning: 'overwrite manually changed files with those of the catalog' },
      'second-instance': { meaning: 'deploy a second instance with its own data, even if one already runs on the host' },
    },
    load: async () => (await import('./deploy.ts')).deploy,
  }),
  flow('operate', 'update', {
    title: 'Update to the newest images',
    summary:
      'Checks the registry for newer images and the catalog for newer tags, and shows what would change and any manual steps. Then backs up the component if a backup destination is configured, pulls the images, recreates the containers, and waits until the component is healthy. "all" updates the whole stack.',
    all: true,
    flags: { ...targetFlags, 'no-backup': { meaning: 'update without a backup' } },
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./update.ts')).update,
  }),
  flow('operate', 'rollback', {
    title: 'Roll back the last change',
    summary:
      'Undoes the last change of a component: restores its files, its images by digest and the previous versions of its secrets. Refuses if a newer image has run and may have changed the data irreversibly.',
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./recover.ts')).rollback,
  }),
  flow('operate', 'recover', {
    title: 'Resume interrupted changes',
    summary:
      'Lists changes to a stack that did not complete because the console was killed, a machine went down or a step failed. Prompts you to finish or undo each of them; some can only be finished, and some only undone.',
    about: 'host',
    flags: {
      finish: { meaning: 'finish interrupted changes without a prompt' },
      undo: { meaning: 'undo interrupted changes without a prompt' },
    },
    load: async () => (await import('./recover.ts')).recover,
  }),
  flow('operate', 'up', {
    title: 'Start components that should be running',
    summary:
      'Starts all deployed components that should be running, for example after a power cut or an outage. Starts dependencies first, and each component when the previous one is healthy. Reports which components failed to start and why, and which secrets managers are sealed. Components that an operator stopped stay stopped, unless you name them.',
    about: 'host',
    usage: '[COMPONENT...|all]',
    wordsFor: ({ id }) => [[id]],
    load: async () => (await import('./up.ts')).up,
  }),
  flow('operate', 'route', {
    title: 'Route a component through the VPN gateway',
    summary:
      "Moves a component to the network of the VPN gateway, which then publishes its ports. Its internet traffic then goes through the tunnel or is blocked. Afterwards, verifies that the component uses the gateway's network. The route survives updates and restarts of the gateway. --direct undoes the route. If the component is already routed, prompts you to undo the route or to join the gateway's network again; without a terminal, joins it again.",
    flags: {
      through: { meaning: 'gateway to use, if the host has several', value: 'COMPONENT' },
      service: { meaning: 'service to route (default: the main service)', value: 'SERVICE' },
      direct: { meaning: "restore the component's own network and ports" },
    },
    ours: true,
    offered: ({ speaks, known }) => known && speaks !== 'gluetun',
    load: async () => (await import('./route.ts')).route,
  }),
]);
