import { flows } from '../app/flow-registry.ts';
import { Fault } from '../faults/fault.ts';
import { isKeyName, type KeyPress, keyText } from './key-press.ts';
import { paneCommand, paneIds } from './panes.ts';
import type { ScreenKey } from './screen.ts';
import { type ScreenCommandId, type ScreenId, screens } from './screens/list.ts';

export type KeyContext = 'everywhere' | 'list' | 'component' | 'host' | 'question' | ScreenId;

export interface KeyBinding {
  id: string;
  keys: readonly string[];
  context: KeyContext;
  /** The text in the help. The key of a flow has the flow's own title. */
  title: string;
  /** One word for the footer. Keys without one are in the help only. */
  label?: string;
  flow?: string;
  /** Listed in the palette. */
  find?: true;
}

const shared = [
  { id: 'unseal', keys: ['u'], context: 'component', label: 'unseal', flow: 'unseal' },
  { id: 'initialise', keys: ['u'], context: 'component', label: 'initialise', flow: 'initialise' },
  { id: 'mesh-key', keys: ['K'], context: 'component', label: 'key', flow: 'key' },
  { id: 'mesh-nodes', keys: ['A'], context: 'component', label: 'nodes', flow: 'mesh-node' },
  { id: 'start', keys: ['S'], context: 'component', label: 'start', flow: 'start' },
  { id: 'stop', keys: ['s'], context: 'component', label: 'stop', flow: 'stop' },
  { id: 'restart', keys: ['r'], context: 'component', label: 'restart', flow: 'restart' },
  { id: 'deploy', keys: ['d'], context: 'component', label: 'deploy', flow: 'deploy' },
  { id: 'update', keys: ['U'], context: 'component', label: 'update', flow: 'update' },
  { id: 'backup', keys: ['B'], context: 'component', label: 'backup', flow: 'backup' },
  { id: 'pause', keys: ['p'], context: 'component', label: 'pause', flow: 'pause' },
  { id: 'unpause', keys: ['p'], context: 'component', label: 'unpause', flow: 'unpause' },
  { id: 'shell', keys: ['e', '!'], context: 'component', label: 'shell', flow: 'shell' },
  { id: 'exec', keys: ['E'], context: 'component', flow: 'exec' },
  { id: 'remove', keys: ['x', 'delete'], context: 'component', label: 'remove', flow: 'remove' },
  { id: 'copy', keys: ['c'], context: 'component', label: 'copy', flow: 'copy' },
  { id: 'inspect', keys: ['i'], context: 'component', title: 'Inspect, with secrets masked', label: 'inspect', find: true },
  { id: 'address', keys: ['o'], context: 'component', title: 'Copy the web UI address, or open a tunnel to a remote host', find: true },
  { id: 'next-service', keys: ['v'], context: 'component', title: 'Show the next service of the component', find: true },
  { id: 'refresh', keys: ['R'], context: 'component', title: 'Query the component again', find: true },
  { id: 'df', keys: ['D'], context: 'host', flow: 'df' },
  { id: 'prune', keys: ['P'], context: 'host', flow: 'prune' },

  { id: 'down', keys: ['j', 'down'], context: 'list', title: 'Down' },
  { id: 'up', keys: ['k', 'up'], context: 'list', title: 'Up' },
  { id: 'top', keys: ['g', 'home'], context: 'list', title: 'Go to the first line' },
  { id: 'bottom', keys: ['G', 'end'], context: 'list', title: 'Go to the last line; in the logs, follow new lines' },
  { id: 'page-down', keys: ['pagedown', 'ctrl+f'], context: 'list', title: 'Page down' },
  { id: 'page-up', keys: ['pageup', 'ctrl+b'], context: 'list', title: 'Page up' },
  { id: 'half-down', keys: ['ctrl+d'], context: 'list', title: 'Half page down' },
  { id: 'half-up', keys: ['ctrl+u'], context: 'list', title: 'Half page up' },

  { id: 'next-pane', keys: ['tab'], context: 'everywhere', title: 'Next pane' },
  { id: 'previous-pane', keys: ['shift+tab'], context: 'everywhere', title: 'Previous pane' },
  ...paneIds.map((pane, index) => ({
    ...{ id: paneCommand(pane), keys: [String(index + 1)], context: 'everywhere' as const },
    title: screens.find(({ id }) => id === pane)?.heading ?? '',
    find: true as const,
  })),
  { id: 'tab-right', keys: [']'], context: 'everywhere', title: 'Next tab of the details' },
  { id: 'tab-left', keys: ['['], context: 'everywhere', title: 'Previous tab of the details' },
  { id: 'log-scope', keys: ['L'], context: 'everywhere', title: 'Show the logs of the component, project or host', find: true },
  { id: 'next-host', keys: ['>'], context: 'everywhere', title: 'Show only components on the next host, then all', find: true },
  { id: 'previous-host', keys: ['<'], context: 'everywhere', title: 'Show only components on the previous host' },
  // Keys that open a screen are listed here.
  { id: 'zoom', keys: ['z'], context: 'everywhere', title: 'Zoom this pane, or show all panes', find: true },
  { id: 'filter', keys: ['/'], context: 'everywhere', title: 'Filter or search this pane', label: 'filter' },
  { id: 'back', keys: ['esc'], context: 'everywhere', title: 'Go back: close, clear the filter, cancel the operation' },
  { id: 'palette', keys: [':', 'ctrl+p'], context: 'everywhere', title: 'Find commands, components and hosts', label: 'commands' },
  { id: 'answer-host', keys: ['a'], context: 'everywhere', title: 'Answer an ssh prompt' },
  { id: 'help', keys: ['?'], context: 'everywhere', title: 'Help', label: 'help', find: true },
  { id: 'redraw', keys: ['ctrl+l'], context: 'everywhere', title: 'Redraw the screen' },
  { id: 'suspend', keys: ['ctrl+z'], context: 'everywhere', title: 'Suspend to the shell; return with `fg`' },
  { id: 'quit', keys: ['q', 'ctrl+c'], context: 'everywhere', title: 'Quit', label: 'quit', find: true },

  { id: 'accept', keys: ['enter'], context: 'question', title: 'Submit the answer' },
  { id: 'cancel', keys: ['esc', 'ctrl+c'], context: 'question', title: 'Cancel' },
  { id: 'yes', keys: ['y'], context: 'question', title: 'Confirm' },
  { id: 'no', keys: ['n'], context: 'question', title: 'No' },
  { id: 'toggle', keys: ['space'], context: 'question', title: 'Select or clear a choice' },
  { id: 'choice-down', keys: ['down', 'ctrl+n'], context: 'question', title: 'Next choice' },
  { id: 'choice-up', keys: ['up', 'ctrl+p'], context: 'question', title: 'Previous choice' },

  { id: 'show-run', keys: ['0'], context: 'everywhere', title: 'Show running operations and their progress' },
] as const satisfies readonly (Omit<KeyBinding, 'title'> & ({ title: string } | { flow: string }))[];

export type CommandId = (typeof shared)[number]['id'] | ScreenCommandId;

/** The only table of keys: help, footers and docs/keys.md are generated from it. */
function tableOfKeys(): KeyBinding[] {
  const ofScreens = screens.flatMap(({ id, keys = [] }) => (keys as readonly ScreenKey[]).map((key) => ({ context: id, ...key })));
  const opening = ofScreens.filter(({ context }) => context === 'everywhere');
  const before = shared.findIndex(({ id }) => id === 'zoom');
  return [...shared.slice(0, before), ...opening, ...shared.slice(before), ...ofScreens.filter((key) => !opening.includes(key))].map(
    (key) => ({ ...key, title: 'title' in key ? key.title : titleOf(key) }),
  );
}

function titleOf({ id, flow }: { id: string; flow: string }): string {
  const found = flows.find((each) => each.id === flow);
  if (!found) throw new Error(`The key "${id}" starts the flow "${flow}", which is not in the registry.`);
  return found.title;
}

const inPanes: readonly KeyContext[] = ['list', 'component', 'host', 'everywhere'];

/** Contexts that are active at the same time: within one of these groups a key can have only one meaning. */
const together = (): (readonly KeyContext[])[] => [
  ...paneIds.map((pane) => [pane, ...inPanes]),
  ...screens.flatMap((screen) => ('ofRun' in screen || screen.kind !== 'body' ? [] : [[screen.id, 'list', 'everywhere'] as const])),
  ['question'],
  ['form'],
  ['review', 'list'],
  ['run', 'list'],
];

const headings: Partial<Record<KeyContext, string>> = {
  everywhere: 'Everywhere',
  list: 'Navigation',
  component: 'The selected component',
  host: 'The host',
  question: 'Questions',
};

function badKey(field: string, message: string, remedy: string): Fault {
  return new Fault('usage.keys', message, remedy, { where: { field: `keys.${field}` } });
}

function sharedByDesign(one: KeyBinding, other: KeyBinding, key: string): boolean {
  const isShared = ({ id, flow }: KeyBinding) =>
    flow !== undefined && shared.some((binding) => binding.id === id && (binding.keys as readonly string[]).includes(key));
  return isShared(one) && isShared(other);
}

function applySetting(table: readonly KeyBinding[], id: string, keys: readonly string[]): void {
  const binding = table.find((candidate) => candidate.id === id);
  if (!binding) {
    const ids = table.map((each) => each.id).join(', ');
    throw badKey(id, `keys: "${id}" is not a command.`, `Use one of: ${ids}.`);
  }
  const wrong = keys.find((key) => !isKeyName(key));
  if (wrong !== undefined) {
    const remedy = 'Use keys such as j, G, ctrl+d, alt+b, enter, esc, tab, space, pagedown.';
    throw badKey(id, `keys: "${id}" has the invalid key "${wrong}".`, remedy);
  }
  binding.keys = keys;
}

function checkConflicts(table: readonly KeyBinding[], overrides: object): void {
  for (const contexts of together()) {
    const taken = new Map<string, KeyBinding>();
    const active = table.filter(({ context }) => contexts.includes(context));
    for (const { binding, key } of active.flatMap((binding) => binding.keys.map((key) => ({ binding, key })))) {
      const other = taken.get(key);
      taken.set(key, binding);
      // Pause and unpause are never available at once, so they share a key. Settings may not do that for other commands.
      if (!other || sharedByDesign(binding, other, key)) continue;
      const [mine, theirs] = binding.id in overrides ? [binding, other] : [other, binding];
      const remedy = `Set another key for "${mine.id}" or "${theirs.id}" in the settings.`;
      throw badKey(mine.id, `The key "${key}" of "${mine.id}" is already used by "${theirs.id}".`, remedy);
    }
  }
}

/** Throws `usage.keys` for a command or a key that does not exist, and for a key with two meanings. */
export function createKeymap(overrides: Readonly<Record<string, string | readonly string[]>> = {}) {
  const table = tableOfKeys();
  for (const [id, keys] of Object.entries(overrides)) applySetting(table, id, [keys].flat());
  checkConflicts(table, overrides);
  const byId = new Map(table.map((binding) => [binding.id, binding]));
  const binding = (id: CommandId) => byId.get(id) as KeyBinding;
  let rows: ReturnType<typeof rowsOf> | undefined;
  return {
    bindings: table,
    /** Returns the bindings of the key in these contexts, in order of precedence. Several when flows share a key. */
    resolve(key: string, contexts: readonly KeyContext[]): readonly KeyBinding[] {
      for (const context of contexts) {
        const found = table.filter((candidate) => candidate.context === context && candidate.keys.includes(key));
        if (found.length > 0) return found;
      }
      return [];
    },
    binding,
    keyOf: (id: CommandId) => keyText(binding(id).keys[0] ?? ''),
    is: ({ name }: KeyPress, id: CommandId) => binding(id).keys.includes(name),
    rows: () => (rows ??= rowsOf(table)),
  };
}

export type Keymap = ReturnType<typeof createKeymap>;

const order = (): readonly KeyContext[] => [
  ...new Set<KeyContext>([
    ...(['everywhere', 'list', 'component', ...paneIds, 'host', 'hosts', 'prevention'] as const),
    ...screens.flatMap((screen) => ('ofRun' in screen ? [] : [screen.id])),
    ...(['question', 'form', 'review', 'run'] as const),
  ]),
];

const rowsOf = (table: readonly KeyBinding[]) =>
  order().flatMap((context) => {
    const heading = headings[context] ?? screens.find(({ id }) => id === context)?.heading ?? '';
    return table
      .filter((binding) => binding.context === context)
      .map(({ id, keys, title }) => ({ id, keys: keys.map(keyText).join(' '), context: heading, title }));
  });
