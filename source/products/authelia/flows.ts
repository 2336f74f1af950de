import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const autheliaFlows = lazyFlows({ about: 'component', speaks: 'authelia' }, [
  flow('read', 'sso users', {
    title: 'List the users of the portal',
    summary:
      'Lists the users in the users file of the portal with their groups, whether they are disabled, and the hash type of each password.',
    load: async () => (await import('./sso-users.ts')).ssoUsers,
  }),
  resumableFlow('operate', 'sso add', {
    title: 'Add a user to the portal',
    summary:
      'Adds a user to the users file, with a hash of the password. Comments and other content are kept. Keeps the previous file, and restores it if the portal rejects the new one.',
    usage: '[USER]',
    flags: {
      name: { meaning: 'display name', value: 'TEXT' },
      email: { meaning: 'email address', value: 'ADDRESS' },
      group: { meaning: 'group of the user; repeatable', value: 'GROUP', repeats: true },
    },
    load: async () => (await import('./sso-user-change.ts')).ssoAdd,
  }),
  resumableFlow('operate', 'sso disable', {
    title: 'Disable a user of the portal',
    summary: 'Disables a user, who can no longer log in but stays in the file. Refuses to disable the last user who can log in.',
    usage: '[USER]',
    load: async () => (await import('./sso-user-change.ts')).ssoDisable,
  }),
  resumableFlow('operate', 'sso enable', {
    title: 'Enable a user of the portal',
    summary: 'Enables a disabled user, who can log in again with the previous password.',
    usage: '[USER]',
    load: async () => (await import('./sso-user-change.ts')).ssoEnable,
  }),
  resumableFlow('operate', 'sso password', {
    title: "Reset a password in the portal's users file",
    summary:
      'Sets a new password, or generates one and shows it once, and writes its hash to the users file. The old password stops working.',
    usage: '[USER]',
    load: async () => (await import('./sso-user-change.ts')).ssoPassword,
  }),
  resumableFlow('destroy', 'sso second-factor', {
    title: 'Reset a lost second factor',
    summary:
      'Deletes the authenticator app registration, the security keys, or both, for a user who lost a phone or a security key. The user can register a new one at the next login.',
    usage: '[USER]',
    flags: { which: { meaning: 'what to delete: codes, keys or both', value: 'WHICH' } },
    load: async () => (await import('./sso-lockout.ts')).ssoSecondFactor,
  }),
  resumableFlow('operate', 'sso unban', {
    title: 'Lift a ban in the portal',
    summary:
      'Lists the users and addresses that the portal has banned after failed logins, and lifts bans early. Requires Authelia 4.39 or later.',
    usage: '[USER|ADDRESS]',
    load: async () => (await import('./sso-lockout.ts')).ssoUnban,
  }),
  flow('read', 'sso rules', {
    title: 'List the access rules of the portal',
    summary: 'Lists the access control rules in order (the first match applies) and the default policy.',
    load: async () => (await import('./sso-check.ts')).ssoRules,
  }),
  resumableFlow('operate', 'sso rule', {
    title: 'Add an access rule to the portal',
    id: 'sso-rule-add',
    summary:
      'Adds a rule to the configuration. The running portal validates the rule first; then the change is shown and applied. To undo it: quarterdeck rollback COMPONENT.',
    usage: '[DOMAIN]',
    flags: {
      policy: { meaning: 'deny, bypass, one_factor or two_factor', value: 'POLICY' },
      subject: { meaning: 'only for user:NAME or group:NAME; repeatable', value: 'SUBJECT', repeats: true },
      resource: { meaning: 'only for paths that match this regular expression; repeatable', value: 'PATTERN', repeats: true },
      before: { meaning: 'insert the rule before the rule with this number (default: 1)', value: 'NUMBER' },
    },
    ours: true,
    load: async () => (await import('./sso-rule-add.ts')).ssoRuleAdd,
  }),
  flow('read', 'sso test', {
    title: 'Test which access rule applies',
    summary: 'Shows which rule of the portal applies to an address and a user, and why the others do not.',
    usage: '[URL] [USER]',
    flags: {
      method: { meaning: 'request method (default: GET)', value: 'METHOD' },
      from: { meaning: 'IP address of the client', value: 'ADDRESS' },
    },
    load: async () => (await import('./sso-check.ts')).ssoTest,
  }),
  flow('read', 'sso check', {
    title: 'Check how a host name is protected',
    summary:
      'Sends the portal the same request as the reverse proxy, without a login, once as a browser and once as a program. Explains the responses.',
    usage: '[URL]',
    load: async () => (await import('./sso-check.ts')).ssoCheck,
  }),
]);
