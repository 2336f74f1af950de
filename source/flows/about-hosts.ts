import type { FlowAbout } from './flow.ts';

/* What flows about hosts over ssh are called and take. Verbs, palette and help are made of this; the procedures are loaded when they run. */

export const hostsListAbout: FlowAbout = {
  id: 'hosts-list',
  verb: 'hosts list',
  title: 'List the hosts',
  summary: 'Connects to every host at once and says how each is: state, round trip, engines.',
  right: 'read',
  about: 'host',
  offline: true,
};

export const hostsAddAbout: FlowAbout = {
  id: 'hosts-add',
  verb: 'hosts add',
  title: 'Add a host',
  summary:
    'Writes a host into the configuration, connects and looks at it. NAME alone is a host of that name, as ssh and ~/.ssh/config know it. Nothing is installed there, and no port is opened.',
  right: 'operate',
  about: 'host',
  offline: true,
  usage: 'NAME [[user@]host[:port]]',
  flags: {
    sudo: { meaning: "the user there may use the engine's socket through sudo alone" },
    'stack-folder': { meaning: 'where its stack lives there, instead of the usual folder', value: 'FOLDER' },
    unchecked: { meaning: 'write it down only, do not connect now' },
  },
};

export const hostsCheckAbout: FlowAbout = {
  id: 'hosts-check',
  verb: 'hosts check',
  title: 'Check a host',
  summary:
    'Connects, and says what is found: system, user, engines, sudo, clock, what sshd allows, free disk of the stack. Ends with 3 when it is not reached, with 4 when it refuses. Without a name: every host.',
  right: 'read',
  about: 'host',
  offline: true,
  usage: '[NAME]',
};

export const hostsRemoveAbout: FlowAbout = {
  id: 'hosts-remove',
  verb: 'hosts remove',
  title: 'Remove a host',
  summary: 'Takes a host out of the configuration. What runs there keeps running, and its secrets stay where they are kept.',
  right: 'operate',
  about: 'host',
  offline: true,
  usage: 'NAME',
};

export const hostsTrustAbout: FlowAbout = {
  id: 'hosts-trust',
  verb: 'hosts trust',
  title: 'Trust the new key of a host',
  summary:
    'For a host that shows another key than before: shows both fingerprints, has the name typed, forgets the old key, and connects, which asks about the new one.',
  right: 'destroy',
  about: 'host',
  offline: true,
  usage: 'NAME',
};
