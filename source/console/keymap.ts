import { Fault } from '../faults/fault.ts';
import { flows } from '../flows/registry.ts';
import { type PaneId, paneIds, paneTitles } from './interface-store.ts';
import { isKeyName, keyText } from './key-press.ts';

/** Where a key means something. */
export type KeyContext =
  | 'everywhere'
  | 'list'
  | 'component'
  | 'host'
  | 'hosts'
  | 'prevention'
  | 'triage'
  | 'catalog'
  | 'question'
  | 'form'
  | 'review'
  | 'run'
  | PaneId;

export interface KeyBinding {
  id: string;
  keys: readonly string[];
  context: KeyContext;
  /** What the help says; of a flow's key the flow's own title. */
  title: string;
  /** One word for the footer; keys without one are in the help only. */
  label?: string;
  /** The flow that the key starts. */
  flow?: string;
}

/** Goes to a pane: `pane-1` is the first. */
export function paneCommand(pane: PaneId): `pane-${number}` {
  return `pane-${paneIds.indexOf(pane) + 1}`;
}

const paneBindings = paneIds.map((pane, index) => ({
  id: paneCommand(pane),
  keys: [String(index + 1)],
  context: 'everywhere' as const,
  title: paneTitles[pane],
}));

/** The one table of keys. The help screen, the footers and the README's table come from here; the operator's settings can change the keys. */
const bindings = [
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
  { id: 'inspect', keys: ['i'], context: 'component', title: 'Inspect, with secrets masked', label: 'inspect' },
  {
    id: 'address',
    keys: ['o'],
    context: 'component',
    title: "Copy the address of the component's page; on another host, open a tunnel to it",
  },
  { id: 'next-service', keys: ['v'], context: 'component', title: 'Look at the next service of the component' },
  { id: 'refresh', keys: ['R'], context: 'component', title: 'Ask the component again, now' },
  { id: 'df', keys: ['D'], context: 'host', flow: 'df' },
  { id: 'prune', keys: ['P'], context: 'host', flow: 'prune' },

  { id: 'open', keys: ['enter', 'right'], context: 'components', title: 'Go to the details', label: 'details' },
  { id: 'open-logs', keys: ['l'], context: 'components', title: 'Go to the logs', label: 'logs' },
  { id: 'next-tab', keys: ['l', 'right'], context: 'detail', title: 'Next tab' },
  { id: 'previous-tab', keys: ['h', 'left'], context: 'detail', title: 'Previous tab' },
  { id: 'next-match', keys: ['n'], context: 'detail', title: 'Next match of the search' },
  { id: 'previous-match', keys: ['N'], context: 'detail', title: 'Previous match of the search' },
  { id: 'show-owner', keys: ['enter'], context: 'ports', title: 'Go to the component that owns the port', label: 'owner' },
  {
    id: 'mark-component',
    keys: ['space'],
    context: 'components',
    title: 'Mark the component, or not: the logs of all marked ones are merged',
  },
  { id: 'group-hosts', keys: ['O'], context: 'components', title: 'Group the list by host, or by kind' },
  { id: 'show-host', keys: ['enter', 'right'], context: 'hosts', title: "The host's components alone", label: 'components' },
  { id: 'retry-host', keys: ['R'], context: 'hosts', title: 'Connect now, also after a refusal', label: 'try now' },
  { id: 'copy-tunnel', keys: ['y', 'o'], context: 'hosts', title: 'Copy the address of the tunnel' },
  { id: 'close-tunnel', keys: ['x', 'delete'], context: 'hosts', title: 'Close the tunnel' },
  { id: 'decide-row', keys: ['d', 'enter'], context: 'triage', title: 'Decide about the package of this row', label: 'decide' },
  { id: 'undecide-row', keys: ['x', 'delete'], context: 'triage', title: 'Take the decision back', label: 'take back' },
  { id: 'triage-shows', keys: ['v'], context: 'triage', title: 'All, what is undecided, or what is late', label: 'other view' },
  { id: 'import-report', keys: ['i'], context: 'triage', title: 'Import a report of a scanner', label: 'import' },
  { id: 'copy-vulnerability', keys: ['y'], context: 'triage', title: 'Copy the id' },
  { id: 'read-entry', keys: ['enter', 'right'], context: 'catalog', title: 'Read all that is known about the component', label: 'read' },
  { id: 'close-entry', keys: ['left'], context: 'catalog', title: 'Back to the list' },
  { id: 'deploy-entry', keys: ['d'], context: 'catalog', title: 'Deploy the component, or change it', label: 'deploy' },
  { id: 'copy-entry', keys: ['y'], context: 'catalog', title: 'Copy the name of the component' },
  { id: 'ban-row', keys: ['b'], context: 'prevention', title: 'Ban the address of this row, or another one', label: 'ban' },
  { id: 'unban-row', keys: ['x', 'delete'], context: 'prevention', title: 'Lift the ban', label: 'lift' },
  { id: 'show-alert', keys: ['enter'], context: 'prevention', title: 'The whole alert', label: 'alert' },
  { id: 'prevention-tab', keys: ['v', 'right', 'left'], context: 'prevention', title: 'Decisions, or alerts', label: 'other view' },
  { id: 'prevention-sort', keys: ['s'], context: 'prevention', title: 'Another order', label: 'order' },
  { id: 'prevention-shared', keys: ['S'], context: 'prevention', title: 'With shared lists, or without them', label: 'shared lists' },
  { id: 'prevention-refresh', keys: ['R'], context: 'prevention', title: 'Ask CrowdSec again, now' },
  { id: 'copy-row', keys: ['y'], context: 'prevention', title: 'Copy the address' },
  { id: 'ban-line', keys: ['b'], context: 'logs', title: 'Ban an address that stands in the line' },
  { id: 'follow', keys: ['space', 'f'], context: 'logs', title: 'Pause the logs, or follow them again', label: 'pause' },
  {
    id: 'enter-line',
    keys: ['enter'],
    context: 'logs',
    title: 'The line among its neighbours; without a filter: the whole line',
    label: 'line',
  },
  { id: 'whole-line', keys: ['V'], context: 'logs', title: 'The whole line, JSON spread out' },
  { id: 'next-found', keys: ['n'], context: 'logs', title: 'Next match, further down' },
  { id: 'previous-found', keys: ['N'], context: 'logs', title: 'Previous match, further up and back into the history' },
  { id: 'hiding', keys: ['*'], context: 'logs', title: 'The filter hides other lines, or only highlights' },
  { id: 'wrap', keys: ['w'], context: 'logs', title: 'Wrap long lines, or cut them', label: 'wrap' },
  { id: 'scroll-right', keys: ['l', 'right'], context: 'logs', title: 'Long lines to the right' },
  { id: 'scroll-left', keys: ['h', 'left'], context: 'logs', title: 'Long lines to the left' },
  { id: 'timestamps', keys: ['t'], context: 'logs', title: 'Time in this zone, in UTC, as age, or not at all', label: 'time' },
  { id: 'raw', keys: ['J'], context: 'logs', title: 'JSON and logfmt readable and no time twice, or as written' },
  { id: 'jump', keys: ['T'], context: 'logs', title: 'Go to a time: 14:02, 10m, 2026-11-20 14:02' },
  { id: 'mark', keys: ['m'], context: 'logs', title: 'Mark the line, or not', label: 'mark' },
  { id: 'next-mark', keys: ["'"], context: 'logs', title: 'Next marked line' },
  { id: 'unmark', keys: ['M'], context: 'logs', title: 'Take all marks away' },
  { id: 'copy-line', keys: ['y'], context: 'logs', title: 'Copy the line, or the marked ones', label: 'copy' },
  { id: 'copy-full', keys: ['Y'], context: 'logs', title: 'The same with time and service' },
  { id: 'save-logs', keys: ['W'], context: 'logs', title: 'Save the lines shown, or the marked ones, to a file', label: 'save' },

  { id: 'down', keys: ['j', 'down'], context: 'list', title: 'Down' },
  { id: 'up', keys: ['k', 'up'], context: 'list', title: 'Up' },
  { id: 'top', keys: ['g', 'home'], context: 'list', title: 'To the first line' },
  { id: 'bottom', keys: ['G', 'end'], context: 'list', title: 'To the last line; in the logs: follow' },
  { id: 'page-down', keys: ['pagedown', 'ctrl+f'], context: 'list', title: 'A page down' },
  { id: 'page-up', keys: ['pageup', 'ctrl+b'], context: 'list', title: 'A page up' },
  { id: 'half-down', keys: ['ctrl+d'], context: 'list', title: 'Half a page down' },
  { id: 'half-up', keys: ['ctrl+u'], context: 'list', title: 'Half a page up' },

  { id: 'next-pane', keys: ['tab'], context: 'everywhere', title: 'Next pane' },
  { id: 'previous-pane', keys: ['shift+tab'], context: 'everywhere', title: 'Previous pane' },
  ...paneBindings,
  { id: 'tab-right', keys: [']'], context: 'everywhere', title: 'Next tab of the details' },
  { id: 'tab-left', keys: ['['], context: 'everywhere', title: 'Previous tab of the details' },
  { id: 'log-scope', keys: ['L'], context: 'everywhere', title: 'Logs of the component, of its project, of the whole host' },
  { id: 'next-host', keys: ['>'], context: 'everywhere', title: 'Components of the next host alone, then of all' },
  { id: 'previous-host', keys: ['<'], context: 'everywhere', title: 'Components of the previous host alone' },
  { id: 'hosts', keys: ['H'], context: 'everywhere', title: 'Hosts, how each is reached, and open tunnels' },
  { id: 'vulnerabilities', keys: ['F'], context: 'everywhere', title: 'What scanners found, the most urgent first' },
  { id: 'catalog', keys: ['C'], context: 'everywhere', title: 'The catalog: every component that is known' },
  { id: 'chain', keys: ['X'], context: 'everywhere', title: 'How releases get into the library: the chain of media automation' },
  { id: 'prevention', keys: ['I'], context: 'everywhere', title: 'Alerts and decisions of CrowdSec, as they come' },
  { id: 'zoom', keys: ['z'], context: 'everywhere', title: 'This pane alone, or all of them' },
  { id: 'filter', keys: ['/'], context: 'everywhere', title: 'Filter this pane, or search in it', label: 'filter' },
  { id: 'back', keys: ['esc'], context: 'everywhere', title: 'Back: close, clear the filter, cancel what runs' },
  { id: 'palette', keys: [':', 'ctrl+p'], context: 'everywhere', title: 'Find a command, component or host', label: 'commands' },
  { id: 'answer-host', keys: ['a'], context: 'everywhere', title: 'Answer what ssh asks before it connects' },
  { id: 'help', keys: ['?'], context: 'everywhere', title: 'Help', label: 'help' },
  { id: 'redraw', keys: ['ctrl+l'], context: 'everywhere', title: 'Draw the screen anew' },
  { id: 'suspend', keys: ['ctrl+z'], context: 'everywhere', title: 'Back to the shell; `fg` returns' },
  { id: 'quit', keys: ['q', 'ctrl+c'], context: 'everywhere', title: 'Quit', label: 'quit' },

  { id: 'accept', keys: ['enter'], context: 'question', title: 'Give the answer' },
  { id: 'cancel', keys: ['esc', 'ctrl+c'], context: 'question', title: 'Cancel' },
  { id: 'yes', keys: ['y'], context: 'question', title: 'Yes, do it' },
  { id: 'no', keys: ['n'], context: 'question', title: 'No' },
  { id: 'toggle', keys: ['space'], context: 'question', title: 'Choose, where several can be chosen' },
  { id: 'choice-down', keys: ['down', 'ctrl+n'], context: 'question', title: 'Next choice' },
  { id: 'choice-up', keys: ['up', 'ctrl+p'], context: 'question', title: 'Previous choice' },

  { id: 'next-field', keys: ['tab', 'down'], context: 'form', title: 'Next field; Enter too' },
  { id: 'previous-field', keys: ['shift+tab', 'up'], context: 'form', title: 'Previous field' },
  { id: 'next-choice', keys: ['right', 'space'], context: 'form', title: 'Next choice of a field; l too' },
  { id: 'previous-choice', keys: ['left'], context: 'form', title: 'Previous choice of a field; h too' },
  { id: 'apply-form', keys: ['ctrl+s'], context: 'form', title: 'Go on with these answers' },

  { id: 'fold', keys: ['space'], context: 'review', title: 'Fold or unfold the section' },
  { id: 'fold-all', keys: ['z'], context: 'review', title: 'Fold or unfold all sections' },
  { id: 'remedy', keys: ['r'], context: 'review', title: 'Do what helps against this finding; its number does the same' },
  { id: 'next-section', keys: ['tab'], context: 'review', title: 'Next finding or section' },
  { id: 'previous-section', keys: ['shift+tab'], context: 'review', title: 'Previous finding or section' },

  { id: 'show-run', keys: ['0'], context: 'everywhere', title: 'What runs, with how far it is' },
  { id: 'hide-run', keys: ['esc', 'q'], context: 'run', title: 'Hide what runs; it goes on' },
  { id: 'stop-run', keys: ['ctrl+c', 'x'], context: 'run', title: 'Cancel what runs' },
  { id: 'copy-secret', keys: ['y', 'c'], context: 'run', title: 'Copy the secret that is shown' },
  { id: 'show-code', keys: ['f'], context: 'run', title: 'Show the QR code on the whole screen' },
  { id: 'save-code', keys: ['W'], context: 'run', title: 'Save the QR code to a file' },
  { id: 'swap-code', keys: ['i'], context: 'run', title: 'Without colours: swap light and dark of the QR code' },
] as const satisfies readonly (Omit<KeyBinding, 'title'> & ({ title: string } | { flow: string }))[];

export type CommandId = (typeof bindings)[number]['id'];

function titleOf(binding: (typeof bindings)[number]): string {
  if ('title' in binding) return binding.title;
  const flow = flows.find(({ id }) => id === binding.flow);
  if (!flow) throw new Error(`The key "${binding.id}" starts the flow "${binding.flow}", which is not in the registry.`);
  return flow.title;
}

export interface Keymap {
  readonly bindings: readonly KeyBinding[];
  /** What the key means in these contexts, the first context first. Several when flows share a key. */
  resolve(key: string, contexts: readonly KeyContext[]): readonly KeyBinding[];
  binding(id: CommandId): KeyBinding;
  /** The first key of a command, as a person reads it. */
  keyOf(id: CommandId): string;
}

const shared: readonly KeyContext[] = ['list', 'component', 'host', 'everywhere'];

/** Which contexts are active at the same time: within one of these a key can have one meaning only. */
const together: readonly (readonly KeyContext[])[] = [
  ...paneIds.map((pane) => [pane, ...shared]),
  ['hosts', 'list', 'everywhere'],
  ['prevention', 'list', 'everywhere'],
  ['triage', 'list', 'everywhere'],
  ['catalog', 'list', 'everywhere'],
  ['question'],
  ['form'],
  ['review', 'list'],
  ['run', 'list'],
];

export function contextTitle(context: KeyContext): string {
  const titles: Record<KeyContext, string> = {
    everywhere: 'Everywhere',
    list: 'Moving',
    component: 'The selected component',
    host: 'The host',
    hosts: 'Hosts',
    prevention: 'Alerts and decisions',
    triage: 'Vulnerabilities',
    catalog: 'The catalog',
    question: 'Questions',
    form: 'Forms',
    review: 'Reviews',
    run: 'What runs',
    ...paneTitles,
  };
  return titles[context];
}

function badKey(field: string, message: string, remedy: string): Fault {
  return new Fault({ code: 'usage.keys', message, remedy, where: { field: `keys.${field}` } });
}

function sharedByDesign(one: KeyBinding, other: KeyBinding, key: string): boolean {
  return [one, other].every(
    ({ id, flow }) =>
      flow !== undefined && bindings.some((binding) => binding.id === id && (binding.keys as readonly string[]).includes(key)),
  );
}

/**
 * The table with the operator's own keys: command id to key or keys.
 * Throws `usage.keys` for a command or a key that does not exist, and for a key that would have two meanings.
 */
export function createKeymap(overrides: Readonly<Record<string, string | readonly string[]>> = {}): Keymap {
  const table: KeyBinding[] = bindings.map((binding) => ({ ...binding, title: titleOf(binding) }));
  for (const [id, value] of Object.entries(overrides)) {
    const binding = table.find((candidate) => candidate.id === id);
    if (!binding) {
      throw badKey(
        id,
        `The settings give a key to "${id}", which is no command.`,
        `Use one of: ${table.map((each) => each.id).join(', ')}.`,
      );
    }
    const keys = typeof value === 'string' ? [value] : value;
    for (const key of keys) {
      if (!isKeyName(key)) {
        throw badKey(
          id,
          `The settings give "${id}" the key "${key}", which is no key.`,
          'Write keys like j, G, ctrl+d, alt+b, enter, esc, tab, space, pagedown.',
        );
      }
    }
    binding.keys = keys;
  }
  for (const contexts of together) {
    const taken = new Map<string, KeyBinding>();
    for (const binding of table) {
      if (!contexts.includes(binding.context)) continue;
      for (const key of binding.keys) {
        const other = taken.get(key);
        // Of pause and unpause only one is ever offered, so the table lets them share a key; settings may not make others do so.
        if (other && !sharedByDesign(binding, other, key)) {
          const [mine, theirs] = binding.id in overrides ? [binding, other] : [other, binding];
          throw badKey(
            mine.id,
            `The key "${key}" of "${mine.id}" already means "${theirs.id}".`,
            `Give "${mine.id}" another key in the settings, or "${theirs.id}" too.`,
          );
        }
        taken.set(key, binding);
      }
    }
  }
  const byId = new Map(table.map((binding) => [binding.id, binding]));
  const binding = (id: CommandId) => byId.get(id) as KeyBinding;
  return {
    bindings: table,
    resolve(key, contexts) {
      for (const context of contexts) {
        const found = table.filter((candidate) => candidate.context === context && candidate.keys.includes(key));
        if (found.length > 0) return found;
      }
      return [];
    },
    binding,
    keyOf: (id) => keyText(binding(id).keys[0] ?? ''),
  };
}

export interface KeyTableRow {
  keys: string;
  context: string;
  title: string;
}

const order: readonly KeyContext[] = [
  'everywhere',
  'list',
  'component',
  ...paneIds,
  'host',
  'hosts',
  'prevention',
  'triage',
  'catalog',
  'question',
  'form',
  'review',
  'run',
];

/** The table as the help shows it: grouped by context. */
export function keyTable(keymap: Keymap = createKeymap()): KeyTableRow[] {
  return order.flatMap((context) =>
    keymap.bindings
      .filter((binding) => binding.context === context)
      .map((binding) => ({ keys: binding.keys.map(keyText).join(' '), context: contextTitle(context), title: binding.title })),
  );
}

/** The README's table. */
export function keyTableMarkdown(): string {
  const safe = (text: string) => text.replaceAll('|', '\\|');
  const rows = keyTable().map(({ keys, context, title }) => {
    const shown = keys
      .split(' ')
      .map((key) => `\`${safe(key)}\``)
      .join(' ');
    return `| ${shown} | ${context} | ${safe(title)} |`;
  });
  return ['| Key | Where | What it does |', '| --- | --- | --- |', ...rows].join('\n');
}
