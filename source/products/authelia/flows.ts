import { lazyFlows, resumable } from '../../flows/flow.ts';

export const autheliaFlows = lazyFlows({ about: 'component', speaks: 'authelia' }, [
  {
    verb: 'sso users',
    title: 'List the users of the portal',
    summary: 'Who is in the users file of the portal, in which groups, who is disabled, and how each password is hashed.',
    right: 'read',
    load: async () => (await import('./sso-users.ts')).ssoUsers,
  },
  {
    verb: 'sso add',
    title: 'Add a user to the portal',
    summary:
      'Writes somebody new into the users file, with a hash of their password as the portal makes it; comments and what else stands there stay. What was there before is kept, and the file is put back where the portal refuses it.',
    ...resumable('operate'),
    usage: '[USER]',
    flags: {
      name: { meaning: 'how they are called on screens', value: 'TEXT' },
      email: { meaning: 'where the portal sends their mail', value: 'ADDRESS' },
      group: { meaning: 'a group they are in; may be given again', value: 'GROUP', repeats: true },
    },
    load: async () => (await import('./sso-user-change.ts')).ssoAdd,
  },
  {
    verb: 'sso disable',
    title: 'Disable a user of the portal',
    summary: 'They cannot log in any more, and stay in the file. Refused for the last one who can log in.',
    ...resumable('operate'),
    usage: '[USER]',
    load: async () => (await import('./sso-user-change.ts')).ssoDisable,
  },
  {
    verb: 'sso enable',
    title: 'Enable a user of the portal',
    summary: 'Lets somebody who was disabled log in again, with the password that they had.',
    ...resumable('operate'),
    usage: '[USER]',
    load: async () => (await import('./sso-user-change.ts')).ssoEnable,
  },
  {
    verb: 'sso password',
    title: "Reset a password in the portal's users file",
    summary:
      'Takes a new password, or makes one up and shows it once, and writes its hash into the users file. The old one no longer opens anything.',
    ...resumable('operate'),
    usage: '[USER]',
    load: async () => (await import('./sso-user-change.ts')).ssoPassword,
  },
  {
    verb: 'sso second-factor',
    title: 'Reset a lost second factor',
    summary:
      'Forgets the one-time codes, the security keys, or both, of somebody who lost the phone or the key. At the next login the portal has them register a new one.',
    ...resumable('destroy'),
    usage: '[USER]',
    flags: { which: { meaning: 'what was lost: codes, keys or both', value: 'WHICH' } },
    load: async () => (await import('./sso-lockout.ts')).ssoSecondFactor,
  },
  {
    verb: 'sso unban',
    title: "Lift a ban of the portal's",
    summary:
      'Shows whom the portal has banned after failed logins, users and addresses, and lets them try again before their time is up. From release 4.39 on.',
    ...resumable('operate'),
    usage: '[USER|ADDRESS]',
    load: async () => (await import('./sso-lockout.ts')).ssoUnban,
  },
  {
    verb: 'sso rules',
    title: 'List the access rules of the portal',
    summary: 'The rules of access control in their order, the first that matches wins, and what holds where none does.',
    right: 'read',
    load: async () => (await import('./sso-check.ts')).ssoRules,
  },
  {
    verb: 'sso rule',
    title: 'Add an access rule to the portal',
    id: 'sso-rule-add',
    summary:
      'Writes a rule into the configuration, before the one that it is to go before. The running release checks it first; then it is a change like any other: shown, applied, and taken back with "rollback".',
    ...resumable('operate'),
    usage: '[DOMAIN]',
    flags: {
      policy: { meaning: 'deny, bypass, one_factor or two_factor', value: 'POLICY' },
      subject: { meaning: 'for whom alone: user:NAME or group:NAME; may be given again', value: 'SUBJECT', repeats: true },
      resource: { meaning: 'for which paths alone, a regular expression; may be given again', value: 'PATTERN', repeats: true },
      before: { meaning: 'the number of the rule that it goes before; 1 where nothing is said', value: 'NUMBER' },
    },
    ours: true,
    load: async () => (await import('./sso-rule-add.ts')).ssoRuleAdd,
  },
  {
    verb: 'sso test',
    title: 'Test which access rule is taken',
    summary: 'Has the portal itself say which of its rules is taken for an address and a user, and why the others are not.',
    right: 'read',
    usage: '[URL] [USER]',
    flags: {
      method: { meaning: 'of the request; GET where nothing is said', value: 'METHOD' },
      from: { meaning: 'the IP address of whoever asks', value: 'ADDRESS' },
    },
    load: async () => (await import('./sso-check.ts')).ssoTest,
  },
  {
    verb: 'sso check',
    title: 'Check how a name is protected',
    summary:
      'Asks the portal what the reverse proxy asks before it lets somebody through, as a browser and as a program, without a login, and explains the answer.',
    right: 'read',
    usage: '[URL]',
    load: async () => (await import('./sso-check.ts')).ssoCheck,
  },
]);
