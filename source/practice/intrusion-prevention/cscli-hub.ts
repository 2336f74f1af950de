import { type CliCommand, type CliCommands, CliRefusal, type CliRun } from './cscli.ts';
import { switchFlag } from './flags.ts';
import { type HubItem, type HubKind, hubListing, isBehind, kindsOf } from './hub-items.ts';

const listHub = (kinds?: readonly HubKind[]): CliCommand => ({
  flags: { all: switchFlag('a') },
  takes: [0, 100],
  run(cli) {
    const output = hubListing(cli.hub, kinds ?? kindsOf(cli.dialect), cli.switches.has('all'), cli.output);
    cli.print(output);
  },
});

const upgradeItems = (kinds?: readonly HubKind[]): CliCommand => ({
  flags: { interactive: switchFlag('i'), 'dry-run': switchFlag(), force: switchFlag(), all: switchFlag('a') },
  takes: [0, 100],
  run(cli) {
    if (cli.old)
      for (const flag of ['dry-run', 'interactive']) if (cli.switches.has(flag)) throw new CliRefusal(`unknown flag: --${flag}`, true);
    const force = cli.switches.has('force');
    const own = cli.hub.filter(
      (item) =>
        item.installed !== undefined && (kinds?.includes(item.kind) ?? true) && (cli.rest.length === 0 || cli.rest.includes(item.name)),
    );
    const skipped = own.filter((item) => item.tainted && !force);
    const wanted = own.filter((item) => (isBehind(item) || item.tainted) && !skipped.includes(item));
    for (const item of skipped)
      cli.note(
        'warning',
        cli.old ? `${item.name} is tainted, --force to overwrite` : `${item.kind}:${item.name} is tainted, use '--force' to overwrite`,
      );
    apply(cli, wanted, cli.old ? `Upgraded ${wanted.length} items` : '');
  },
});

const installItems = (kind: HubKind): CliCommand => ({
  flags: {
    interactive: switchFlag('i'),
    'dry-run': switchFlag(),
    force: switchFlag(),
    ignore: switchFlag(),
    'download-only': switchFlag('d'),
  },
  takes: [1, 100],
  run(cli) {
    const wanted = cli.rest.map((name) => {
      const item = cli.hub.find((candidate) => candidate.kind === kind && candidate.name === name);
      if (item === undefined) throw new CliRefusal(cli.old ? `can't find '${name}' in ${kind}` : `can't find '${name}' in ${kind}`);
      return item;
    });
    apply(
      cli,
      wanted.filter((item) => item.installed === undefined),
      cli.old ? `Enabled ${kind} : ${cli.rest.join(', ')}` : '',
    );
  },
});

/** Shows the plan, does it unless it is a rehearsal. In a container without a terminal nothing is said about the restart that it needs. */
function apply(cli: CliRun, wanted: readonly HubItem[], sentence: string): void {
  const rehearsing = cli.switches.has('dry-run');
  if (cli.old) {
    if (wanted.length > 0) cli.note('info', sentence);
    if (wanted.length > 0) cli.note('info', "Run 'sudo systemctl reload crowdsec' for the new configuration to be effective.");
  } else if (wanted.length === 0) cli.print('Nothing to install or remove.\n');
  else if (cli.output === 'human' || rehearsing) cli.print(planText(wanted));
  if (rehearsing) {
    if (wanted.length > 0) cli.print('Dry run, no action taken.\n');
    return;
  }
  if (!cli.old) for (const item of wanted) cli.print(`downloading ${item.kind}:${item.name}\n`);
  for (const item of wanted) {
    item.installed = item.newest;
    delete item.tainted;
  }
}

function planText(wanted: readonly HubItem[]): string {
  const kinds = [...new Set(wanted.map((item) => item.kind))].sort();
  const detail = (item: HubItem) =>
    item.installed === undefined
      ? `${item.name} (${item.newest})`
      : `${item.name} (${item.tainted ? '?' : item.installed} -> ${item.newest})`;
  const group = (items: readonly HubItem[], kind: HubKind, name: (item: HubItem) => string) => {
    const own = items.filter((item) => item.kind === kind);
    return own.length === 0 ? '' : ` ${kind}: ${own.map(name).sort().join(', ')}\n`;
  };
  const fresh = wanted.filter((item) => item.installed === undefined);
  const enable = fresh.length === 0 ? '' : `✅ enable\n${kinds.map((kind) => group(fresh, kind, (item) => item.name)).join('')}`;
  return `Action plan:\n📥 download\n${kinds.map((kind) => group(wanted, kind, detail)).join('')}${enable}\n`;
}

const removeItems = (kind: HubKind): CliCommand => ({
  flags: { all: switchFlag('a'), force: switchFlag(), purge: switchFlag(), 'dry-run': switchFlag(), interactive: switchFlag('i') },
  takes: [0, 100],
  run(cli) {
    for (const item of cli.hub) {
      if (item.kind === kind && (cli.switches.has('all') || cli.rest.includes(item.name)) && !cli.switches.has('dry-run')) {
        delete item.installed;
        if (!cli.old) cli.print(`disabling ${kind}:${item.name}\n`);
      }
    }
  },
});

const kindCommands = (kind: HubKind) => ({
  list: listHub([kind]),
  install: installItems(kind),
  upgrade: upgradeItems([kind]),
  delete: removeItems(kind),
});

/** Everything that comes from the hub, as a whole and by its kind. */
export const hubCommands: CliCommands = {
  hub: {
    list: listHub(),
    update: { run: (cli) => cli.print(cli.old ? '' : 'Nothing to do, the hub index is up to date.\n') },
    upgrade: upgradeItems(),
  },
  collections: kindCommands('collections'),
  parsers: kindCommands('parsers'),
  scenarios: kindCommands('scenarios'),
  postoverflows: kindCommands('postoverflows'),
};
