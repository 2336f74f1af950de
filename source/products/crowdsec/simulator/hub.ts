import type { Dialect } from './store.ts';

const kinds = ['collections', 'parsers', 'postoverflows', 'scenarios'];

/** What a fresh hub holds for the practice: two items lag behind, one was changed by hand. */
const contents = `
parsers dateparse-enrich 0.2 0.2 dateparse enrichment
parsers geoip-enrich 0.5 0.5 Populate event with geoloc info : as, country, coords, source range.
parsers sshd-logs 3.0 3.1 Parse openSSH logs
parsers syslog-logs 0.8 0.8 Parse syslog
parsers whitelists tainted 0.3 Whitelist events from private ipv4 addresses
parsers caddy-logs - 1.0 Parse caddy logs
postoverflows rdns - 0.3 Lookup the DNS associated to the source IP only for overflows
scenarios ssh-bf 0.3 0.3 Detect ssh bruteforce
scenarios ssh-slow-bf 0.4 0.4 Detect slow ssh bruteforce
scenarios http-probing - 0.4 Detect site scanning/probing from a single ip
collections linux 0.3 0.3 core linux support : syslog+geoip+ssh
collections sshd 0.6 0.7 sshd support : parser and brute-force detection
collections caddy - 0.2 caddy support : parser and generic http scenarios
collections base-http-scenarios - 1.1 http common : scanners detection`;

const readContents = () =>
  [...contents.matchAll(/^(\S+) (\S+) (\S+) (\S+) (.+)$/gm)].map(([, kind = '', name, installed, newest = '', description = '']) => ({
    kind,
    name: `crowdsecurity/${name}`,
    description,
    installed: installed === '-' ? undefined : installed === 'tainted' ? newest : installed,
    newest,
    tainted: installed === 'tainted',
  }));

type HubItem = ReturnType<typeof readContents>[number];

export class Hub {
  readonly #dialect: Dialect;
  readonly #items = readContents();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  list(all: boolean): Record<string, object[]> {
    const shown = this.#items.filter(({ installed }) => all || installed !== undefined);
    return Object.fromEntries(kinds.map((kind) => [kind, shown.filter((item) => item.kind === kind).map(shape)]));
  }

  collection(name: string): HubItem | undefined {
    return this.#items.find((item) => item.kind === 'collections' && item.name === name);
  }

  /** Upgrades what is behind and was not changed by hand. Returns what it prints. */
  upgrade(dryRun: boolean): string {
    const behind = this.#items.filter((item) => isBehind(item) && !item.tainted);
    return this.install(behind, dryRun);
  }

  install(wanted: readonly HubItem[], dryRun = false): string {
    const lines = wanted.map(({ kind, name, installed, newest }) => ` ${kind}: ${name} (${installed ? `${installed} -> ` : ''}${newest})`);
    if (!dryRun) for (const item of wanted) item.installed = item.newest;
    if (this.#dialect === '1.4.6') return lines.join('\n');
    if (wanted.length === 0) return 'Nothing to install or remove.\n';
    return `Action plan:\n📥 download\n${lines.join('\n')}\n${dryRun ? 'Dry run, no action taken.\n' : ''}`;
  }
}

const isBehind = ({ installed, newest }: HubItem): boolean => installed !== undefined && installed !== newest;

function shape(item: HubItem) {
  const { kind, name, description, installed, tainted } = item;
  const status = installed === undefined ? 'disabled' : `enabled${tainted ? ',tainted' : isBehind(item) ? ',update-available' : ''}`;
  return {
    name,
    local_version: tainted ? '?' : (installed ?? ''),
    local_path: installed === undefined ? '' : `/etc/crowdsec/${kind}/${name.split('/')[1]}.yaml`,
    description,
    status,
  };
}
