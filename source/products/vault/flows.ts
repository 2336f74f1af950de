import { isSealed } from '../../fleet/missing-components.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

const managerFlags = {
  manager: { meaning: 'URL of a secrets manager to use instead of an age file', value: 'URL' },
  mount: { meaning: 'key-value engine in the secrets manager (default: secret)', value: 'NAME' },
  folder: { meaning: 'folder in the key-value engine (default: quarterdeck)', value: 'PATH' },
} as const;

const openStates: ReadonlySet<string> = new Set(['healthy', 'unsealed', 'unsealed-standby', 'unsealed-secondary']);

const isOpen = ({ state }: ComponentView) => openStates.has(state.id);

const versionFlag = { version: { meaning: 'version; repeatable', value: 'N', repeats: true } } as const;

export const vaultFlows = [
  ...lazyFlows({ about: 'component', speaks: 'vault', offered: isOpen }, [
    resumableFlow('reveal', 'init', {
      id: 'initialise',
      title: 'Initialise the secrets manager',
      summary:
        'Creates the key shares and the root token of a new secrets manager and delivers them one at a time: each holder sees only their share, writes it down, and verifies it by typing it. They are shown once and not stored. Alternatively, encrypts each share with the PGP key of its holder.',
      flags: { pgp: { meaning: 'PGP public key of a holder; repeat for each share, in order', value: 'FILE', repeats: true } },
      offered: ({ state }) => state.id === 'not-initialised',
      load: async () => (await import('./initialise.ts')).initialise,
    }),
    resumableFlow('operate', 'unseal', {
      title: 'Unseal the secrets manager',
      summary:
        'Prompts for key shares one at a time, without showing them, until the secrets manager is unsealed. A holder of one share can enter it and quit; others can continue, here or on another console. Other nodes of the cluster can receive the same shares.',
      flags: {
        also: {
          meaning: 'also unseal the node of the same cluster on HOST (HOST/PROJECT/COMPONENT if it has several); repeatable',
          value: 'HOST',
          repeats: true,
        },
      },
      offered: isSealed,
      load: async () => (await import('./unseal.ts')).unseal,
    }),
    resumableFlow('destroy', 'seal', {
      title: 'Seal the secrets manager',
      summary:
        'Seals the secrets manager immediately. No secret can be read until enough key shares are entered again. Prompts for a token with permission to seal.',
      load: async () => (await import('./seal.ts')).seal,
    }),
    resumableFlow('operate', 'vault login', {
      title: 'Log in to the secrets manager',
      summary:
        'Logs in with a token, AppRole or a password, looks up the token, and optionally saves it to the secret store, so that later commands do not prompt for it.',
      flags: { method: { meaning: 'token, approle or userpass', value: 'METHOD' } },
      load: async () => (await import('./vault-login.ts')).vaultLogin,
    }),
    resumableFlow('operate', 'vault logout', {
      title: 'Log out of the secrets manager',
      summary:
        'Revokes the stored token and deletes it. A root token is only deleted, not revoked, because it may be the last one with full access.',
      load: async () => (await import('./vault-login.ts')).vaultLogout,
    }),
    flow('read', 'vault token', {
      title: 'Show a token for the secrets manager',
      summary: 'Shows the name, permissions, validity and origin of a token; the token itself is not shown.',
      load: async () => (await import('./vault-login.ts')).vaultToken,
    }),
    flow('read', 'vault list', {
      title: 'List paths in the secrets manager',
      summary: 'Lists the key-value engines, or the names below a path; no value is read.',
      usage: '[PATH]',
      load: async () => (await import('./vault-values.ts')).vaultList,
    }),
    flow('read', 'vault read', {
      title: 'Read a path in the secrets manager',
      summary:
        'Shows the keys at a path, with their values hidden, and reveals the one that you choose: in the console for 15 seconds, in a terminal once. Works with key-value engines of version 1 and 2.',
      usage: '[PATH]',
      flags: {
        field: { meaning: 'reveal the value of this key', value: 'KEY' },
        version: { meaning: 'version to read (default: the newest)', value: 'N' },
        copy: { meaning: 'copy the value to the clipboard instead of showing it' },
        plain: { meaning: 'print only the value, for use in a pipe' },
      },
      load: async () => (await import('./vault-values.ts')).vaultRead,
    }),
    resumableFlow('operate', 'vault write', {
      title: 'Write a path in the secrets manager',
      summary:
        'Prompts for the value of each key (masked, twice) and writes the values. Other keys of the path are kept. If the engine keeps versions, changes made in the meantime are not overwritten.',
      usage: '[PATH [KEY...]]',
      flags: { replace: { meaning: 'delete all other keys of the path' } },
      load: async () => (await import('./vault-values.ts')).vaultWrite,
    }),
    flow('read', 'vault versions', {
      title: 'List the versions of a path in the secrets manager',
      summary: 'Lists the versions of a path: when each was written, and whether it was deleted or destroyed.',
      usage: '[PATH]',
      load: async () => (await import('./vault-versions.ts')).vaultVersions,
    }),
    resumableFlow('operate', 'vault delete', {
      title: 'Delete a path in the secrets manager',
      summary:
        'Deletes the newest version of a path, or the specified versions. To restore them: quarterdeck vault undelete COMPONENT. In an engine without versions, all keys of the path are lost, and confirmation is required.',
      usage: '[PATH]',
      flags: versionFlag,
      load: async () => (await import('./vault-versions.ts')).vaultDelete,
    }),
    resumableFlow('operate', 'vault undelete', {
      title: 'Restore a deleted path in the secrets manager',
      summary: 'Restores the last deleted version of a path, or the specified versions. Destroyed versions cannot be restored.',
      usage: '[PATH]',
      flags: versionFlag,
      load: async () => (await import('./vault-versions.ts')).vaultUndelete,
    }),
    resumableFlow('destroy', 'vault destroy', {
      title: 'Destroy versions of a path in the secrets manager',
      summary: 'Permanently destroys the specified or selected versions, or the path with all versions and metadata (--all).',
      usage: '[PATH]',
      flags: { ...versionFlag, all: { meaning: 'the whole path, with all of its versions' } },
      load: async () => (await import('./vault-versions.ts')).vaultDestroy,
    }),
    flow('read', 'vault policies', {
      title: 'Show the policies of the secrets manager',
      summary: 'Lists the policies, or shows one of them.',
      usage: '[NAME]',
      load: async () => (await import('./access-control.ts')).vaultPolicies,
    }),
    resumableFlow('operate', 'vault policy', {
      title: 'Write a policy for the secrets manager',
      summary:
        'Creates or changes a policy: grants read or write access below a path, or uses a policy text from your editor or standard input. Shows the diff first. --remove removes the policy.',
      usage: '[NAME]',
      flags: { stdin: { meaning: 'read the policy from standard input' }, remove: { meaning: 'remove the policy' } },
      load: async () => (await import('./access-control.ts')).vaultPolicy,
    }),
    resumableFlow('reveal', 'vault approle', {
      title: 'Set up a program login (AppRole)',
      summary:
        'Enables AppRole if needed, writes a role with its policies, and creates a secret ID, which is tested and then shown once. For an existing role, creates another secret ID.',
      usage: '[ROLE]',
      flags: {
        policy: { meaning: 'policy of the role; repeatable', value: 'NAME', repeats: true },
        copy: { meaning: 'copy the secret ID to the clipboard instead of showing it' },
        plain: { meaning: 'print only the secret ID, for use in a pipe' },
      },
      load: async () => (await import('./access-control.ts')).vaultApprole,
    }),
    resumableFlow('reveal', 'vault snapshot', {
      title: 'Save a snapshot of the secrets manager',
      summary:
        'Creates a snapshot of the integrated storage, verifies the checksums, and saves the snapshot to a file readable only by you. The snapshot is encrypted, and a restore requires the current key shares or auto-unseal.',
      usage: '[FILE]',
      load: async () => (await import('./vault-snapshot.ts')).vaultSnapshot,
    }),
    resumableFlow('destroy', 'vault restore', {
      title: 'Restore a snapshot of the secrets manager',
      summary:
        'Verifies a snapshot, saves the current state to another file, and replaces all data with the snapshot. The server must be unsealed. A snapshot created with other key shares requires --force; those shares then unseal the server.',
      usage: '[FILE]',
      flags: {
        before: { meaning: 'first save the current state to this file', value: 'FILE' },
        'without-before': { meaning: 'do not save the current state' },
        force: { meaning: 'accept a snapshot created with other key shares' },
      },
      load: async () => (await import('./vault-snapshot.ts')).vaultRestore,
    }),
    resumableFlow('reveal', 'vault rotate', {
      title: 'Rotate the key shares',
      summary:
        'Prompts for the current key shares and creates new ones. Each holder sees only their share, writes it down and types it again. The previous shares stay valid until all new ones are verified.',
      load: async () => (await import('./vault-rotate.ts')).vaultRotate,
    }),
    resumableFlow('reveal', 'vault admin', {
      title: 'Create an admin token for the secrets manager',
      summary:
        'Creates the admin policy if it is missing, and an orphan token with this policy, which can replace the root token. Reports what an existing policy does not allow. The token is shown once to its holder, who types it again.',
      load: async () => (await import('./admin-tokens.ts')).vaultAdmin,
    }),
    resumableFlow('reveal', 'vault root', {
      title: 'Create a root token',
      summary:
        'Prompts for the required key shares and creates a root token, shown once to the user who started it. If you quit before the last share, your attempt is cancelled. Newer servers also require a token.',
      load: async () => (await import('./admin-tokens.ts')).vaultRoot,
    }),
    resumableFlow('destroy', 'vault revoke-root', {
      title: 'Revoke a root token',
      summary:
        'Revokes a root token after verifying that other access remains: a lasting admin token that is not a child of the root token, or key shares that can create a root token without a login.',
      load: async () => (await import('./vault-revoke-root.ts')).vaultRevokeRoot,
    }),
  ]),
  ...lazyFlows({ about: 'host', offline: true }, [
    flow('reveal', 'secrets export', {
      title: 'Export the secrets',
      summary:
        'Writes all secrets with their versions to an age file, encrypted for a public key (--to, repeatable) or with a passphrase. With --manager, writes only the newest versions, to a secrets manager.',
      usage: '[FILE]',
      flags: {
        to: { meaning: 'public key of the recipient', value: 'AGE1...', repeats: true },
        component: { meaning: 'only the secrets of this component', value: 'ID' },
        ...managerFlags,
      },
      load: async () => (await import('./secrets-exchange.ts')).secretsExport,
    }),
    flow('operate', 'secrets import', {
      title: 'Import secrets',
      summary:
        'Imports secrets from an exported age file, or from a secrets manager (--manager). First shows which secrets are new and which would be replaced.',
      usage: '[FILE]',
      flags: { identity: { meaning: 'file with the secret key that decrypts the export', value: 'FILE' }, ...managerFlags },
      load: async () => (await import('./secrets-exchange.ts')).secretsImport,
    }),
  ]),
];
