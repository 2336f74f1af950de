import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { ownHosts } from '../../../source/app/listed-hosts.ts';
import type { RemoteHosts } from '../../../source/app/remote-hosts.ts';
import { catalogOf } from '../../../source/catalog/open-catalog.ts';
import { ownPaths } from '../../../source/config/paths.ts';
import { defaultSettings } from '../../../source/config/settings.ts';
import { inspectConfig } from '../../../source/config-files/wireguard/inspect-config.ts';
import { makeKeyPair } from '../../../source/config-files/wireguard/wireguard-keys.ts';
import { Fault } from '../../../source/faults/fault.ts';
import type { FlowInput } from '../../../source/flows/flow.ts';
import type { HostBook } from '../../../source/flows/hosts/host-book.ts';
import { openLocalHost } from '../../../source/hosts/local-host.ts';
import { composeLabels } from '../../doubles/container-facts.ts';
import { componentView } from '../../doubles/fleet-double.ts';
import { FlowFixture } from '../../doubles/flow-fixture.ts';
import { ObjectStoreDouble } from '../../doubles/object-store-double.ts';
import { TunnelUiDouble } from '../../doubles/tunnel-ui-double.ts';
import { wholeCatalog } from '../../doubles/whole-catalog.ts';
import { requiredProgram } from '../../required.ts';
import { DoubleFixture } from './double-fixture.ts';
import type { Family, FlowRow } from './flow.contract.ts';
import { type Answers, Person } from './person.ts';
import { flowOf } from './registry.ts';

const tunnelServer = 'tunnel-server-ui';
const objectStorage = 'object-storage';
const { entries } = await wholeCatalog();

/** This machine with a folder that is given to flows, and beside it a tunnel server with one device and an object storage with one bucket. */
class Desk extends DoubleFixture {
  readonly tunnels: TunnelUiDouble;
  readonly objects: ObjectStoreDouble;
  /** To an object, for whoever has it. */
  link = '';

  private constructor(fixture: FlowFixture, tunnels: TunnelUiDouble, objects: ObjectStoreDouble) {
    super(fixture);
    this.tunnels = tunnels;
    this.objects = objects;
  }
  static async open(): Promise<Desk> {
    const [fixture, tunnels, objects] = await Promise.all([FlowFixture.open(), TunnelUiDouble.open(), ObjectStoreDouble.open()]);
    fixture.host = openLocalHost();
    fixture.catalog = catalogOf(entries, []);
    const published = { address: '127.0.0.1', protocol: 'tcp' } as const;
    fixture.engine.add('tunnel', {
      labels: composeLabels(tunnelServer, 'wg-easy'),
      ports: [{ ...published, hostPort: tunnels.port, containerPort: 51821 }],
    });
    fixture.engine.add('minio', {
      labels: composeLabels(objectStorage, 'minio'),
      env: [['MINIO_ROOT_USER', objects.accessKey]],
      ports: [{ ...published, hostPort: objects.port, containerPort: 9000 }],
    });
    fixture.fleet.current = {
      ...fixture.fleet.current,
      components: [
        componentView(tunnelServer, { project: tunnelServer, speaks: 'wg-easy' }),
        componentView(objectStorage, { project: objectStorage, speaks: 's3' }),
      ],
    };
    const desk = new Desk(fixture, tunnels, objects);
    fixture.hosts = hostsIn(desk.file('own'));
    tunnels.add('alice');
    objects.buckets.set('crate', new Map());
    await desk.keep(`${tunnelServer}/PASSWORD`, tunnels.password);
    await desk.keep(`${objectStorage}/MINIO_ROOT_PASSWORD`, objects.secretKey);
    await mkdir(desk.out);
    return desk;
  }

  /** What flows are asked to write goes here. */
  get out(): string {
    return this.file('out');
  }
  async keep(name: string, value: string): Promise<void> {
    await this.fixture.vault.write(undefined, `local/${name}` as never, value, 'generated');
  }
  async kept(): Promise<unknown> {
    return (await this.fixture.vault.list()).map(({ name, versions }) => [name, versions.length]);
  }
  async write(name: string, text: string): Promise<string> {
    await writeFile(this.file(name), text);
    return this.file(name);
  }
  async read(name: string): Promise<string> {
    return readFile(this.file(name), 'utf8').catch(() => 'missing');
  }
  /** @returns the secret that it shows */
  async run(flow: string, words: readonly string[], options: FlowInput['options'] = {}, answers: Answers = {}, about?: string) {
    const operator = new Person({ answers, forms: undefined, edited: () => undefined, reveal: () => {} });
    await this.play(flowOf(flow), about, { words, options }, { operator, mode: undefined, resume: undefined });
    return operator.shown.find((shown) => shown.kind === 'secret')?.value;
  }
  override async close(): Promise<void> {
    await Promise.all([this.tunnels.close(), this.objects.close()]);
    await super.close();
  }
}

/** The hosts of a configuration file in this folder; none of them is connected to. */
function hostsIn(folder: string): HostBook {
  const paths = ownPaths({ QUARTERDECK_HOME: folder }, folder);
  const parts = { paths, home: folder, env: {}, readOnly: false, changed: async () => {} };
  return ownHosts({
    ...parts,
    settings: defaultSettings,
    hosts: {} as RemoteHosts,
    openAt: () => Promise.reject(new Error('unreachable')),
  });
}

type Row = FlowRow<Desk>;
const reading = (flow: string, words: Row['words'] = [], more: Partial<Row> = {}): Row => ({ flow, words, acts: [], ...more });

/** A session ends with the process that had it, so a run that is resumed logs in again. */
const loginAgain = ['log in', 'log out'];
const devices = async ({ tunnels }: Desk) => [
  tunnels.clients.map(({ name, enabled, address }) => [name, enabled, address]),
  tunnels.requests
    .filter((request) => /^(?:POST|DELETE) \/api\/wireguard/.test(request))
    .map((request) => request.replace(/[\da-f]{8}-[\da-f-]{27}/, 'ID')),
];
const ofDevice = (flow: string, name: string, acts: readonly string[], more: Partial<Row> = {}): Row => ({
  ...{ flow, component: tunnelServer, words: [name], acts: ['log in', ...acts, 'log out'], again: loginAgain, secrets: 1, end: devices },
  // Which devices exist is known after the login, which a dry run does without.
  dryRunShows: { text: /would log in to tunnel-server-ui/ },
  ...more,
});

const ofObjects = (flow: string, more: Partial<Row> & Pick<Row, 'acts'>): Row => ({ flow, component: objectStorage, secrets: 1, ...more });
const stored = async ({ objects }: Desk) => [...(objects.buckets.get('crate') ?? [])].map(([key, { body }]) => [key, body.toString()]);
const withObject = async (desk: Desk) =>
  void desk.objects.buckets.get('crate')?.set('a.txt', { body: Buffer.from('hello'), changedMs: 0, tag: '"one"' });

const vpn = { serverPublicKey: makeKeyPair().publicKey, endpoint: 'vpn.example.net:51820', dns: '10.8.0.1' };

const scan = JSON.stringify({
  SchemaVersion: 2,
  ArtifactName: 'nginx:1.27',
  Results: [{ Vulnerabilities: [{ VulnerabilityID: 'CVE-2026-1', PkgName: 'openssl', Severity: 'HIGH' }] }],
});
const scanned = (desk: Desk) => desk.write('scan.json', scan);
const imported = async (desk: Desk) => desk.run('vulnerabilities-import', [await scanned(desk)]);
const book = async (desk: Desk) => {
  const part = async (name: string) =>
    JSON.parse(await readFile(desk.file(`data/vulnerabilities/${name}`), 'utf8').catch(() => '{}')) as {
      found?: unknown[];
      decisions?: { what: string }[];
    };
  return [(await part('found.json')).found?.length, (await part('decisions.json')).decisions?.map(({ what }) => what)];
};

const noNebula = requiredProgram('nebula-cert', 'nebula');
const nebula = noNebula ? { skip: noNebula } : {};
const mesh = async (desk: Desk) => {
  const [file = ''] = await readdir(desk.file('data/overlay-mesh')).catch(() => []);
  if (file === '') return 'none';
  const { authority, nodes } = JSON.parse(await desk.read(`data/overlay-mesh/${file}`)) as {
    authority: { name: string };
    nodes: { name: string }[];
  };
  return [authority.name, nodes.map(({ name }) => name), await desk.kept(), (await readdir(desk.out)).sort()];
};
const withAuthority = (desk: Desk) => desk.run('overlay-ca', ['home mesh'], { for: '30d' });

const typed = 'typed-by-somebody-4711';
const inToken = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const token = `${inToken({ alg: 'RS256' })}.${inToken({ sub: 'ada', exp: 4e9 })}.${'c'.repeat(40)}`;
/** Run again, it is not there any more. */
const gone = { says: /^(?:crate\/a\.txt does not exist|No secret)/, end: 'same' } as const;
const phrases = { 'passphrase-of-file': 'a long passphrase of mine', 'passphrase-again': 'a long passphrase of mine' };
const listedHosts = async ({ fixture }: Desk) => fixture.hosts?.list();
/** What a flow did to the backend of the secrets: the double only notes it. */
const withBackend = async ({ fixture: { vault } }: Desk) => {
  const done = new Set<string>();
  const note = async (what: string) => void done.add(what);
  vault.kind = 'file';
  vault.care = {
    migrate: async (_, to) => {
      vault.kind = to;
      return { moved: 2 };
    },
    reseal: () => note('resealed'),
    lost: async () =>
      done.has('accepted') ? undefined : new Fault('refused.secretsMissing', 'The sealed file is missing.', 'Restore it.'),
    accept: async () => {
      await note('accepted');
      return 'none';
    },
    restore: () => note('restored'),
    leftIn: async () => (done.has('resealed') ? 'resealed' : undefined),
  };
};
const ofBackend = (flow: string, act: string, more: Partial<Row>): Row => ({
  ...{ flow, acts: [act], first: withBackend },
  end: async ({ fixture: { vault } }) => [vault.kind, await vault.care.leftIn(), (await vault.care.lost(AbortSignal.timeout(1_000)))?.code],
  ...more,
});
const withSecret = (desk: Desk) => desk.keep('rss-reader/DB_PASSWORD', 'kept-until-now-4711');

export const deskFlows: Family<Desk> = {
  name: 'this machine',
  open: () => Desk.open(),
  rows: [
    ofDevice('clients-list', '', [], { words: [] }),
    ofDevice('clients-add', 'bob-phone', ['add', 'show'], { secrets: 2, again: [...loginAgain, 'show'] }),
    ofDevice('clients-show', 'alice', ['show'], { secrets: 2 }),
    ofDevice('clients-disable', 'alice', ['disable']),
    ofDevice('clients-enable', 'alice', ['enable'], {
      first: async ({ tunnels }) => {
        for (const client of tunnels.clients) client.enabled = false;
      },
    }),
    ofDevice('clients-remove', 'alice', ['remove'], { undoes: ['log out'] }),

    {
      flow: 'wireguard-make',
      title: 'shown',
      words: ['phone'],
      forms: () => ({ wireguard: { ...vpn, device: 'phone', killSwitch: 'no' } }),
      answers: () => ({ way: 'show' }),
      acts: ['make'],
      secrets: 2,
      // Nobody has the key of the killed run.
      otherwise: { 'make/after': { says: /^Created a configuration for phone/, end: 'same' } },
    },
    {
      flow: 'wireguard-make',
      title: 'in a file',
      words: ['laptop'],
      options: ({ out }) => ({ out: `${out}/laptop.conf` }),
      forms: () => ({ wireguard: { ...vpn, device: 'linux', killSwitch: 'yes' } }),
      end: async (desk) => {
        const config = inspectConfig(await desk.read('out/laptop.conf'));
        return [config.problems, (await desk.read('out/laptop.server.conf')).includes(config.publicKey ?? '-')];
      },
      acts: ['make'],
      belongs: [{ file: /laptop(\.server)?\.conf$/, why: 'it is what was asked for' }],
    },
    reading('wireguard-check', (desk) => [desk.file('phone.conf')], {
      first: (desk) => desk.write('phone.conf', '[Interface]\nPrivateKey = x\n'),
      readOnly: 'refused.readOnly',
      secrets: 0,
    }),

    { flow: 'overlay-ca', words: ['home mesh'], options: { for: '30d' }, acts: ['authority'], end: mesh, secrets: 1, ...nebula },
    {
      flow: 'overlay-sign',
      words: ['nas'],
      options: ({ out }) => ({ ip: '10.1.0.2/24', out }),
      first: withAuthority,
      acts: ['sign'],
      end: mesh,
      secrets: 1,
      belongs: [{ file: /nas\.key$/, why: 'it is what was asked for' }],
      ...nebula,
    },
    reading('overlay-list', [], { first: withAuthority, ...nebula }),
    reading('overlay-inspect', ({ out }) => [`${out}/nas.crt`], {
      first: async (desk) => {
        await withAuthority(desk);
        await desk.run('overlay-sign', ['nas'], { ip: '10.1.0.2/24', out: desk.out });
      },
      readOnly: 'refused.readOnly',
      ...nebula,
    }),

    {
      flow: 'vulnerabilities-import',
      answers: (desk) => ({ file: desk.file('scan.json') }),
      first: scanned,
      acts: ['import'],
      end: book,
      otherwise: { 'import/after': { says: /1 known\b/, end: 'same' } },
    },
    reading('vulnerabilities-list', [], { first: imported }),
    {
      flow: 'vulnerabilities-decide',
      words: ['openssl'],
      options: { as: 'accept', reason: 'only on loopback', until: '2999-01-01' },
      first: imported,
      acts: ['decide'],
      again: ['decide'],
      end: book,
    },
    {
      flow: 'vulnerabilities-report',
      words: ({ out }) => [`${out}/report.md`],
      first: imported,
      acts: ['report'],
      end: async (desk) => (await desk.read('out/report.md')).includes('openssl'),
    },

    ofObjects('objects-list', { acts: [], words: ['crate/'] }),
    ofObjects('objects-get', {
      title: 'over a file',
      acts: ['get'],
      words: (desk) => ['crate/a.txt', desk.file('here.txt')],
      first: async (desk) => {
        await withObject(desk);
        await desk.write('here.txt', 'other');
      },
      end: (desk) => desk.read('here.txt'),
    }),
    ofObjects('objects-put', {
      title: 'over an object',
      acts: ['put'],
      again: ['put'],
      words: (desk) => [desk.file('new.txt'), 'crate/a.txt'],
      first: async (desk) => {
        await withObject(desk);
        await desk.write('new.txt', 'new');
      },
      end: stored,
    }),
    ofObjects('objects-remove', {
      acts: ['remove'],
      otherwise: { 'remove/after': gone },
      words: ['crate/a.txt'],
      first: withObject,
      end: stored,
    }),
    ofObjects('objects-link', { acts: ['link'], words: ['crate/a.txt'], first: withObject, secrets: 2 }),
    ofObjects('objects-check', {
      acts: [],
      first: async (desk) => {
        await withObject(desk);
        desk.link = (await desk.run('objects-link', ['crate/a.txt'], {}, {}, objectStorage)) ?? '';
      },
      answers: ({ link }) => ({ link }),
    }),

    reading('token', [], { answers: () => ({ token }), secrets: 1 }),
    reading('ingress-check', [], { stdin: 'ingress:\n  - service: http_status:404\n' }),
    {
      flow: 'catalog-new',
      words: ({ out }) => ['note-keeper', out],
      options: {
        ...{ name: 'Acme', kind: 'Notes', group: 'ai', image: 'ghcr.io/acme/notes:2.1', port: '3000', 'host-port': '3999' },
        ...{ health: '/', volume: ['/data'], 'time-zone': 'yes' },
      },
      acts: ['write'],
      otherwise: { 'write/after': { says: /already exists/, end: 'same' } },
      end: (desk) => readdir(desk.file('out'), { recursive: true }).then((names) => names.sort()),
    },

    reading('hosts-list'),
    {
      flow: 'hosts-add',
      words: ['nas', 'op@nas.lan'],
      options: { unchecked: true },
      acts: ['add'],
      otherwise: { 'add/after': { says: /^A host named nas already exists/, end: 'same' } },
      end: listedHosts,
    },
    {
      flow: 'hosts-remove',
      words: ['nas'],
      first: (desk) => desk.run('hosts-add', ['nas', 'op@nas.lan'], { unchecked: true }),
      acts: ['remove'],
      otherwise: { 'remove/after': { says: /^No host exists/, end: 'same' } },
      end: listedHosts,
    },
    {
      flow: 'webhook-listen',
      answers: () => ({ secret: typed }),
      acts: ['listen'],
      secrets: 1,
    },

    ofBackend('secrets-migrate', 'migrate', { options: { to: 'keychain' } }),
    ofBackend('secrets-reseal', 'reseal', {}),
    ofBackend('secrets-accept', 'accept', {}),
    reading('secrets-list', [], { first: withSecret }),
    {
      flow: 'secrets-set',
      dryRunAsks: true,
      words: ['rss-reader', 'DB_PASSWORD'],
      answers: () => ({ value: typed, again: typed }),
      acts: ['set'],
      end: (desk) => desk.kept(),
      secrets: 1,
    },
    {
      flow: 'secrets-reveal',
      words: ['rss-reader', 'DB_PASSWORD'],
      first: withSecret,
      acts: ['reveal'],
      secrets: 1,
    },
    {
      flow: 'secrets-remove',
      words: ['rss-reader', 'DB_PASSWORD'],
      first: withSecret,
      acts: ['remove'],
      otherwise: { 'remove/after': gone },
      end: (desk) => desk.kept(),
    },
    {
      flow: 'secrets-export',
      dryRunAsks: true,
      words: ({ out }) => [`${out}/exported.age`],
      first: withSecret,
      answers: () => phrases,
      acts: ['export'],
      end: (desk) => readdir(desk.out),
      secrets: 2,
    },
    {
      flow: 'secrets-import',
      dryRunAsks: true,
      words: ({ out }) => [`${out}/exported.age`],
      first: async (desk) => {
        await withSecret(desk);
        await desk.run('secrets-export', [`${desk.out}/exported.age`], {}, phrases);
        await desk.fixture.vault.remove(undefined, 'local/rss-reader/DB_PASSWORD');
      },
      answers: () => phrases,
      dryRunShows: { text: /Import 1 secret/ },
      acts: ['import'],
      end: (desk) => desk.kept(),
      secrets: 2,
    },
  ],
};
