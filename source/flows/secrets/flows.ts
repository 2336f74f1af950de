import type { CatalogEntry } from '../../catalog/catalog.ts';
import { type Flow, lazyFlows } from '../flow.ts';

const oneSecret = {
  usage: 'COMPONENT VARIABLE',
  wordsFor: (entry: CatalogEntry) => entry.fields.filter(({ secret }) => secret).map((field) => [entry.id, field.env ?? field.name]),
};

/** Seconds that a revealed secret stays on the screen. */
export const revealedSeconds = 15;

export const secretFlows: readonly Flow[] = lazyFlows({ about: 'host', right: 'operate' }, [
  {
    verb: 'secrets list',
    title: 'List the secrets and where they rest',
    summary: 'Lists every secret that is kept, without its value: versions, age, every place where it rests, and who can read it there.',
    right: 'read',
    offline: true,
    usage: '[COMPONENT]',
    wordsFor: ({ id }) => [[id]],
    load: async () => (await import('./kept-secrets.ts')).secretsList,
  },
  {
    verb: 'secrets set',
    title: 'Set a secret',
    summary: 'Keeps a value that you type, masked and twice, as the newest version of a secret. It is in force with the next deploy.',
    offline: true,
    ...oneSecret,
    load: async () => (await import('./kept-secrets.ts')).secretsSet,
  },
  {
    verb: 'secrets reveal',
    title: 'Reveal a secret',
    summary: `Shows the value of a secret: in the console for ${revealedSeconds} seconds, in a terminal once. What was revealed, by whom and when is in the audit.`,
    right: 'reveal',
    offline: true,
    ...oneSecret,
    flags: {
      version: { meaning: 'that version, not the newest', value: 'ID' },
      copy: { meaning: 'put it on the clipboard instead of the screen' },
      plain: { meaning: 'the value alone, into a pipe' },
    },
    load: async () => (await import('./kept-secrets.ts')).secretsReveal,
  },
  {
    verb: 'secrets rotate',
    title: 'Replace a secret by a new one',
    summary:
      'Makes a new value, keeps it as a version, puts it in force in everything that uses it, and proves that the new one works and the old one does not, where the component can be asked.',
    ...oneSecret,
    load: async () => (await import('./secrets-rotate.ts')).secretsRotate,
  },
  {
    verb: 'secrets remove',
    title: 'Forget a secret',
    summary:
      'Removes a secret with all its versions from the place where secrets are kept. Containers that have it keep their copy until they are removed.',
    right: 'destroy',
    offline: true,
    ...oneSecret,
    load: async () => (await import('./kept-secrets.ts')).secretsRemove,
  },
  {
    verb: 'secrets migrate',
    title: 'Move the secrets to the keychain or to a sealed file',
    summary:
      'Copies all secrets to the other place, reads every value back, and only then removes them from the old one. One that was interrupted is gone on with.',
    offline: true,
    flags: { to: { meaning: 'keychain or file', value: 'PLACE' } },
    load: async () => (await import('./kept-secrets.ts')).secretsMigrate,
  },
  {
    verb: 'secrets accept',
    title: 'Accept the loss of sealed secrets',
    summary:
      'After the file of sealed secrets was lost, or an older copy was restored on purpose: uses the file that is there, or starts again without one.',
    right: 'destroy',
    offline: true,
    load: async () => (await import('./kept-secrets.ts')).secretsAccept,
  },
  {
    verb: 'secrets reseal',
    title: 'Change the passphrase of the sealed secrets',
    summary:
      'Seals the file of secrets anew, with another passphrase, or with --key-file by the key file that QUARTERDECK_SECRETS_KEY_FILE names.',
    offline: true,
    flags: { 'key-file': { meaning: 'with the key file instead of a passphrase' } },
    load: async () => (await import('./kept-secrets.ts')).secretsReseal,
  },
]);
