import { mainRuns } from '../../fleet/service-state.ts';
import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { lazyFlows, resumable } from '../../flows/flow.ts';

export const identityFlows = lazyFlows({ about: 'component' }, [
  {
    verb: 'first-admin',
    title: 'Make the first account',
    summary:
      'Names the page where the first account or administrator is made, says what to do there and what closes the door behind them, and notes that it is done.',
    ...resumable('operate'),
    ours: true,
    offered: (component) => mainRuns(component) && setupTasksLeft(component).some(({ page }) => page !== undefined),
    load: async () => (await import('./first-admin.ts')).firstAdmin,
  },
  {
    verb: 'oidc check',
    title: 'Check the OIDC discovery',
    speaks: 'oidc',
    summary:
      'Reads the discovery document as a client does, and its keys: whether the issuer is the address that clients use, every endpoint is on https, and nothing is offered that no client should use.',
    right: 'read',
    usage: '[REALM|APPLICATION]',
    load: async () => (await import('./oidc.ts')).oidcCheck,
  },
  {
    verb: 'token inspect',
    title: 'Inspect a token',
    id: 'token',
    summary:
      'Says what a JSON web token claims, and whether it may be believed: the signature against the keys of its issuer, when it ends, for whom it is. Refuses "alg: none" and what has expired. The token is typed or piped in, and kept nowhere.',
    right: 'read',
    about: 'host',
    offline: true,
    flags: {
      issuer: { meaning: 'who must have made it; its keys are fetched from there', value: 'URL' },
      audience: { meaning: 'for whom it must be', value: 'NAME' },
      keys: { meaning: 'where its keys are (JWKS), where the issuer does not tell', value: 'URL' },
    },
    load: async () => (await import('./oidc.ts')).tokenInspect,
  },
  {
    verb: 'ldap users',
    title: 'List the people of the directory',
    speaks: 'ldap',
    summary: 'Who is in the directory, with their addresses. Asks for the password of whoever may look.',
    right: 'read',
    usage: '[BIND-DN]',
    load: async () => (await import('./ldap-people.ts')).ldapUsers,
  },
  {
    verb: 'ldap add',
    title: 'Add somebody to the directory',
    speaks: 'ldap',
    summary:
      'Makes an entry for somebody below the people of the directory, then sets their password with the operation made for that, so that the directory hashes it, and sees the login work.',
    ...resumable('operate'),
    usage: '[USER]',
    flags: {
      bind: { meaning: 'DN of who may add people; the administrator where nothing is said', value: 'DN' },
      name: { meaning: 'how they are called', value: 'TEXT' },
      email: { meaning: 'their mail address', value: 'ADDRESS' },
    },
    load: async () => (await import('./ldap-people.ts')).ldapAdd,
  },
  {
    verb: 'ca issue',
    title: 'Issue a certificate',
    speaks: 'step-ca',
    summary:
      'Has the internal authority issue a certificate for one or more names. The key is made on the host that uses it, never leaves it, and is readable by its owner alone.',
    ...resumable('operate'),
    usage: '[NAME...]',
    flags: {
      folder: { meaning: 'where certificate and key go on the host, absolute', value: 'FOLDER' },
      days: { meaning: 'how long it is to be valid; the authority has the last word', value: 'DAYS' },
    },
    load: async () => (await import('./ca.ts')).caIssue,
  },
  {
    verb: 'ca inspect',
    title: 'Inspect a certificate',
    speaks: 'step-ca',
    summary:
      'Says of a certificate in a file or behind an address for which names it is, who signed it, when it ends and whether the internal authority stands behind it.',
    right: 'read',
    usage: '[FILE|HOST:PORT]',
    load: async () => (await import('./ca.ts')).caInspect,
  },
]);
