import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Answer, ask } from './ask.ts';
import { type DeployFixture, setFixture } from './deploy-fixture.ts';
import { statusUntil } from './operator.ts';
import type { RealEngine } from './real-engines.ts';
import { findServer, type ServerName } from './real-server.ts';
import { runOrThrow } from './scripts.ts';
import { findFreePort } from './stack.ts';
import { asInTheCatalog, makeStandIn, type StandIn } from './stand-ins.ts';
import { takeTurn } from './turns.ts';

/** What one component's proof works with, once it is deployed. */
export interface Deployed {
  fixture: DeployFixture;
  /** Of a port's variable: `port('WEB_PORT')`. */
  port(variable: string): number;
  /** A verb that has to succeed; what it says. */
  run(...args: string[]): Promise<string>;
  /** A program in one of its containers; what that says. */
  inside(service: string, ...argv: string[]): Promise<string>;
  /** Waits for a word of its probe. */
  word(expected: string): Promise<void>;
}

/** A component of the catalog, deployed with real programs, used, and removed. */
export interface Row {
  group: string;
  id: string;
  /** Variables of ports, each of which gets a free one; several with = between them get the same. */
  ports: readonly string[];
  answers?: () => Record<string, string>;
  /** What there is once on this machine, and it takes: one test has it at a time. */
  takes?: string;
  /** What its probe says after the deployment. */
  word: string;
  /** What has to be there before. */
  before?: () => Promise<void>;
  proof: (it: Deployed) => Promise<void>;
  /** Of the whole test; five minutes where nothing is said. */
  limitMs?: number;
  /** Where Debian has no such program: the image is made of what `test/real/servers` built, a file or a folder. */
  server?: {
    name: ServerName;
    image: (program: string) => StandIn | Promise<StandIn>;
  };
}

/** Where the rows of a group are deployed. Its members can be read once its hooks have run. */
export interface Ground {
  readonly fixture: DeployFixture;
  /** Theirs, for the time of the group. */
  readonly folder: string;
  /** The address that containers find this machine by. */
  readonly here: string;
  /** What a proof is given, of a component that may not be deployed yet. */
  deployed(id: string): Deployed;
  /** Removes what was deployed, also where its proof fails: a second try begins with nothing. */
  cleared(ids: readonly string[], proof: () => Promise<void>): Promise<void>;
  /** A container beside them: `{ Image, Cmd }`, as the engine takes it. */
  started(config: object): Promise<{ id: string; address: string; log(): Promise<string>; end(): Promise<void> }>;
  /** A test for each. */
  prove(rows: readonly Row[]): void;
}

/**
 * @param engine of the group that this is called in: it gets the images, and a stack
 * @param options.archive false where the rows make do with the images that every engine of the tests has
 */
export function layGround(engine: RealEngine, options: { archive?: boolean } = {}): Ground {
  let fixture: DeployFixture;
  let folder: string;
  let here: string;
  const ports = new Map<string, number>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-catalog-'));
    if (options.archive !== false)
      await runOrThrow([
        ...['curl', '-sf', '--max-time', '200', '--unix-socket', engine.socket, '-X', 'POST', '-H', 'Content-Type: application/x-tar'],
        ...['-T', join(inject('composeFolder'), 'catalog.tar'), 'http://engine/images/load'],
      ]);
    const bridge = JSON.parse((await ask(engine, '/networks/bridge')).body) as { IPAM: { Config: { Gateway?: string; Subnet: string }[] } };
    here = bridge.IPAM.Config[0]?.Gateway ?? bridge.IPAM.Config[0]?.Subnet.replace(/\.\d+\/\d+$/, '.1') ?? '';
    fixture = await setFixture(engine);
  });
  afterAll(async () => {
    await fixture?.leave();
    await rm(folder, { recursive: true, force: true });
  });

  const deployed = (id: string): Deployed => ({
    fixture,
    port: (variable) => ports.get(`${id}/${variable}`) ?? expect.fail(`no ${variable}`),
    run: async (...args) => {
      const { code, stdout, stderr } = await fixture.operator.run(args);
      expect(code, `${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    },
    inside: async (service, ...argv) => {
      const { code, stdout, stderr } = await fixture.operator.run(['exec', id, '--service', service, '--', ...argv]);
      expect(code, `${argv.join(' ')}: ${stdout}${stderr}`).toBe(0);
      return stdout.trim();
    },
    word: async (expected) => void (await statusUntil(fixture.operator, id, ({ state }) => state.label === expected, 180_000)),
  });

  const cleared = async (ids: readonly string[], proof: () => Promise<void>) => {
    try {
      await proof();
    } catch (thrown) {
      for (const id of ids) {
        await fixture.operator.run(['remove', id, '--data', id, '--yes']);
        await rm(join(fixture.stack, id), { recursive: true, force: true });
      }
      throw thrown;
    }
    for (const id of ids) await deployed(id).run('remove', id, '--data', id, '--yes');
  };

  return {
    get fixture() {
      return fixture;
    },
    get folder() {
      return folder;
    },
    get here() {
      return here;
    },
    deployed,
    cleared,
    async started(config) {
      const headers = { 'Content-Type': 'application/json' };
      const made = await ask(engine, '/containers/create', { method: 'POST', headers, body: JSON.stringify(config) });
      const { Id } = JSON.parse(made.body) as { Id: string };
      await ask(engine, `/containers/${Id}/start`, { method: 'POST' });
      const { NetworkSettings } = JSON.parse((await ask(engine, `/containers/${Id}/json`)).body) as {
        NetworkSettings: { Networks: Record<string, { IPAddress: string }> };
      };
      return {
        id: Id,
        address: Object.values(NetworkSettings.Networks)[0]?.IPAddress ?? '',
        log: async () => (await ask(engine, `/containers/${Id}/logs?stdout=1&stderr=1`)).body,
        end: async () => void (await ask(engine, `/containers/${Id}?force=true&v=true`, { method: 'DELETE' })),
      };
    },
    prove(rows) {
      for (const { group, id, ports: names, answers, takes, word, before, proof, limitMs = 300_000, server } of rows) {
        const { program = '', missing } = server ? findServer(server.name) : {};
        it.skipIf(missing)(
          `${id} is deployed, found ${word}, proved and removed${missing ? ` (skipped: ${missing})` : ''}`,
          { timeout: limitMs },
          async () => {
            if (server) await makeStandIn(engine, await server.image(program));
            await before?.();
            await fixture.catalog(await oftenAsked(group, id));
            const values: Record<string, string> = { ...answers?.() };
            for (const same of names) {
              const port = await findFreePort();
              for (const name of same.split('=')) {
                ports.set(`${id}/${name}`, port);
                values[name] = String(port);
              }
            }
            const it = deployed(id);
            const settings = Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
            const giveBack = takes === undefined ? undefined : await takeTurn(takes);
            await cleared([id], async () => {
              await it.run('deploy', id, ...settings, '--yes');
              await it.word(word);
              await proof(it);
            }).finally(giveBack);
          },
        );
      }
    },
  };
}

/** The component as the catalog has it, but that the engine looks every second whether it is well: that is what a deployment waits for. */
async function oftenAsked(group: string, id: string): Promise<Record<string, string>> {
  const files = await asInTheCatalog(group, id);
  const compose = `${id}/compose.yaml`;
  // As long until it counts as unhealthy as before.
  const checks = /interval: (\d+)s([\s\S]*?)retries: (\d+)/g;
  const oftener = (_: string, seconds: string, between: string, retries: string) =>
    `interval: 1s${between}retries: ${Number(seconds) * Number(retries)}`;
  return { ...files, [compose]: (files[compose] ?? '').replaceAll(checks, oftener) };
}

/** An address of this machine that nobody else has: some ports may not be others. */
export const ownAddress = `127.77.${Math.floor(process.pid / 250) % 250}.${(process.pid % 250) + 1}`;

/** A request to a port of this machine. */
export const page = (port: number, path = '/', options: Parameters<typeof ask>[2] = {}): Promise<Answer> =>
  ask(`http://127.0.0.1:${port}`, path, options);

/** The addresses that a name server of this machine knows for a name. */
export async function resolved(name: string, port = 53, address = '127.0.0.1'): Promise<string[]> {
  const resolver = new Resolver({ timeout: 1_000, tries: 3 });
  resolver.setServers([`${address}:${port}`]);
  return await resolver.resolve4(name);
}

interface Sent {
  method: string;
  headers: Record<string, string>;
  body: string;
}

/** What a page sends that people fill in. */
export function form(fields: Record<string, string>): Sent {
  return sent('application/x-www-form-urlencoded', new URLSearchParams(fields).toString());
}

/** What a program sends. */
export function json(value: unknown, headers: Record<string, string> = {}): Sent {
  return sent('application/json', JSON.stringify(value), headers);
}

function sent(type: string, body: string, headers: Record<string, string> = {}): Sent {
  return { method: 'POST', headers: { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)), ...headers }, body };
}
