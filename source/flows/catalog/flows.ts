import { type Flow, lazyFlows } from '../flow.ts';

export const catalogFlows: readonly Flow[] = lazyFlows({ about: 'host', offline: true }, [
  {
    verb: 'config make',
    title: 'Make a configuration file or an object of a cluster',
    summary:
      'Asks for the settings of something that is not deployed with compose (a limit range, a resource quota, an audit policy, a backup schedule) and makes its file: shown, or written where one is named. It is checked first.',
    right: 'read',
    usage: '[COMPONENT [FILE]]',
    load: async () => (await import('./config-check.ts')).configMake,
  },
  {
    verb: 'config check',
    title: 'Check its configuration file',
    summary:
      "Reads the configuration file of a component and says what is wrong with it, with line and column: its form here, and for what is deployed the product's own check, in a container that ends with it. A file of this machine, or with --stdin what is piped in, is checked for its form alone. Ends with 1 where something is wrong.",
    right: 'read',
    usage: 'COMPONENT [FILE]',
    flags: { stdin: { meaning: 'take the configuration from what is piped in' } },
    wordsFor: ({ id, configFile }) => (configFile ? [[id]] : []),
    load: async () => (await import('./config-check.ts')).configCheck,
  },
  {
    verb: 'catalog new',
    title: 'Begin a catalog entry of your own',
    summary:
      'Writes a small component.yaml and compose.yaml that "catalog check" accepts, into the own catalog folder or the named one. With the name of a built-in component it begins as a copy of that, which from then on is used instead of it. What is there is never written over.',
    right: 'operate',
    usage: '[ID] [FOLDER]',
    flags: {
      image: { meaning: 'the image that it runs from, with its tag', value: 'NAME' },
      port: { meaning: 'the port that its page has in the container', value: 'NUMBER' },
    },
    load: async () => (await import('./catalog-new.ts')).catalogNew,
  },
]);
