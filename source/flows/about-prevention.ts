import type { FlowAbout } from './flow.ts';

/* What flows about intrusion prevention are called and take. The procedures are loaded when they run. */

const about = {
  about: 'host',
  offeredOn: (components, ports) =>
    components.some(({ speaks }) => speaks === 'crowdsec') || ports.some(({ owner }) => owner === 'crowdsec'),
} as const satisfies Partial<FlowAbout>;

const which = { component: { meaning: 'which CrowdSec, where a host has several', value: 'ID' } } as const;
const reload = { later: { meaning: 'leave the reload that it needs for later' } } as const;

export const banAbout: FlowAbout = {
  ...about,
  id: 'ban',
  verb: 'ban',
  title: 'Ban an address, a range or a country',
  summary:
    'Has CrowdSec shut out an address, a range or a whole country for a while. What would lock you out is refused: where you come from, your hosts, gateways, the private networks that the host is in and those of containers, and for IPv6 the whole /64. Other private addresses are confirmed.',
  right: 'operate',
  usage: '[ADDRESS|RANGE|COUNTRY]',
  resumes: true,
  flags: {
    for: { meaning: 'how long: 30m, 4h, 7d (default: 4h)', value: 'DURATION' },
    reason: { meaning: 'why, for whoever reads the list', value: 'TEXT' },
    captcha: { meaning: 'ask for a captcha instead, where the bouncer can' },
    replace: { meaning: 'end a longer ban of it that is in force' },
    'bypass-allowlist': { meaning: 'also where an allowlist has it (CrowdSec from 1.6.6)' },
    ...which,
  },
};

export const unbanAbout: FlowAbout = {
  ...about,
  id: 'unban',
  verb: 'unban',
  title: 'Lift a ban',
  summary:
    'Ends all decisions about an address, a range or a country, and says what is left. Decisions of shared lists come back with the next pull, unless an allowlist has the address.',
  right: 'operate',
  usage: '[ADDRESS|RANGE|COUNTRY]',
  resumes: true,
  flags: { ...which },
};

export const decisionsAbout: FlowAbout = {
  ...about,
  id: 'decisions',
  verb: 'decisions',
  title: 'List decisions',
  summary: 'Who is shut out now, why, and for how long.',
  right: 'read',
  usage: '[ADDRESS|RANGE|COUNTRY]',
  flags: { all: { meaning: 'with the shared lists, which can have very many' }, ...which },
};

export const alertsAbout: FlowAbout = {
  ...about,
  id: 'alerts',
  verb: 'alerts',
  title: 'List alerts',
  summary: 'What CrowdSec noticed, the newest first; with a number the whole alert.',
  right: 'read',
  usage: '[ID]',
  flags: { limit: { meaning: 'how many (default: 50)', value: 'COUNT' }, ...which },
};

export const allowlistsListAbout: FlowAbout = {
  ...about,
  id: 'allowlists-list',
  verb: 'allowlists list',
  title: 'List allowlists',
  summary: 'Addresses that CrowdSec never bans by itself, list by list (from 1.6.6).',
  right: 'read',
  flags: { ...which },
};

export const allowlistsCheckAbout: FlowAbout = {
  ...about,
  id: 'allowlists-check',
  verb: 'allowlists check',
  title: 'Look whether an allowlist has an address',
  summary: 'Says which allowlist has an address or a range, if any.',
  right: 'read',
  usage: 'ADDRESS',
  flags: { ...which },
};

export const allowlistsCreateAbout: FlowAbout = {
  ...about,
  id: 'allowlists-create',
  verb: 'allowlists create',
  title: 'Create an allowlist',
  summary: 'Makes an empty allowlist.',
  right: 'operate',
  resumes: true,
  usage: '[NAME]',
  flags: { description: { meaning: 'what it is for', value: 'TEXT' }, ...which },
};

export const allowlistsAddAbout: FlowAbout = {
  ...about,
  id: 'allowlists-add',
  verb: 'allowlists add',
  title: 'Put addresses on an allowlist',
  summary: 'Puts addresses or ranges on an allowlist. From CrowdSec 1.6.9 on that also ends what decisions there are about them.',
  right: 'operate',
  resumes: true,
  usage: '[NAME] [ADDRESS...]',
  flags: {
    comment: { meaning: 'whose they are', value: 'TEXT' },
    for: { meaning: 'how long: 4h, 7d (default: for good)', value: 'DURATION' },
    ...which,
  },
};

export const allowlistsRemoveAbout: FlowAbout = {
  ...about,
  id: 'allowlists-remove',
  verb: 'allowlists remove',
  title: 'Take addresses off an allowlist',
  summary: 'Takes addresses or ranges off an allowlist. They can be banned again from then on.',
  right: 'operate',
  resumes: true,
  usage: '[NAME] [ADDRESS...]',
  flags: { ...which },
};

export const allowlistsDeleteAbout: FlowAbout = {
  ...about,
  id: 'allowlists-delete',
  verb: 'allowlists delete',
  title: 'Delete an allowlist',
  summary: 'Deletes an allowlist with all that is on it.',
  right: 'destroy',
  resumes: true,
  usage: '[NAME]',
  flags: { ...which },
};

export const bouncersListAbout: FlowAbout = {
  ...about,
  id: 'bouncers-list',
  verb: 'bouncers list',
  title: 'List bouncers',
  summary: 'Who enforces the decisions, and when each asked for them last.',
  right: 'read',
  flags: { ...which },
};

export const bouncersAddAbout: FlowAbout = {
  ...about,
  id: 'bouncers-add',
  verb: 'bouncers add',
  title: 'Add a bouncer',
  summary: 'Registers a bouncer and shows its key, this once: CrowdSec keeps only a hash of it.',
  right: 'reveal',
  resumes: true,
  usage: '[NAME]',
  flags: { plain: { meaning: 'write the key alone, also into a pipe' }, ...which },
};

export const bouncersDeleteAbout: FlowAbout = {
  ...about,
  id: 'bouncers-delete',
  verb: 'bouncers delete',
  title: 'Delete a bouncer',
  summary: 'Takes a bouncer its key away: what it enforced, it keeps or drops as it likes, and learns nothing new.',
  right: 'destroy',
  resumes: true,
  usage: '[NAME]',
  flags: { ...which },
};

export const machinesListAbout: FlowAbout = {
  ...about,
  id: 'machines-list',
  verb: 'machines list',
  title: 'List machines of CrowdSec',
  summary: 'Who reads logs and reports to this CrowdSec.',
  right: 'read',
  flags: { ...which },
};

export const machinesValidateAbout: FlowAbout = {
  ...about,
  id: 'machines-validate',
  verb: 'machines validate',
  title: 'Let a machine of CrowdSec in',
  summary: 'Lets a machine that has registered itself log in and report.',
  right: 'operate',
  resumes: true,
  usage: '[NAME]',
  flags: { ...which },
};

export const machinesDeleteAbout: FlowAbout = {
  ...about,
  id: 'machines-delete',
  verb: 'machines delete',
  title: 'Delete a machine of CrowdSec',
  summary: 'Takes a machine its login away: it reports nothing any more.',
  right: 'destroy',
  resumes: true,
  usage: '[NAME]',
  flags: { ...which },
};

export const collectionsListAbout: FlowAbout = {
  ...about,
  id: 'collections-list',
  verb: 'collections list',
  title: 'List collections',
  summary: 'What is installed from the hub: collections, and with --kind parsers, scenarios and the rest. --all shows what the hub has.',
  right: 'read',
  flags: {
    all: { meaning: 'also what is not installed' },
    kind: { meaning: 'collections, parsers, scenarios, postoverflows, or "all" (default: collections)', value: 'KIND' },
    ...which,
  },
};

export const collectionsInstallAbout: FlowAbout = {
  ...about,
  id: 'collections-install',
  verb: 'collections install',
  title: 'Install a collection',
  summary: 'Installs a collection of the hub, and reloads CrowdSec, which it needs to take effect.',
  right: 'operate',
  resumes: true,
  usage: '[NAME]',
  flags: { ...reload, ...which },
};

export const collectionsRemoveAbout: FlowAbout = {
  ...about,
  id: 'collections-remove',
  verb: 'collections remove',
  title: 'Remove a collection',
  summary: 'Removes a collection with the parsers and scenarios that came with it alone, and reloads CrowdSec.',
  right: 'destroy',
  resumes: true,
  usage: '[NAME]',
  flags: { ...reload, ...which },
};

export const hubUpdateAbout: FlowAbout = {
  ...about,
  id: 'hub-update',
  verb: 'hub update',
  title: "Fetch the hub's index",
  summary: 'Fetches what the hub has to offer. Nothing that is installed changes.',
  right: 'operate',
  flags: { ...which },
};

export const hubUpgradeAbout: FlowAbout = {
  ...about,
  id: 'hub-upgrade',
  verb: 'hub upgrade',
  title: 'Upgrade what came from the hub',
  summary:
    'Fetches the index of the hub, shows what would be renewed, renews it, and reloads CrowdSec, which it needs to take effect. What was changed by hand is left alone.',
  right: 'operate',
  resumes: true,
  flags: { ...reload, ...which },
};

export const metricsAbout: FlowAbout = {
  ...about,
  id: 'metrics',
  verb: 'metrics',
  title: 'Show metrics of CrowdSec',
  summary: 'What it read, parsed and poured into buckets, and who asked its local API.',
  right: 'read',
  flags: { ...which },
};
