import { targetFlags } from '../backup/flows.ts';
import { type Flow, lazyFlows } from '../flow.ts';

export const deployFlows: readonly Flow[] = lazyFlows({ right: 'operate', about: 'component' }, [
  {
    verb: 'deploy',
    title: 'Deploy or change',
    summary:
      'Asks what the component needs, shows exactly what would change on the host and what speaks against it, then does it, and waits until it is healthy. A component that was deployed from here is changed.',
    about: 'catalog',
    flags: {
      set: { meaning: 'a field, a port or the site, without being asked; may be given again', value: 'NAME=VALUE', repeats: true },
      fresh: { meaning: "replace files that were changed by hand with the catalog's" },
      'second-instance': { meaning: 'deploy beside one that already runs on the host, with data of its own' },
    },
    load: async () => (await import('./deploy.ts')).deploy,
  },
  {
    verb: 'update',
    title: 'Update to the newest image',
    summary:
      'Asks the registry for newer images and the catalog for newer tags, shows what would change and what the component wants done besides, backs it up where the settings say where to, then fetches, recreates and waits until it is healthy. "all" is the whole stack.',
    all: true,
    flags: { ...targetFlags, 'no-backup': { meaning: 'update without a backup before it' } },
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./update.ts')).update,
  },
  {
    verb: 'rollback',
    title: 'Go back to what was there before',
    summary:
      'Takes the last change of a component back: its files, its images by digest, its secrets in the versions of then. Refused, with the reason, where a newer image has run that may have changed the data for good.',
    ours: true,
    offered: (component) => component.known,
    load: async () => (await import('./recover.ts')).rollback,
  },
  {
    verb: 'recover',
    title: 'Go on with what broke off',
    summary:
      'Names the changes to a stack that never came to their end: a console that was killed, a machine that went down, a step that failed. Each can be finished or taken back.',
    about: 'host',
    flags: {
      finish: { meaning: 'finish what broke off, without being asked' },
      undo: { meaning: 'take it back, without being asked' },
    },
    load: async () => (await import('./recover.ts')).recover,
  },
  {
    verb: 'up',
    title: 'Bring up what should run',
    summary:
      'After a power cut or an outage: starts what was deployed from here, should run and does not, who is used before who uses it, each when the one before is healthy. Says at the end what did not come back, and why, and which secrets manager waits for its key shares. What an operator stopped stays down, unless it is named.',
    about: 'host',
    usage: '[COMPONENT...|all]',
    wordsFor: ({ id }) => [[id]],
    load: async () => (await import('./up.ts')).up,
  },
  {
    verb: 'route',
    title: 'Route it through the VPN gateway',
    summary:
      "Puts a component into the network of the VPN gateway, which publishes its ports from then on: whatever it sends leaves through the tunnel, or not at all. Proves it afterwards. It stays so when the gateway is updated, changed or restarted. --direct takes that back. Run again for one that is routed already, it asks whether that is to be taken back; unattended it puts the component into the gateway's network anew.",
    flags: {
      through: { meaning: 'which gateway, where there are several', value: 'COMPONENT' },
      service: { meaning: 'which of its services, where that is not the main one', value: 'SERVICE' },
      direct: { meaning: 'give it its own network and ports back' },
    },
    ours: true,
    offered: ({ speaks, known }) => known && speaks !== 'gluetun',
    load: async () => (await import('./route.ts')).route,
  },
]);
