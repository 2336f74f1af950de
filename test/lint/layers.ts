import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** The folders of `source/`, top to bottom: an import points downwards in this list. The last three are one floor. */
export const layers: Readonly<Record<string, string>> = {
  console: 'the Ink app: screens/<name>/, widgets/, hooks/, keymap.ts, theme.ts',
  cli: 'the same without a screen: commands/, prompts, --json, completion',
  app: 'what console, commands and unattended runs share: opened hosts, engines, catalog, secrets; the flow registry',
  products: '<product>/: its flows, client/ and simulator/; no product imports another',
  flows: 'what a flow is, and the flows of no product: components/ operations/ deploy/ backup/ secrets/ hosts/ catalog/',
  notifications: 'rules about the fleet, and messages to people and programs when one applies',
  stack: 'what is deployed on a host: plan/ preflight/ apply/ backup/',
  logs: 'lines of containers: followed, merged, kept in rings, searched',
  fleet: 'what should run and what does: one model joined from engines, probes and catalog',
  'config-files': 'checks configuration files of components against their schema',
  calls: 'runs what component.yaml declares: http, exec, tcp, file, engine; CEL conditions; the only HTTP client',
  catalog: 'schema, loader, lint, field types, generators, compiler',
  engine: 'Docker, Podman and Swarm through dockerode, and their quirks',
  hosts: 'local and ssh; the only layer that touches files, sockets and processes of a managed host',
  session: 'what a flow is given: ask, show, act; grants, journal, audit',
  secrets: 'the OS keychain, or a sealed file',
  config: 'settings, our own files and where they are',
  yaml: 'reads YAML and says in words where it is wrong',
  faults: '',
  grants: '',
  text: 'everything from outside is cleaned here before it reaches a screen',
};
export const bottom = ['faults', 'grants', 'text'];

const machine = ['fs', 'fs/promises', 'net', 'child_process', 'http', 'https', 'tls', 'dgram'].map((name) => `node:${name}`);
/** What a layer may use of the machine although it is not `hosts/`. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  hosts: machine,
  calls: ['node:http', 'node:https'],
  engine: ['node:http', 'node:https', 'node:tls'],
  config: ['node:fs', 'node:fs/promises'],
};

const notTests = ['!**/*.test.ts', '!**/*.test.tsx', '!source/products/*/simulator/**'];
const override = (
  includes: readonly string[],
  groups: readonly { group: readonly string[]; message: string }[],
  modules: readonly string[],
) => ({
  includes,
  linter: {
    rules: {
      style: {
        noRestrictedImports: {
          level: 'error',
          options: {
            paths: Object.fromEntries(
              modules.map((module) => [
                module,
                { message: 'Only hosts/ touches the managed machine; own files go through config/own-files.ts.' },
              ]),
            ),
            patterns: groups.filter(({ group }) => group.length > 0),
          },
        },
      },
    },
  },
});

/** The rules of Biome for imports: each layer refuses those above it. The last override that names a file is the one in effect. */
export function layerRules(products: readonly string[]) {
  const names = Object.keys(layers);
  const mint = { group: ['**/grants/mint.ts'], message: 'Only session.act creates grants.' };
  const rule = (name: string, includes: readonly string[], more: readonly { group: string[]; message: string }[] = []) => {
    const above = names.filter((other, index) => (bottom.includes(name) ? other !== name : index < names.indexOf(name)));
    const upwards = { group: above.map((other) => `**/${other}/**`), message: `Imports point downwards: ${name}/ is below this one.` };
    const modules = machine.filter((module) => !allowed[name]?.includes(module));
    return override([...includes, ...notTests], [upwards, ...(name === 'session' ? [] : [mint]), ...more], modules);
  };
  const apart = (depth: string) => ({
    group: [
      ...names.filter((name) => !['catalog', 'faults', 'text'].includes(name)).map((name) => `**/${name}/**`),
      `!${depth}engine/**`,
      '!../products/*/simulator/**',
    ],
    message: 'Practice is apart: it is reached over sockets, and imports catalog/ and text/ alone.',
  });
  const others = (product: string) =>
    products.filter((other) => other !== product).flatMap((other) => [`../${other}/**`, `../../${other}/**`]);
  return [
    ...names.map((name) => rule(name, [`source/${name}/**`])),
    ...products.map((product) =>
      rule('products', [`source/products/${product}/**`], [{ group: others(product), message: 'No product imports another.' }]),
    ),
    override(['source/practice/*.ts', '!**/*.test.ts'], [apart('./')], []),
    override(['source/practice/*/**', '!**/*.test.ts'], [apart('../')], []),
    ...products.map((product) => {
      const { group, message } = apart('../');
      const inner = ['!../../../practice/**', '!./**'];
      return override(
        [`source/products/${product}/simulator/**`, '!**/*.test.ts'],
        [{ group: [...group, '**/client/**', ...others(product), ...inner], message }],
        [],
      );
    }),
  ];
}

export const productFolders = (): string[] =>
  readdirSync(resolve(root, 'source/products'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

export const rulesPath = resolve(root, 'test/lint/layers.json');
export const rulesText = (): string => `${JSON.stringify({ overrides: layerRules(productFolders()) })}\n`;

/** The diagram of CONTRIBUTING: each layer with what it is for. */
export const layerDiagram = (): string =>
  Object.entries(layers)
    .map(([name, about]) => `  ${`${name}/`.padEnd(16)}${about}`.trimEnd())
    .join('\n');
