import type { CatalogEntry } from '../../catalog/catalog.ts';
import { type Flow, flow, lazyFlows } from '../flow.ts';

const oneSecret = {
  usage: 'COMPONENT VARIABLE',
  wordsFor: (entry: CatalogEntry) => entry.fields.filter(({ secret }) => secret).map((field) => [entry.id, field.env ?? field.name]),
};

/** Seconds that a revealed secret stays on the screen. */
export const revealedSeconds = 15;

export const secretFlows: readonly Flow[] = lazyFlows({ about: 'host' }, [
  flow('read', 'secrets list', {
    title: 'List secrets and where they are stored',
    summary: 'Lists every stored secret without its value: versions, age, where it is stored, and who can read it there.',
    offline: true,
    usage: '[COMPONENT]',
    wordsFor: ({ id }) => [[id]],
    load: async () => (await import('./kept-secrets.ts')).secretsList,
  }),
  flow('operate', 'secrets set', {
    title: 'Set a secret',
    summary: 'Stores a value that you type twice, masked, as the newest version of a secret. The value takes effect with the next deploy.',
    offline: true,
    ...oneSecret,
    load: async () => (await import('./kept-secrets.ts')).secretsSet,
  }),
  flow('reveal', 'secrets reveal', {
    title: 'Reveal a secret',
    summary: `Shows the value of a secret: in the console for ${revealedSeconds} seconds, in a terminal once. The audit log records what was revealed, by whom and when.`,
    offline: true,
    ...oneSecret,
    flags: {
      version: { meaning: 'show this version instead of the newest', value: 'ID' },
      copy: { meaning: 'copy the value to the clipboard instead of showing it' },
      plain: { meaning: 'print only the value; required in a pipe' },
    },
    load: async () => (await import('./kept-secrets.ts')).secretsReveal,
  }),
  flow('operate', 'secrets rotate', {
    title: 'Rotate a secret',
    summary:
      'Generates a new value, stores it as a version, applies it to everything that uses it and, if the component supports it, verifies that the new value works and the old one does not.',
    ...oneSecret,
    load: async () => (await import('./secrets-rotate.ts')).secretsRotate,
  }),
  flow('destroy', 'secrets remove', {
    title: 'Remove a secret',
    summary:
      'Removes a secret with all of its versions from the secret store. Containers that use it keep their copy until they are removed.',
    offline: true,
    ...oneSecret,
    load: async () => (await import('./kept-secrets.ts')).secretsRemove,
  }),
  flow('operate', 'secrets migrate', {
    title: 'Move the secrets to the keychain or to a sealed file',
    summary:
      'Copies all secrets to the other backend, reads every value back, and only then removes them from the old one. Resumes an interrupted migration.',
    offline: true,
    flags: { to: { meaning: 'keychain or file', value: 'BACKEND' } },
    load: async () => (await import('./kept-secrets.ts')).secretsMigrate,
  }),
  flow('destroy', 'secrets accept', {
    title: 'Accept the loss of sealed secrets',
    summary: 'After the sealed file was lost, or an older copy was restored on purpose: accepts the existing file, or starts a new one.',
    offline: true,
    load: async () => (await import('./kept-secrets.ts')).secretsAccept,
  }),
  flow('operate', 'secrets reseal', {
    title: 'Change the passphrase of the sealed secrets',
    summary:
      'Encrypts the sealed file again with another passphrase, or, with --key-file, with the key file that QUARTERDECK_SECRETS_KEY_FILE names.',
    offline: true,
    flags: { 'key-file': { meaning: 'use the key file instead of a passphrase' } },
    load: async () => (await import('./kept-secrets.ts')).secretsReseal,
  }),
]);
