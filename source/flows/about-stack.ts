import { dutiesLeft } from '../fleet/duties.ts';
import { targetFlags } from './about-backups.ts';
import type { FlowAbout } from './flow.ts';

/* What flows about deploying and what comes after it are called and take. Verbs, palette and help are made of this; the procedures are loaded when they run. */

export const composeAbout: FlowAbout = {
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
};

export const deployAbout: FlowAbout = {
  id: 'deploy',
  verb: 'deploy',
  title: 'Deploy or change',
  summary:
    'Asks what the component needs, shows exactly what would change on the host and what speaks against it, then does it, and waits until it is healthy. A component that was deployed from here is changed.',
  right: 'operate',
  about: 'catalog',
  flags: {
    set: { meaning: 'a field, a port or the site, without being asked; may be given again', value: 'NAME=VALUE', repeats: true },
    fresh: { meaning: "replace files that were changed by hand with the catalog's" },
    'second-instance': { meaning: 'deploy beside one that already runs on the host, with data of its own' },
  },
};

export const dutyAbout: FlowAbout = {
  id: 'duty',
  verb: 'duty',
  title: 'Confirm a first-run duty',
  summary:
    'Says that something is done which nobody can see from here: a default password was changed, a certificate imported. What the product itself tells is seen without this.',
  right: 'operate',
  about: 'component',
  usage: '[ID]',
  offered: (component) => dutiesLeft(component).some(({ by }) => by === 'hand'),
};

export const editAbout: FlowAbout = {
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
};

export const configCheckAbout: FlowAbout = {
  id: 'config-check',
  verb: 'config check',
  title: 'Check its configuration file',
  summary:
    "Reads the configuration file of a component and says what is wrong with it, with line and column: its form here, and for what is deployed the product's own check, in a container that ends with it. A file of this machine, or with --stdin what is piped in, is checked for its form alone. Ends with 1 where something is wrong.",
  right: 'read',
  about: 'host',
  offline: true,
  usage: 'COMPONENT [FILE]',
  flags: { stdin: { meaning: 'take the configuration from what is piped in' } },
  wordsFor: ({ id, configFile }) => (configFile ? [[id]] : []),
};

export const configMakeAbout: FlowAbout = {
  id: 'config-make',
  verb: 'config make',
  title: 'Make a configuration file or an object of a cluster',
  summary:
    'Asks for the settings of something that is not deployed with compose (a limit range, a resource quota, an audit policy, a backup schedule) and makes its file: shown, or written where one is named. It is checked first.',
  right: 'read',
  about: 'host',
  offline: true,
  usage: '[COMPONENT [FILE]]',
};

export const recoverAbout: FlowAbout = {
  id: 'recover',
  verb: 'recover',
  title: 'Go on with what broke off',
  summary:
    'Names the changes to a stack that never came to their end: a console that was killed, a machine that went down, a step that failed. Each can be finished or taken back.',
  right: 'operate',
  about: 'host',
  flags: {
    finish: { meaning: 'finish what broke off, without being asked' },
    undo: { meaning: 'take it back, without being asked' },
  },
};

export const rollbackAbout: FlowAbout = {
  id: 'rollback',
  verb: 'rollback',
  title: 'Go back to what was there before',
  summary:
    'Takes the last change of a component back: its files, its images by digest, its secrets in the versions of then. Refused, with the reason, where a newer image has run that may have changed the data for good.',
  right: 'operate',
  about: 'component',
  ours: true,
  offered: (component) => component.known,
};

export const upAbout: FlowAbout = {
  id: 'up',
  verb: 'up',
  title: 'Bring up what should run',
  summary:
    'After a power cut or an outage: starts what was deployed from here, should run and does not, who is used before who uses it, each when the one before is healthy. Says at the end what did not come back, and why, and which secrets manager waits for its key shares. What an operator stopped stays down, unless it is named.',
  right: 'operate',
  about: 'host',
  usage: '[COMPONENT...|all]',
  wordsFor: ({ id }) => [[id]],
};

export const updateAbout: FlowAbout = {
  id: 'update',
  verb: 'update',
  title: 'Update to the newest image',
  summary:
    'Asks the registry for newer images and the catalog for newer tags, shows what would change and what the component wants done besides, backs it up where the settings say where to, then fetches, recreates and waits until it is healthy. "all" is the whole stack.',
  right: 'operate',
  about: 'component',
  all: true,
  flags: { ...targetFlags, 'no-backup': { meaning: 'update without a backup before it' } },
  ours: true,
  offered: (component) => component.known,
};
