import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakOffs, type Ground, traces } from '../../test/doubles/break-offs.ts';
import { componentView } from '../../test/doubles/fleet-double.ts';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { answering } from '../../test/doubles/practice-ground.ts';
import { TunnelUiDouble } from '../../test/doubles/tunnel-ui-double.ts';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import { catalogOf } from '../catalog/open-catalog.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { inspectConfig } from '../products/wireguard/inspect-config.ts';
import { makeKeyPair } from '../products/wireguard/wireguard-keys.ts';
import { initialValues } from '../session/form-checks.ts';
import type { Operator } from '../session/session.ts';
import type { Flow, FlowInput } from './flow.ts';
import { overlayCa, overlaySign } from './overlay.ts';
import { clientsAdd, clientsDisable, clientsRemove, clientsShow } from './tunnel-clients.ts';
import { vulnerabilitiesDecide } from './vulnerabilities-decide.ts';
import { vulnerabilitiesImport } from './vulnerabilities-import.ts';
import { wireguardMake } from './wireguard-make.ts';

const { entries } = await wholeCatalog();
const id = 'tunnel-server-ui';
/** Under the same name in each try, empty at its beginning. */
let asked = '';
beforeAll(async () => {
  asked = join(await mkdtemp(join(tmpdir(), 'qd-asked-')), 'out');
});
afterAll(() => rm(join(asked, '..'), { recursive: true, force: true }));

interface Played {
  words?: readonly string[];
  options?: () => FlowInput['options'];
  operator: (stage: FlowStage) => Operator;
  first?: (stage: FlowStage) => Promise<unknown>;
  end: (stage: FlowStage, server: TunnelUiDouble) => Promise<unknown>;
  belongs?: Ground['belongs'];
}

/** This machine, a tunnel server with one device beside it, and nothing else. */
const ground =
  (flow: Flow, { words = [], options = () => ({}), ...played }: Played) =>
  async (): Promise<Ground> => {
    const [stage, server] = await Promise.all([FlowStage.open(), TunnelUiDouble.open()]);
    stage.host = openLocalHost();
    stage.catalog = catalogOf(entries, []);
    stage.engine.add('tunnel', {
      labels: { 'com.docker.compose.project': id, 'com.docker.compose.service': 'wg-easy' },
      ports: [{ address: '127.0.0.1', hostPort: server.port, containerPort: 51821, protocol: 'tcp', ipv6: false }],
    });
    server.add('alice');
    await stage.vault.write({ signal: AbortSignal.timeout(5_000) } as never, `local/${id}/PASSWORD`, server.password, 'generated');
    await rm(asked, { recursive: true, force: true });
    await mkdir(asked);
    await played.first?.(stage);
    const component = flow.about === 'component' ? componentView(id, { project: id, speaks: 'wg-easy' }) : undefined;
    return {
      flow,
      operator: () => played.operator(stage),
      run: (watched, operator, left) => {
        stage.operator = operator as OperatorDouble;
        stage.resume = left?.run;
        return stage.run(watched, component, { words: left?.words ?? words, options: left?.options ?? options() });
      },
      journal: stage.journal,
      end: () => played.end(stage, server),
      folders: [stage.folder, asked],
      ...(played.belongs && { belongs: played.belongs }),
      close: async () => {
        await stage.host?.close();
        await server.close();
        await stage.close();
      },
    };
  };

const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);
const devices = async (_: FlowStage, server: TunnelUiDouble) => [
  server.clients.map(({ name, enabled, address }) => [name, enabled, address]),
  // What changes something is sent once, however often the login is.
  server.requests.filter((request) => /^(?:POST|DELETE) \/api\/wireguard/.test(request)).length,
];
/** A session ends with the process that had it, so whoever goes on logs in anew. */
const anywhere = (acts: readonly string[], says: RegExp) =>
  Object.fromEntries(acts.flatMap((act) => ['before', 'after'].map((moment) => [`${act}/${moment}`, { says, end: 'same' as const }])));

test.each([
  ['let in', clientsAdd, ['bob-phone'], ['log in', 'add', 'show', 'log out'], /bob-phone is let in, as 10\.8\.0\.3/],
  ['kept out', clientsDisable, ['alice'], ['log in', 'disable', 'log out'], /alice is kept out/],
  ['removed', clientsRemove, ['alice'], ['log in', 'remove', 'log out'], /alice is removed/],
  ['shown', clientsShow, ['alice'], ['log in', 'show', 'log out'], /The configuration of alice was shown/],
] as const)('a device is %s, killed at each act: once in the end', async (_, flow, words, acts, says) => {
  const played = ground(flow, { words, operator: () => new OperatorDouble(), end: devices });
  const broken = await breakOffs(
    flow.resumes ? played : async () => ({ ...(await played()), flow: { ...flow, resumes: true } }),
    anywhere(acts, says),
  );
  expect(broken.acts).toEqual(acts);
  expect(problems(broken.tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: acts.length * 2, found: [] });
});

const answers = { serverPublicKey: makeKeyPair().publicKey, endpoint: 'vpn.example.net:51820', dns: '10.8.0.1' };
const atForm =
  (more: Record<string, string>, way = 'show') =>
  () => {
    const operator = answering({ way });
    operator.fill = async (form) => ({ ...initialValues(form), ...answers, ...more });
    return operator;
  };

test('a configuration for a phone, killed behind its making: it is made anew, for nobody has the key', async () => {
  const played = ground(wireguardMake, {
    words: ['phone'],
    operator: atForm({ device: 'phone', killSwitch: 'no' }),
    end: async () => 'nothing stays',
  });
  const { acts, tries } = await breakOffs(played, { 'make/after': { says: /^Made for phone/, end: 'same' } });
  expect(acts).toEqual(['make']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 2, found: [] });
});

test('a configuration in a file, killed at its making: written once, or whole the second time', async () => {
  const played = ground(wireguardMake, {
    words: ['laptop'],
    options: () => ({ out: join(asked, 'laptop.conf') }),
    operator: atForm({ device: 'linux', killSwitch: 'yes' }),
    end: async () => {
      const [config, peer] = await Promise.all(['laptop.conf', 'laptop.server.conf'].map((name) => readFile(join(asked, name), 'utf8')));
      return [inspectConfig(config ?? '').problems, peer?.includes(inspectConfig(config ?? '').publicKey ?? '-')];
    },
    belongs: [{ file: /laptop(\.server)?\.conf$/, why: 'it is what was asked for' }],
  });
  const { acts, tries } = await breakOffs(played);
  expect(acts).toEqual(['make']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ crashes: 2, found: [] });
});

const scan = {
  SchemaVersion: 2,
  ArtifactName: 'nginx:1.27',
  Results: [{ Vulnerabilities: [{ VulnerabilityID: 'CVE-2026-1', PkgName: 'openssl', Severity: 'HIGH' }] }],
};
const scanned = (stage: FlowStage) => writeFile(join(stage.folder, 'scan.json'), JSON.stringify(scan));
const book = async ({ folder }: FlowStage) => {
  const at = join(folder, 'data', 'vulnerabilities');
  const read = async (name: string) =>
    JSON.parse(await readFile(join(at, name), 'utf8').catch(() => '{}')) as { found?: unknown[]; decisions?: { what: string }[] };
  return [(await read('found.json')).found?.length, (await read('decisions.json')).decisions?.map(({ what }) => what)];
};

test('a report and a decision about it, killed at each act: neither is there twice', async () => {
  const importing = ground(vulnerabilitiesImport, {
    operator: (stage) => answering({ file: join(stage.folder, 'scan.json') }),
    first: scanned,
    end: book,
  });
  const imported = await breakOffs(importing, { 'import/after': { says: /1 known before/, end: 'same' } });
  expect(imported.acts).toEqual(['import']);
  expect(problems(imported.tries)).toEqual([]);
  const deciding = ground(vulnerabilitiesDecide, {
    words: ['openssl'],
    options: () => ({ as: 'accept', reason: 'only on loopback', until: '2999-01-01' }),
    operator: () => new OperatorDouble('unattended'),
    first: async (stage) => {
      await scanned(stage);
      await stage.run(vulnerabilitiesImport, undefined, { words: [join(stage.folder, 'scan.json')] });
    },
    end: book,
  });
  const decided = await breakOffs(deciding, { 'decide/after': { says: /./, end: 'same' } });
  expect(problems(decided.tries)).toEqual([]);
});

const missing = ['/usr/bin', '/usr/local/bin'].some((folder) => existsSync(join(folder, 'nebula-cert')))
  ? undefined
  : 'no nebula-cert: apt install nebula';

test.skipIf(missing)(
  `an authority and a node of the overlay mesh, killed at each act: one of each${missing ? ` (${missing})` : ''}`,
  async () => {
    const mesh = async ({ folder, vault }: FlowStage) => {
      const [file = ''] = await readdir(join(folder, 'data', 'overlay-mesh'));
      const kept = JSON.parse(await readFile(join(folder, 'data', 'overlay-mesh', file), 'utf8')) as {
        authority: { name: string };
        nodes: { name: string }[];
      };
      return [kept.authority.name, kept.nodes.map(({ name }) => name), (await vault.list()).map(({ name }) => name)];
    };
    const authority = ground(overlayCa, {
      words: ['home mesh'],
      options: () => ({ for: '30d' }),
      operator: () => new OperatorDouble('unattended'),
      end: mesh,
    });
    const made = await breakOffs(authority);
    expect(made.acts).toEqual(['authority']);
    expect(problems(made.tries)).toEqual([]);
    expect(await traces(authority)).toMatchObject({ crashes: 2, found: [] });
    const node = ground(overlaySign, {
      words: ['nas'],
      options: () => ({ ip: '10.1.0.2/24', out: asked }),
      operator: () => new OperatorDouble('unattended'),
      first: (stage) => stage.run(overlayCa, undefined, { words: ['home mesh'], options: { for: '30d' } }),
      end: async (stage) => [await mesh(stage), (await readdir(asked)).sort()],
      belongs: [{ file: /nas\.key$/, why: 'it is what was asked for' }],
    });
    const signed = await breakOffs(node);
    expect(signed.acts).toEqual(['sign']);
    expect(problems(signed.tries)).toEqual([]);
    expect(await traces(node)).toMatchObject({ crashes: 2, found: [] });
  },
);
