import { dutiesLeft } from '../fleet/duties.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { FlowAbout } from './flow.ts';
import { mainRuns } from './offered-to.ts';

/* What flows about the password vault, identity providers, the directory and the internal authority are called and take. The procedures are loaded when they run. */

/** What speaks an API, while its main service runs. */
const of = (api: string) =>
  ({ about: 'component', speaks: api, offered: ({ speaks, services }: ComponentView) => speaks === api && mainRuns(services) }) as const;

export const firstAdminAbout: FlowAbout = {
  id: 'first-admin',
  verb: 'first-admin',
  title: 'Make the first account',
  summary:
    'Names the page where the first account or administrator is made, says what to do there and what closes the door behind them, and notes that it is done.',
  right: 'operate',
  about: 'component',
  ours: true,
  resumes: true,
  offered: (component) => mainRuns(component.services) && dutiesLeft(component).some(({ page }) => page !== undefined),
};

export const closeSignupsAbout: FlowAbout = {
  id: 'close-signups',
  verb: 'close-signups',
  title: 'Close signups',
  summary:
    'Sets SIGNUPS_ALLOWED to "false" as any other change, and asks the running vault whether it really turns new accounts away: a value saved on its admin page wins over the setting.',
  right: 'operate',
  resumes: true,
  about: 'component',
  speaks: 'vaultwarden',
  ours: true,
  offered: ({ speaks, services, word }) => speaks === 'vaultwarden' && mainRuns(services) && word === 'signups open',
};

export const adminTokenAbout: FlowAbout = {
  ...of('vaultwarden'),
  id: 'admin-token',
  verb: 'admin-token',
  title: 'Replace the admin token',
  summary:
    'Makes a new admin token and shows it once. The vault is given its argon2id hash alone, which opens nothing by itself; then the new token is seen to work, and the old one to be dead.',
  right: 'reveal',
  resumes: true,
  ours: true,
};

export const oidcCheckAbout: FlowAbout = {
  ...of('oidc'),
  id: 'oidc-check',
  verb: 'oidc check',
  title: 'Check the OIDC discovery',
  summary:
    'Reads the discovery document as a client does, and its keys: whether the issuer is the address that clients use, every endpoint is on https, and nothing is offered that no client should use.',
  right: 'read',
  usage: '[REALM|APPLICATION]',
};

export const tokenAbout: FlowAbout = {
  id: 'token',
  verb: 'token inspect',
  title: 'Inspect a token',
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
};

export const ldapUsersAbout: FlowAbout = {
  ...of('ldap'),
  id: 'ldap-users',
  verb: 'ldap users',
  title: 'List the people of the directory',
  summary: 'Who is in the directory, with their addresses. Asks for the password of whoever may look.',
  right: 'read',
  usage: '[BIND-DN]',
};

export const ldapAddAbout: FlowAbout = {
  ...of('ldap'),
  id: 'ldap-add',
  verb: 'ldap add',
  title: 'Add somebody to the directory',
  summary:
    'Makes an entry for somebody below the people of the directory, then sets their password with the operation made for that, so that the directory hashes it, and sees the login work.',
  right: 'operate',
  usage: '[USER]',
  resumes: true,
  flags: {
    bind: { meaning: 'DN of who may add people; the administrator where nothing is said', value: 'DN' },
    name: { meaning: 'how they are called', value: 'TEXT' },
    email: { meaning: 'their mail address', value: 'ADDRESS' },
  },
};

export const caIssueAbout: FlowAbout = {
  ...of('step-ca'),
  id: 'ca-issue',
  verb: 'ca issue',
  title: 'Issue a certificate',
  summary:
    'Has the internal authority issue a certificate for one or more names. The key is made on the host that uses it, never leaves it, and is readable by its owner alone.',
  right: 'operate',
  resumes: true,
  usage: '[NAME...]',
  flags: {
    folder: { meaning: 'where certificate and key go on the host, absolute', value: 'FOLDER' },
    days: { meaning: 'how long it is to be valid; the authority has the last word', value: 'DAYS' },
  },
};

export const caInspectAbout: FlowAbout = {
  ...of('step-ca'),
  id: 'ca-inspect',
  verb: 'ca inspect',
  title: 'Inspect a certificate',
  summary:
    'Says of a certificate in a file or behind an address for which names it is, who signed it, when it ends and whether the internal authority stands behind it.',
  right: 'read',
  usage: '[FILE|HOST:PORT]',
};
