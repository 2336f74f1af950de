import { isSealed } from '../../fleet/missing-components.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { lazyFlows, resumable } from '../../flows/flow.ts';

const managerFlags = {
  manager: { meaning: 'to or from the secrets manager at this address, instead of an age file', value: 'URL' },
  mount: { meaning: 'its key-value engine (default: secret)', value: 'NAME' },
  folder: { meaning: 'folder in that engine (default: quarterdeck)', value: 'PATH' },
} as const;

const openStates: ReadonlySet<string> = new Set(['healthy', 'unsealed', 'unsealed-standby', 'unsealed-secondary']);

const isOpen = ({ state }: ComponentView) => openStates.has(state.id);

const versionFlag = { version: { meaning: 'this version; may be given again', value: 'N', repeats: true } } as const;

export const vaultFlows = [
  ...lazyFlows({ about: 'component', speaks: 'vault', offered: isOpen }, [
    {
      id: 'initialise',
      verb: 'init',
      title: 'Initialise the secrets manager',
      summary:
        'Makes the key shares and the root token of a new secrets manager, and hands them out one at a time: each holder sees their share alone, writes it down, and proves that by typing it. They are shown this once, and kept nowhere. Or each is sealed with the PGP key of its holder.',
      ...resumable('reveal'),
      flags: { pgp: { meaning: 'public key of a holder, one for each share in turn', value: 'FILE', repeats: true } },
      offered: ({ state }) => state.id === 'not-initialised',
      load: async () => (await import('./initialise.ts')).initialise,
    },
    {
      verb: 'unseal',
      title: 'Unseal the secrets manager',
      summary:
        'Takes key shares, one at a time and never shown, until the secrets manager has as many as it needs. Who holds only one of them gives that one and leaves: the others go on, here or at another console. Nodes of one cluster are given the same shares, typed once.',
      ...resumable('operate'),
      flags: {
        also: {
          meaning: 'the node of the same cluster on this host too (HOST/PROJECT/COMPONENT where it has several); may be given again',
          value: 'HOST',
          repeats: true,
        },
      },
      offered: isSealed,
      load: async () => (await import('./unseal.ts')).unseal,
    },
    {
      verb: 'seal',
      title: 'Seal the secrets manager',
      summary:
        'Closes the secrets manager at once: nobody reads a secret until enough key shares are given again. Asks for a token that may do it.',
      ...resumable('destroy'),
      load: async () => (await import('./seal.ts')).seal,
    },
    {
      verb: 'vault login',
      title: 'Log in to the secrets manager',
      summary:
        'Takes a token, or logs in with AppRole or a password, looks the token up, and keeps it with the other secrets if you say so: what is done afterwards need not ask for it.',
      ...resumable('operate'),
      flags: { method: { meaning: 'token, approle or userpass', value: 'METHOD' } },
      load: async () => (await import('./vault-login.ts')).vaultLogin,
    },
    {
      verb: 'vault logout',
      title: 'Log out of the secrets manager',
      summary: 'Revokes the token that "vault login" keeps, and forgets it. A root token is only forgotten: it may be the last way in.',
      ...resumable('operate'),
      load: async () => (await import('./vault-login.ts')).vaultLogout,
    },
    {
      verb: 'vault token',
      title: 'Look up a token of the secrets manager',
      summary: 'Shows whose token it is, what it may do, how long it lasts and what made it; the token itself is not shown.',
      right: 'read',
      load: async () => (await import('./vault-login.ts')).vaultToken,
    },
    {
      verb: 'vault list',
      title: 'List what the secrets manager holds',
      summary: 'Lists the key-value engines, or the names below a path; no value is read.',
      right: 'read',
      usage: '[PATH]',
      load: async () => (await import('./vault-values.ts')).vaultList,
    },
    {
      verb: 'vault read',
      title: 'Read a path of the secrets manager',
      summary:
        'Shows the keys at a path, with their values hidden, and reveals the one that you choose: in the console for 15 seconds, in a terminal once. For key-value engines of version 1 and 2.',
      right: 'read',
      usage: '[PATH]',
      flags: {
        field: { meaning: 'reveal the value of this key', value: 'KEY' },
        version: { meaning: 'that version, not the newest', value: 'N' },
        copy: { meaning: 'put the value on the clipboard instead of the screen' },
        plain: { meaning: 'the value alone, into a pipe' },
      },
      load: async () => (await import('./vault-values.ts')).vaultRead,
    },
    {
      verb: 'vault write',
      title: 'Write a path of the secrets manager',
      summary:
        'Asks for the value of each key, masked and twice, and writes them; other keys of the path stay. Where the engine keeps versions it is refused when somebody else wrote meanwhile.',
      ...resumable('operate'),
      usage: '[PATH [KEY...]]',
      flags: { replace: { meaning: 'these keys alone: others of the path go' } },
      load: async () => (await import('./vault-values.ts')).vaultWrite,
    },
    {
      verb: 'vault versions',
      title: 'List the versions of a path of the secrets manager',
      summary: 'Lists the versions that the engine keeps of a path: when each was written, and whether it was deleted or destroyed.',
      right: 'read',
      usage: '[PATH]',
      load: async () => (await import('./vault-versions.ts')).vaultVersions,
    },
    {
      verb: 'vault delete',
      title: 'Delete a path of the secrets manager',
      summary:
        'Deletes the newest version of a path, or those that are named; "vault undelete" brings them back. In an engine that keeps no versions all keys of the path are lost, which is confirmed.',
      ...resumable('operate'),
      usage: '[PATH]',
      flags: versionFlag,
      load: async () => (await import('./vault-versions.ts')).vaultDelete,
    },
    {
      verb: 'vault undelete',
      title: 'Bring back a deleted path of the secrets manager',
      summary: 'Brings back the version of a path that was deleted last, or those that are named. What was destroyed does not come back.',
      ...resumable('operate'),
      usage: '[PATH]',
      flags: versionFlag,
      load: async () => (await import('./vault-versions.ts')).vaultUndelete,
    },
    {
      verb: 'vault destroy',
      title: 'Destroy versions of a path of the secrets manager',
      summary:
        'Destroys the versions that are named or chosen for good, or with --all the path with every version and all that is known of it.',
      ...resumable('destroy'),
      usage: '[PATH]',
      flags: { ...versionFlag, all: { meaning: 'the whole path, with all of its versions' } },
      load: async () => (await import('./vault-versions.ts')).vaultDestroy,
    },
    {
      verb: 'vault policies',
      title: 'Show the policies of the secrets manager',
      summary: 'Lists the policies, or shows what one of them allows.',
      right: 'read',
      usage: '[NAME]',
      load: async () => (await import('./access-control.ts')).vaultPolicies,
    },
    {
      verb: 'vault policy',
      title: 'Write a policy of the secrets manager',
      summary:
        'Makes a policy, or changes one: read or write below a path, or the whole of it in your editor, or piped in. Shows the difference first. --remove removes it.',
      ...resumable('operate'),
      usage: '[NAME]',
      flags: { stdin: { meaning: 'take the policy from what is piped in' }, remove: { meaning: 'remove it' } },
      load: async () => (await import('./access-control.ts')).vaultPolicy,
    },
    {
      verb: 'vault approle',
      title: 'Let a program log in to the secrets manager',
      summary:
        'Switches AppRole on where it is off, writes a role with its policies, and makes a secret id for it, which is tried and then shown once. Run for a role that is there it makes another secret id.',
      ...resumable('reveal'),
      usage: '[ROLE]',
      flags: {
        policy: { meaning: 'what it may do; may be given again', value: 'NAME', repeats: true },
        copy: { meaning: 'put the secret id on the clipboard instead of the screen' },
        plain: { meaning: 'the secret id alone, into a pipe' },
      },
      load: async () => (await import('./access-control.ts')).vaultApprole,
    },
    {
      verb: 'vault snapshot',
      title: 'Save a snapshot of the secrets manager',
      summary:
        'Takes a snapshot of its integrated storage, checks every sum in it, and saves it to a file that only you may read. It is encrypted, and opens with the key shares of now.',
      ...resumable('reveal'),
      usage: '[FILE]',
      load: async () => (await import('./vault-snapshot.ts')).vaultSnapshot,
    },
    {
      verb: 'vault restore',
      title: 'Go back to a snapshot of the secrets manager',
      summary:
        'Looks a snapshot through, saves what is there now to another file first, and puts the snapshot in the place of everything. It has to be open. One that was taken under other key shares needs --force, and opens with those shares afterwards.',
      ...resumable('destroy'),
      usage: '[FILE]',
      flags: {
        before: { meaning: 'save what is there now to this file first', value: 'FILE' },
        'without-before': { meaning: 'do not save what is there now' },
        force: { meaning: 'also a snapshot that was taken under other key shares' },
      },
      load: async () => (await import('./vault-snapshot.ts')).vaultRestore,
    },
    {
      verb: 'vault rotate',
      title: 'Make new key shares',
      summary:
        'Takes the key shares in force and makes new ones, as many as you say; each holder sees theirs alone, writes it down and types it again. Until all is proved the shares of before stay in force.',
      ...resumable('reveal'),
      load: async () => (await import('./vault-rotate.ts')).vaultRotate,
    },
    {
      verb: 'vault admin',
      title: 'Make an admin token of the secrets manager',
      summary:
        'Writes the policy admin where there is none and makes a token with it that outlives the one that made it, shown once to its holder, who types it again. With it the root token can go.',
      ...resumable('reveal'),
      load: async () => (await import('./admin-tokens.ts')).vaultAdmin,
    },
    {
      verb: 'vault root',
      title: 'Make a root token',
      summary:
        'Takes as many key shares as open it and makes one more root token, shown once to who asked for it. Left in the middle the attempt is cancelled. Newer servers want a token for this too.',
      ...resumable('reveal'),
      load: async () => (await import('./admin-tokens.ts')).vaultRoot,
    },
    {
      verb: 'vault revoke-root',
      title: 'Revoke a root token',
      summary:
        'Tries another way in first, and revokes the root token only then: an admin token that is no child of it and lasts, or key shares where they can make a root token without a login.',
      ...resumable('destroy'),
      load: async () => (await import('./vault-revoke-root.ts')).vaultRevokeRoot,
    },
  ]),
  ...lazyFlows({ about: 'host', offline: true }, [
    {
      verb: 'secrets export',
      title: 'Export the secrets',
      summary:
        'Writes all secrets with their versions into an age file, for a public key (--to, may be given again) or a passphrase; or the newest versions to a secrets manager (--manager).',
      right: 'reveal',
      usage: '[FILE]',
      flags: {
        to: { meaning: 'public key of whoever may read it', value: 'AGE1...', repeats: true },
        component: { meaning: 'only those of this component', value: 'ID' },
        ...managerFlags,
      },
      load: async () => (await import('./secrets-exchange.ts')).secretsExport,
    },
    {
      verb: 'secrets import',
      title: 'Import secrets',
      summary:
        'Takes secrets from an age file that was exported, or from a secrets manager (--manager), and shows first which are new and which would be replaced.',
      right: 'operate',
      usage: '[FILE]',
      flags: { identity: { meaning: 'file with the secret key that opens it', value: 'FILE' }, ...managerFlags },
      load: async () => (await import('./secrets-exchange.ts')).secretsImport,
    },
  ]),
];
