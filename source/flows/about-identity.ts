import { dutiesLeft } from '../fleet/duties.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { FlowAbout } from './flow.ts';

/* What flows about the password vault, identity providers, the directory and the internal authority are called and take. The procedures are loaded when they run. */

const runs = ({ services }: ComponentView) =>
  services.some(({ main, state }) => main && /^(?:running|healthy|unhealthy|starting)$/.test(state));

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
  offered: (component) => runs(component) && dutiesLeft(component).some(({ page }) => page !== undefined),
};

export const closeSignupsAbout: FlowAbout = {
  id: 'close-signups',
  verb: 'close-signups',
  title: 'Close signups',
  summary:
    'Sets SIGNUPS_ALLOWED to "false" as any other change, and asks the running vault whether it really turns new accounts away: a value saved on its admin page wins over the setting.',
  right: 'operate',
  about: 'component',
  speaks: 'vaultwarden',
  ours: true,
  offered: (component) => component.speaks === 'vaultwarden' && runs(component) && component.word === 'signups open',
};

export const adminTokenAbout: FlowAbout = {
  id: 'admin-token',
  verb: 'admin-token',
  title: 'Replace the admin token',
  summary:
    'Makes a new admin token and shows it once. The vault is given its argon2id hash alone, which opens nothing by itself; then the new token is seen to work, and the old one to be dead.',
  right: 'reveal',
  about: 'component',
  speaks: 'vaultwarden',
  ours: true,
  offered: (component) => component.speaks === 'vaultwarden' && runs(component),
};

export const oidcCheckAbout: FlowAbout = {
  id: 'oidc-check',
  verb: 'oidc check',
  title: 'Check the OIDC discovery',
  summary:
    'Reads the discovery document as a client does, and its keys: whether the issuer is the address that clients use, every endpoint is on https, and nothing is offered that no client should use.',
  right: 'read',
  about: 'component',
  speaks: 'oidc',
  usage: '[REALM|APPLICATION]',
  offered: (component) => component.speaks === 'oidc' && runs(component),
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
  id: 'ldap-users',
  verb: 'ldap users',
  title: 'List the people of the directory',
  summary: 'Who is in the directory, with their addresses. Asks for the password of whoever may look.',
  right: 'read',
  about: 'component',
  speaks: 'ldap',
  usage: '[BIND-DN]',
  offered: (component) => component.speaks === 'ldap' && runs(component),
};

export const ldapAddAbout: FlowAbout = {
  id: 'ldap-add',
  verb: 'ldap add',
  title: 'Add somebody to the directory',
  summary:
    'Makes an entry for somebody below the people of the directory, then sets their password with the operation made for that, so that the directory hashes it, and sees the login work.',
  right: 'operate',
  about: 'component',
  speaks: 'ldap',
  usage: '[USER]',
  resumes: true,
  flags: {
    bind: { meaning: 'DN of who may add people; the administrator where nothing is said', value: 'DN' },
    name: { meaning: 'how they are called', value: 'TEXT' },
    email: { meaning: 'their mail address', value: 'ADDRESS' },
  },
  offered: (component) => component.speaks === 'ldap' && runs(component),
};

export const caIssueAbout: FlowAbout = {
  id: 'ca-issue',
  verb: 'ca issue',
  title: 'Issue a certificate',
  summary:
    'Has the internal authority issue a certificate for one or more names. The key is made on the host that uses it, never leaves it, and is readable by its owner alone.',
  right: 'operate',
  about: 'component',
  speaks: 'step-ca',
  usage: '[NAME...]',
  flags: {
    folder: { meaning: 'where certificate and key go on the host, absolute', value: 'FOLDER' },
    days: { meaning: 'how long it is to be valid; the authority has the last word', value: 'DAYS' },
  },
  offered: (component) => component.speaks === 'step-ca' && runs(component),
};

export const caInspectAbout: FlowAbout = {
  id: 'ca-inspect',
  verb: 'ca inspect',
  title: 'Inspect a certificate',
  summary:
    'Says of a certificate in a file or behind an address for which names it is, who signed it, when it ends and whether the internal authority stands behind it.',
  right: 'read',
  about: 'component',
  speaks: 'step-ca',
  usage: '[FILE|HOST:PORT]',
  offered: (component) => component.speaks === 'step-ca' && runs(component),
};
