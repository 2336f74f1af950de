import { mainRuns } from '../../fleet/service-state.ts';
import { setupTasksLeft } from '../../fleet/setup-tasks.ts';
import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const identityFlows = lazyFlows({ about: 'component' }, [
  resumableFlow('operate', 'first-admin', {
    title: 'Create the first account',
    summary:
      'Shows the page where you create the first account or administrator, what to do there, and how to disable sign-ups afterwards. Then records that the task is done.',
    ours: true,
    offered: (component) => mainRuns(component) && setupTasksLeft(component).some(({ page }) => page !== undefined),
    load: async () => (await import('./first-admin.ts')).firstAdmin,
  }),
  flow('read', 'oidc check', {
    title: 'Check OIDC discovery',
    speaks: 'oidc',
    summary:
      'Checks the discovery document and the keys as a client would: that the issuer is the address that clients use, that every endpoint uses https, and that nothing insecure is offered.',
    usage: '[REALM|APPLICATION]',
    load: async () => (await import('./oidc.ts')).oidcCheck,
  }),
  flow('read', 'token inspect', {
    title: 'Inspect a token',
    id: 'token',
    summary:
      'Shows the claims of a JSON Web Token (JWT) and checks its signature, expiry and audience. Rejects "alg: none" and expired tokens. Type or pipe in the token; it is not stored.',
    about: 'host',
    offline: true,
    flags: {
      issuer: { meaning: 'expected issuer, from which the keys are fetched', value: 'URL' },
      audience: { meaning: 'expected audience', value: 'NAME' },
      keys: { meaning: 'URL of the key set (JWKS), if the issuer does not list one', value: 'URL' },
    },
    load: async () => (await import('./oidc.ts')).tokenInspect,
  }),
  flow('read', 'ldap users', {
    title: 'List the users of the directory',
    speaks: 'ldap',
    summary: 'Lists the users in the directory with their email addresses. Prompts for the password of a user with read access.',
    usage: '[BIND-DN]',
    load: async () => (await import('./ldap-people.ts')).ldapUsers,
  }),
  resumableFlow('operate', 'ldap add', {
    title: 'Add a user to the directory',
    speaks: 'ldap',
    summary:
      'Creates an entry for a user, sets the password with the LDAP password modify operation so that the directory hashes it, and verifies the login.',
    usage: '[USER]',
    flags: {
      bind: { meaning: 'DN of a user with write access (default: the administrator)', value: 'DN' },
      name: { meaning: 'full name', value: 'TEXT' },
      email: { meaning: 'email address of the user', value: 'ADDRESS' },
    },
    load: async () => (await import('./ldap-people.ts')).ldapAdd,
  }),
  resumableFlow('operate', 'ca issue', {
    title: 'Issue a certificate',
    speaks: 'step-ca',
    summary:
      'Issues a certificate from the internal certificate authority for one or more names. The key is created on the host, is not sent to the certificate authority, and is readable only by its owner.',
    usage: '[NAME...]',
    flags: {
      folder: { meaning: 'absolute path of the host folder for the certificate and key', value: 'FOLDER' },
      days: { meaning: 'validity in days; limited by the certificate authority', value: 'DAYS' },
    },
    load: async () => (await import('./ca.ts')).caIssue,
  }),
  flow('read', 'ca inspect', {
    title: 'Inspect a certificate',
    speaks: 'step-ca',
    summary:
      'Shows the names, the issuer and the expiry of a certificate, read from a file or from a server, and whether the internal certificate authority issued it.',
    usage: '[FILE|HOST:PORT]',
    load: async () => (await import('./ca.ts')).caInspect,
  }),
]);
