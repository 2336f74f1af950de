import type { CatalogEntry } from '../catalog/catalog.ts';
import type { FlowAbout } from './flow.ts';

const managerFlags = {
  manager: { meaning: 'to or from the secrets manager at this address, instead of an age file', value: 'URL' },
  mount: { meaning: 'its key-value engine (default: secret)', value: 'NAME' },
  folder: { meaning: 'folder in that engine (default: quarterdeck)', value: 'PATH' },
} as const;

const eachSecret = (entry: CatalogEntry) => entry.fields.filter(({ secret }) => secret).map((field) => [entry.id, field.env ?? field.name]);

/** A revealed secret stays on the screen so long. */
export const revealedSeconds = 15;

/* What flows about secrets are called and take. Verbs, palette and help are made of this; the procedures are loaded when they run. */

export const secretsExportAbout: FlowAbout = {
  id: 'secrets-export',
  verb: 'secrets export',
  title: 'Export the secrets',
  summary:
    'Writes all secrets with their versions into an age file, for a public key (--to, may be given again) or a passphrase; or the newest versions to a secrets manager (--manager).',
  right: 'reveal',
  about: 'host',
  offline: true,
  usage: '[FILE]',
  flags: {
    to: { meaning: 'public key of whoever may read it', value: 'AGE1...', repeats: true },
    component: { meaning: 'only those of this component', value: 'ID' },
    ...managerFlags,
  },
};

export const secretsImportAbout: FlowAbout = {
  id: 'secrets-import',
  verb: 'secrets import',
  title: 'Import secrets',
  summary:
    'Takes secrets from an age file that was exported, or from a secrets manager (--manager), and shows first which are new and which would be replaced.',
  right: 'operate',
  about: 'host',
  offline: true,
  usage: '[FILE]',
  flags: { identity: { meaning: 'file with the secret key that opens it', value: 'FILE' }, ...managerFlags },
};

export const secretsListAbout: FlowAbout = {
  id: 'secrets-list',
  verb: 'secrets list',
  title: 'List the secrets and where they rest',
  summary: 'Lists every secret that is kept, without its value: versions, age, every place where it rests, and who can read it there.',
  right: 'read',
  about: 'host',
  offline: true,
  usage: '[COMPONENT]',
  wordsFor: ({ id }) => [[id]],
};

export const secretsMigrateAbout: FlowAbout = {
  id: 'secrets-migrate',
  verb: 'secrets migrate',
  title: 'Move the secrets to the keychain or to a sealed file',
  summary:
    'Copies all secrets to the other place, reads every value back, and only then removes them from the old one. One that was interrupted is gone on with.',
  right: 'operate',
  about: 'host',
  offline: true,
  flags: { to: { meaning: 'keychain or file', value: 'PLACE' } },
};

export const secretsResealAbout: FlowAbout = {
  id: 'secrets-reseal',
  verb: 'secrets reseal',
  title: 'Change the passphrase of the sealed secrets',
  summary:
    'Seals the file of secrets anew, with another passphrase, or with --key-file by the key file that QUARTERDECK_SECRETS_KEY_FILE names.',
  right: 'operate',
  about: 'host',
  offline: true,
  flags: { 'key-file': { meaning: 'with the key file instead of a passphrase' } },
};

export const secretsAcceptAbout: FlowAbout = {
  id: 'secrets-accept',
  verb: 'secrets accept',
  title: 'Accept the loss of sealed secrets',
  summary:
    'After the file of sealed secrets was lost, or an older copy was restored on purpose: uses the file that is there, or starts again without one.',
  right: 'destroy',
  about: 'host',
  offline: true,
};

export const secretsRemoveAbout: FlowAbout = {
  id: 'secrets-remove',
  verb: 'secrets remove',
  title: 'Forget a secret',
  summary:
    'Removes a secret with all its versions from the place where secrets are kept. Containers that have it keep their copy until they are removed.',
  right: 'destroy',
  about: 'host',
  offline: true,
  usage: 'COMPONENT VARIABLE',
  wordsFor: eachSecret,
};

export const secretsRevealAbout: FlowAbout = {
  id: 'secrets-reveal',
  verb: 'secrets reveal',
  title: 'Reveal a secret',
  summary: `Shows the value of a secret: in the console for ${revealedSeconds} seconds, in a terminal once. What was revealed, by whom and when is in the audit.`,
  right: 'reveal',
  about: 'host',
  offline: true,
  usage: 'COMPONENT VARIABLE',
  wordsFor: eachSecret,
  flags: {
    version: { meaning: 'that version, not the newest', value: 'ID' },
    copy: { meaning: 'put it on the clipboard instead of the screen' },
    plain: { meaning: 'the value alone, into a pipe' },
  },
};

export const secretsRotateAbout: FlowAbout = {
  id: 'secrets-rotate',
  verb: 'secrets rotate',
  title: 'Replace a secret by a new one',
  summary:
    'Makes a new value, keeps it as a version, puts it in force in everything that uses it, and proves that the new one works and the old one does not, where the component can be asked.',
  right: 'operate',
  about: 'host',
  usage: 'COMPONENT VARIABLE',
  wordsFor: eachSecret,
};

export const secretsSetAbout: FlowAbout = {
  id: 'secrets-set',
  verb: 'secrets set',
  title: 'Set a secret',
  summary: 'Keeps a value that you type, masked and twice, as the newest version of a secret. It is in force with the next deploy.',
  right: 'operate',
  about: 'host',
  offline: true,
  usage: 'COMPONENT VARIABLE',
  wordsFor: eachSecret,
};
