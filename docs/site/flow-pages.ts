import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { flows } from '../../source/app/flow-registry.ts';
import { keyText } from '../../source/console/key-press.ts';
import { createKeymap } from '../../source/console/keymap.ts';
import type { Flow } from '../../source/flows/flow.ts';
import { slugify } from './anchors.ts';
import { helpText } from './command-pages.ts';
import { block, code, facts, page, prose, table } from './markdown.ts';

const source = resolve(import.meta.dirname, '../../source');

/** Titles of the folders that define flows, in the order of the index. */
const titles: Readonly<Record<string, string>> = {
  'flows/deploy': 'Deploy',
  'flows/components': 'Components and disk space',
  'flows/operations': 'Operations and logins',
  'flows/backup': 'Backup',
  'flows/secrets': 'Secrets',
  'flows/hosts': 'Hosts',
  'flows/notifications': 'Notifications',
  'flows/catalog': 'Catalog',
  'products/vault': 'Vault and OpenBao',
  'products/vaultwarden': 'Vaultwarden',
  'products/authelia': 'Authelia',
  'products/identity': 'Identity: OpenID Connect, LDAP, certificates',
  'products/crowdsec': 'CrowdSec',
  'products/vulnerabilities': 'Vulnerabilities',
  'products/headscale': 'Headscale',
  'products/wireguard': 'WireGuard',
  'products/nebula': 'Nebula',
  'products/tunnels': 'Tunnels',
  'products/object-storage': 'Object storage',
  'products/kubernetes': 'Kubernetes',
};

export interface FlowGroup {
  title: string;
  flows: readonly Flow[];
}

/** Returns the flows by the folder that defines them. Throws for a folder without a title. */
export async function readFlowGroups(): Promise<FlowGroup[]> {
  const folders = ['flows', 'products'].flatMap((parent) =>
    readdirSync(join(source, parent), { recursive: true, encoding: 'utf8' })
      .filter((name) => /^[\w-]+\/flows\.ts$/.test(name))
      .map((name) => `${parent}/${name.split('/')[0]}`),
  );
  const unknown = folders.filter((folder) => titles[folder] === undefined);
  if (unknown.length > 0) throw new Error(`Add a title for source/${unknown.join(', source/')} to docs/site/flow-pages.ts.`);
  const groups = await Promise.all(
    Object.entries(titles).map(async ([folder, title]) => {
      const module: Record<string, unknown> = await import(join(source, folder, 'flows.ts'));
      const own = new Set(Object.values(module).flatMap((value) => (Array.isArray(value) ? value : [])));
      return { title, flows: flows.filter((flow) => own.has(flow)) };
    }),
  );
  const left = flows.filter((flow) => !groups.some((group) => group.flows.includes(flow)));
  if (left.length > 0) throw new Error(`No folder defines the flows ${left.map(({ id }) => id).join(', ')}.`);
  return groups.filter((group) => group.flows.length > 0);
}

const targets: Readonly<Record<Flow['about'], string>> = {
  component: 'a component',
  catalog: 'a component of the catalog, deployed or not',
  host: 'a host',
};

const keyContexts = (flow: Flow) => {
  const keymap = createKeymap();
  const rows = keymap.rows();
  return keymap.bindings
    .filter((binding) => binding.flow === flow.id)
    .map(({ keys, title }) => {
      const shown = keys.map(keyText);
      const row = rows.find((each) => each.keys === shown.join(' ') && each.title === title);
      return `${shown.map((key) => `<kbd>${prose(key)}</kbd>`).join(' ')}${row ? ` (${prose(row.context.replace(/^The /, 'the '))})` : ''}`;
    })
    .join(', ');
};

export async function flowPage(flow: Flow, group: FlowGroup, picture: string | undefined): Promise<string> {
  const name = flow.verb.split(' ')[0] ?? '';
  const [, second] = flow.verb.split(' ');
  return page(
    prose(flow.title),
    prose(flow.summary),
    facts([
      [
        'Command',
        `[${code(`quarterdeck ${flow.verb}`)}](../commands/${name}.md${second === undefined ? '' : `#${flow.verb.replaceAll(' ', '-')}`})`,
      ],
      ['Key', keyContexts(flow) || `<kbd>:</kbd>, then ${code(flow.verb)}`],
      ['Applies to', flow.speaks === undefined ? targets[flow.about] : `a component with the API ${code(flow.speaks)}`],
      ['Right', code(flow.right)],
      ['Dry run', flow.right === 'read' ? 'not needed: it changes no component' : `yes, with ${code('--dry-run')}`],
      ['Resume', flow.resumes && `yes, with ${code('quarterdeck run --resume RUN')}`],
      ['Interruption', flow.interrupts && prose(flow.interrupts)],
      ['Limited to', flow.ours && 'components that Quarterdeck deployed'],
      ['Group', `[${group.title}](./index.md#${slugify(group.title)})`],
    ]),
    '## Usage',
    block(await helpText(...flow.verb.split(' '))),
    picture === undefined ? '' : `## On the practice stack\n\n[![${prose(flow.title)}](${picture})](${picture})`,
  );
}

export function flowIndex(groups: readonly FlowGroup[]): string {
  const count = groups.reduce((sum, group) => sum + group.flows.length, 0);
  return page(
    'Procedures',
    `Quarterdeck has ${count} procedures. Each is a command and an entry in the palette of the console (<kbd>:</kbd>); some have a key. ${code('quarterdeck flows')} lists them. A read-only console offers those with the right ${code('read')}.`,
    ...groups.flatMap((group) => [
      `## ${group.title}`,
      table(
        ['PROCEDURE', 'COMMAND', 'RIGHT', 'KEY'],
        group.flows.map((flow) => [
          `[${prose(flow.title)}](./${flow.id}.md)`,
          code(flow.verb),
          flow.right,
          keyContexts(flow).replaceAll(/ \([^)]*\)/g, ''),
        ]),
      ),
    ]),
  );
}
