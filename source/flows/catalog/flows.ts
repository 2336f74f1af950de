import { type Flow, flow, lazyFlows } from '../flow.ts';

export const catalogFlows: readonly Flow[] = lazyFlows({ about: 'host', offline: true }, [
  flow('read', 'config make', {
    title: 'Create a configuration file or Kubernetes object',
    summary:
      'Prompts for the settings of a configuration that is not deployed with compose (a limit range, a resource quota, an audit policy, a backup schedule), checks them, and prints the file or writes it to FILE.',
    usage: '[COMPONENT [FILE]]',
    load: async () => (await import('./config-check.ts')).configMake,
  }),
  flow('read', 'config check', {
    title: 'Check a configuration file',
    summary:
      "Checks the configuration file of a component and reports each problem with line and column. For a deployed component, also runs the product's own check, if there is one, in a temporary container. Files on this machine, and standard input with --stdin, are checked only by Quarterdeck. Exits with 1 if there are errors; warnings do not change the exit code.",
    usage: 'COMPONENT [FILE]',
    flags: { stdin: { meaning: 'read the configuration from standard input' } },
    wordsFor: ({ id, configFile }) => (configFile ? [[id]] : []),
    load: async () => (await import('./config-check.ts')).configCheck,
  }),
  flow('operate', 'catalog new', {
    title: 'Create a catalog entry',
    summary:
      'Prompts for the details of a component, and creates a component.yaml and a compose.yaml that pass "quarterdeck catalog check", in your catalog folder or in FOLDER. Each option answers one prompt; without a terminal, all options are required. With the ID of a built-in component, copies that component; the copy then replaces it. Existing files are never overwritten.',
    usage: '[ID] [FOLDER]',
    flags: {
      name: { meaning: 'name of the product', value: 'NAME' },
      kind: { meaning: 'kind of component, without the product name', value: 'TEXT' },
      group: { meaning: 'security, ai, media, vpn, productivity, networking or cluster', value: 'GROUP' },
      image: { meaning: 'image, with its tag', value: 'NAME' },
      port: { meaning: 'container port of the web UI', value: 'NUMBER' },
      'host-port': { meaning: 'default host port of the web UI; no other component may use it', value: 'NUMBER' },
      health: { meaning: 'path that responds without a login while the component is running', value: 'PATH' },
      volume: { meaning: 'folder in the container that stores data, or none; repeatable', value: 'PATH', repeats: true },
      'time-zone': { meaning: 'yes if the product reads its time zone from TZ, otherwise no', value: 'YES|NO' },
    },
    load: async () => (await import('./catalog-new.ts')).catalogNew,
  }),
]);
