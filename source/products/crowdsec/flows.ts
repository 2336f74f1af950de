import { type FlowMeta, flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

const shared: Partial<FlowMeta> & Pick<FlowMeta, 'about'> = {
  about: 'host',
  offeredOn: (components, ports) =>
    components.some(({ speaks }) => speaks === 'crowdsec') || ports.some(({ owner }) => owner === 'crowdsec'),
  flags: { component: { meaning: 'CrowdSec instance to use, if the host has several', value: 'ID' } },
};

const reload = { later: { meaning: 'skip the reload that applies the change' } } as const;

export const crowdsecFlows = lazyFlows(shared, [
  resumableFlow('operate', 'ban', {
    title: 'Ban an address, a range or a country',
    summary:
      'Bans an address, a range or a country for a limited time. Refuses bans on addresses and ranges that would lock you out, such as your own address (with IPv6, its whole /64), your hosts, gateways, or private networks of the host and of containers. Other private addresses require confirmation.',
    usage: '[ADDRESS|RANGE|COUNTRY]',
    flags: {
      for: { meaning: 'duration: 30m, 4h, 7d (default: 4h)', value: 'DURATION' },
      reason: { meaning: 'reason that is shown in the list of bans', value: 'TEXT' },
      captcha: { meaning: 'require a captcha instead, if the bouncer supports it' },
      replace: { meaning: 'replace a longer active ban' },
      'bypass-allowlist': { meaning: 'ban the target even if it is in an allowlist (CrowdSec 1.6.6 or later)' },
    },
    load: async () => (await import('./ban.ts')).ban,
  }),
  resumableFlow('operate', 'unban', {
    title: 'Lift a ban',
    summary:
      'Deletes all decisions for an address, a range or a country, and lists the remaining ones. Decisions from shared lists may return with a later pull, unless the address is in an allowlist.',
    usage: '[ADDRESS|RANGE|COUNTRY]',
    load: async () => (await import('./decisions.ts')).unban,
  }),
  flow('read', 'decisions', {
    title: 'List decisions',
    summary: 'Lists the active bans with their reasons and the remaining time.',
    usage: '[ADDRESS|RANGE|COUNTRY]',
    flags: { all: { meaning: 'include shared lists, which can be very long' } },
    load: async () => (await import('./decisions.ts')).decisions,
  }),
  flow('read', 'alerts', {
    title: 'List alerts',
    summary: 'Lists the alerts of CrowdSec, newest first, or shows one alert.',
    usage: '[ID]',
    flags: { limit: { meaning: 'number of alerts (default: 50)', value: 'COUNT' } },
    load: async () => (await import('./decisions.ts')).alerts,
  }),
  flow('read', 'allowlists list', {
    title: 'List allowlists',
    summary: 'Lists the allowlists and their addresses, which CrowdSec does not ban automatically. Requires CrowdSec 1.6.6 or later.',
    load: async () => (await import('./allowlists.ts')).allowlistsList,
  }),
  flow('read', 'allowlists check', {
    title: 'Check whether an address is allowlisted',
    summary: 'Shows which allowlist contains an address or a range, if any.',
    usage: 'ADDRESS',
    load: async () => (await import('./allowlists.ts')).allowlistsCheck,
  }),
  resumableFlow('operate', 'allowlists create', {
    title: 'Create an allowlist',
    summary: 'Creates an empty allowlist.',
    usage: '[NAME]',
    flags: { description: { meaning: 'description', value: 'TEXT' } },
    load: async () => (await import('./allowlists.ts')).allowlistsCreate,
  }),
  resumableFlow('operate', 'allowlists add', {
    title: 'Add addresses to an allowlist',
    summary: 'Adds addresses or ranges to an allowlist. In CrowdSec 1.6.9 or later, this also deletes existing decisions for them.',
    usage: '[NAME] [ADDRESS...]',
    flags: {
      comment: { meaning: 'comment', value: 'TEXT' },
      for: { meaning: 'duration: 4h, 7d (default: permanent)', value: 'DURATION' },
    },
    load: async () => (await import('./allowlists.ts')).allowlistsAdd,
  }),
  resumableFlow('operate', 'allowlists remove', {
    title: 'Remove addresses from an allowlist',
    summary: 'Removes addresses or ranges from an allowlist, so that they can be banned again.',
    usage: '[NAME] [ADDRESS...]',
    load: async () => (await import('./allowlists.ts')).allowlistsRemove,
  }),
  resumableFlow('destroy', 'allowlists delete', {
    title: 'Delete an allowlist',
    summary: 'Deletes an allowlist and all its entries.',
    usage: '[NAME]',
    load: async () => (await import('./allowlists.ts')).allowlistsDelete,
  }),
  flow('read', 'bouncers list', {
    title: 'List bouncers',
    summary: 'Lists bouncers, which enforce decisions, and shows when each last pulled decisions.',
    load: async () => (await import('./registrations.ts')).bouncersList,
  }),
  resumableFlow('reveal', 'bouncers add', {
    title: 'Add a bouncer',
    summary: 'Registers a bouncer and shows its key once, because CrowdSec stores only a hash of the key.',
    usage: '[NAME]',
    flags: { plain: { meaning: 'print only the key, for use in a pipe' } },
    load: async () => (await import('./registrations.ts')).bouncersAdd,
  }),
  resumableFlow('destroy', 'bouncers delete', {
    title: 'Delete a bouncer',
    summary: 'Deletes a bouncer and its key. The bouncer receives no new decisions, but may continue to enforce old ones.',
    usage: '[NAME]',
    load: async () => (await import('./registrations.ts')).bouncersDelete,
  }),
  flow('read', 'machines list', {
    title: 'List CrowdSec machines',
    summary: 'Lists the machines that read logs and report to this CrowdSec.',
    load: async () => (await import('./registrations.ts')).machinesList,
  }),
  resumableFlow('operate', 'machines validate', {
    title: 'Validate a CrowdSec machine',
    summary: 'Allows a machine that has registered itself to log in and report.',
    usage: '[NAME]',
    load: async () => (await import('./registrations.ts')).machinesValidate,
  }),
  resumableFlow('destroy', 'machines delete', {
    title: 'Delete a CrowdSec machine',
    summary: 'Deletes the credentials of a machine, which can then no longer report alerts.',
    usage: '[NAME]',
    load: async () => (await import('./registrations.ts')).machinesDelete,
  }),
  flow('read', 'collections list', {
    title: 'List collections',
    summary:
      'Lists the installed collections, or with --kind other hub items such as parsers and scenarios. --all also lists items that are not installed.',
    flags: {
      all: { meaning: 'also list items that are not installed' },
      kind: { meaning: 'collections, parsers, scenarios, postoverflows, or "all" (default: collections)', value: 'KIND' },
    },
    load: async () => (await import('./hub.ts')).collectionsList,
  }),
  resumableFlow('operate', 'collections install', {
    title: 'Install a collection',
    summary: 'Installs a collection from the hub and reloads CrowdSec to apply it.',
    usage: '[NAME]',
    flags: reload,
    load: async () => (await import('./hub.ts')).collectionsInstall,
  }),
  resumableFlow('destroy', 'collections remove', {
    title: 'Remove a collection',
    summary: 'Removes a collection with the parsers and scenarios that only it uses, and reloads CrowdSec.',
    usage: '[NAME]',
    flags: reload,
    load: async () => (await import('./hub.ts')).collectionsRemove,
  }),
  flow('operate', 'hub update', {
    title: 'Update the hub index',
    summary: 'Updates the hub index. Installed items do not change.',
    load: async () => (await import('./hub.ts')).hubUpdate,
  }),
  resumableFlow('operate', 'hub upgrade', {
    title: 'Upgrade hub items',
    summary:
      'Updates the hub index, shows the items to upgrade, upgrades them, and reloads CrowdSec to apply them. Skips manually changed items.',
    flags: reload,
    load: async () => (await import('./hub.ts')).hubUpgrade,
  }),
  flow('read', 'metrics', {
    title: 'Show CrowdSec metrics',
    summary: 'Shows the lines read and parsed, the buckets, and the requests to the local API.',
    load: async () => (await import('./hub.ts')).metrics,
  }),
]);
