import type { FlowAbout } from './flow.ts';

/* What flows about the operator's own catalog are called and take. The procedures are loaded when they run. */

export const catalogNewAbout: FlowAbout = {
  id: 'catalog-new',
  verb: 'catalog new',
  title: 'Begin a catalog entry of your own',
  summary:
    'Writes a small component.yaml and compose.yaml that "catalog check" accepts, into the own catalog folder or the named one. With the name of a built-in component it begins as a copy of that, which from then on is used instead of it. What is there is never written over.',
  right: 'operate',
  about: 'host',
  offline: true,
  usage: '[ID] [FOLDER]',
  flags: {
    image: { meaning: 'the image that it runs from, with its tag', value: 'NAME' },
    port: { meaning: 'the port that its page has in the container', value: 'NUMBER' },
  },
};
