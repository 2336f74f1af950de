import type { FlowAbout } from './flow.ts';

/* What flows about the path-addressed secrets manager are called and take. The procedures are loaded when they run. */

export const initialiseAbout: FlowAbout = {
  id: 'initialise',
  verb: 'init',
  title: 'Initialise the secrets manager',
  summary:
    'Makes the key shares and the root token of a new secrets manager, and hands them out one at a time: each holder sees their share alone, writes it down, and proves that by typing it. They are shown this once, and kept nowhere.',
  right: 'reveal',
  about: 'component',
  offered: ({ speaks, word }) => speaks === 'vault' && word === 'not initialised',
};

export const unsealAbout: FlowAbout = {
  id: 'unseal',
  verb: 'unseal',
  title: 'Unseal the secrets manager',
  summary:
    'Takes key shares, one at a time and never shown, until the secrets manager has as many as it needs. Who holds only one of them gives that one and leaves: the others go on, here or at another console.',
  right: 'operate',
  about: 'component',
  offered: ({ speaks, word }) => speaks === 'vault' && word.startsWith('sealed'),
};

export const sealAbout: FlowAbout = {
  id: 'seal',
  verb: 'seal',
  title: 'Seal the secrets manager',
  summary:
    'Closes the secrets manager at once: nobody reads a secret until enough key shares are given again. Asks for a token that may do it.',
  right: 'destroy',
  about: 'component',
  offered: ({ speaks, word }) => speaks === 'vault' && /^(?:healthy|unsealed)/.test(word),
};
