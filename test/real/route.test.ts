import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployComposer, type DeployFixture, pageAt, setFixture, webFiles } from './deploy-fixture.ts';
import { gatewayFiles } from './gateway-files.ts';
import { describeAgain, describeReal, type RealEngine, type RealEngineKind } from './real-engines.ts';
import { findFreePort } from './stack.ts';
import { makeStandIn } from './stand-ins.ts';

const gateway = 'routing-gateway';
const client = 'routed-client';
const other = 'routed-other';

interface Answered {
  State: { Running: boolean };
  Config: { Env: string[] };
  HostConfig: { NetworkMode: string };
  NetworkSettings: { Ports: Record<string, { HostPort: string }[] | null> };
  Id: string;
}

/** A gateway, and two components that listen inside on 8081 and 8082. */
interface RoutedFixture extends DeployFixture {
  port: number;
  said(...args: string[]): Promise<{ code: number; said: string }>;
  answered(id: string, service: string): Promise<Answered>;
  page(): Promise<string>;
}

async function setRoutedFixture(engine: RealEngine, composer: DeployComposer): Promise<RoutedFixture> {
  const fixture = await setFixture(engine, composer);
  for (const name of [gateway, client, other])
    await makeStandIn(engine, { name: `local/${name}`, tag: 'latest', from: 'busybox:latest', files: {}, changes: [] });
  const [port, otherPort, controlPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const web = (id: string, at: number, inside: string, more = '') =>
    Object.fromEntries(
      Object.entries(webFiles(id, { image: `local/${id}:latest`, port: at, more })).map(([path, text]) => [
        path,
        text.replaceAll('-p 80 ', `-p ${inside} `).replaceAll(':80/tcp', `:${inside}/tcp`),
      ]),
    );
  await fixture.catalog({
    ...gatewayFiles(gateway, controlPort),
    ...web(client, port, '8081', 'provides: {page: {port: web, scheme: http}}\n'),
    ...web(other, otherPort, '8082', `uses: [{component: ${client}, what: page}]\n`),
  });
  return {
    ...fixture,
    port,
    async said(...args) {
      const { code, stdout, stderr } = await fixture.operator.run(args);
      return { code, said: stdout + stderr };
    },
    answered: async (id, service) => (await fixture.container(id, service)) as unknown as Answered,
    page: () => pageAt(port),
  };
}

describeReal('docker', 'a component behind a VPN gateway', (engine) => {
  let fixture: RoutedFixture;
  const run = (...args: string[]) => fixture.said(...args);
  const done = async (...args: string[]) => {
    const { code, said } = await run(...args);
    expect(code, said).toBe(0);
    return said;
  };

  beforeAll(async () => {
    fixture = await setRoutedFixture(engine, 'compose-1');
    for (const id of [gateway, client, other]) await done('deploy', id, '--yes');
  });
  afterAll(() => fixture?.leave());

  it('is refused without a gateway of that name, and for what is not there; dry-run, both plans are shown', async () => {
    expect(await run('route', client, '--through', 'nowhere')).toMatchObject({
      code: 4,
      said: expect.stringMatching(/No VPN gateway "nowhere"/),
    });
    expect(await done('route', client, '--direct')).toMatch(/already has its own network/);
    expect(await done('route', client, '--dry-run')).toMatch(/routing-gateway: /);
    expect((await fixture.answered(client, 'web')).HostConfig.NetworkMode).not.toMatch(/^container:/);
  });

  it("its ports are published on the gateway, its network is the gateway's, and the address that it leaves at is proved (R15)", async () => {
    expect(await done('route', client, '--yes')).toMatch(/Public address: 198\.51\.100\.7 \(Sweden\)/);
    const [front, back] = [await fixture.answered(gateway, 'front'), await fixture.answered(client, 'web')];
    expect(back.HostConfig.NetworkMode).toBe(`container:${front.Id}`);
    expect(back.NetworkSettings.Ports).toEqual({});
    expect(front.NetworkSettings.Ports['8081/tcp']?.map(({ HostPort }) => HostPort)).toEqual([String(fixture.port)]);
    expect(await fixture.page()).toBe('good morning');
    const { ports } = JSON.parse((await fixture.operator.run(['ports', '--json'])).stdout) as {
      ports: { port: number; component?: string; conflictWith?: unknown }[];
    };
    expect(ports.filter((one) => one.port === fixture.port)).toEqual([expect.objectContaining({ component: gateway })]);
  });

  it('who uses it finds it by the same name at the gateway, also when that is made anew (R15)', async () => {
    const asked = () => done('exec', other, '--', 'wget', '-q', '-T', '5', '-O', '-', `http://${client}:8081/`);
    expect(await asked()).toContain('good morning');
    await done('deploy', gateway, '--set', 'COUNTRY=Finland', '--yes');
    expect(await asked()).toContain('good morning');
    await done('deploy', gateway, '--set', 'COUNTRY=Sweden', '--yes');
  });

  it('a second one behind it: the first is made again with the gateway, in the same run', async () => {
    const said = await done('route', other, '--yes');
    expect(said).toMatch(new RegExp(`Also recreated because of the shared network: ${client}`));
    expect(said).toMatch(new RegExp(`Disconnecting ${client} from the network`));
    expect(await fixture.page()).toBe('good morning');
  });

  it('a restart of the gateway takes those behind it along (R15)', async () => {
    expect(await done('restart', gateway)).toMatch(/Also restarted because of the shared network: routed-/);
    expect(await fixture.page()).toBe('good morning');
  });

  it('a change of the gateway makes those behind it again, and leaves one stopped that was; the rollback too (R15)', async () => {
    await done('stop', other);
    const before = await fixture.answered(client, 'web');
    expect(await done('deploy', gateway, '--set', 'COUNTRY=Norway', '--yes')).toMatch(/Also changed: .*routed-client/);
    expect((await fixture.answered(client, 'web')).Id).not.toBe(before.Id);
    expect((await fixture.answered(other, 'web')).State.Running).toBe(false);
    expect(await fixture.page()).toBe('good morning');
    await done('start', other);
    // What was only made again has nothing to go back to.
    expect(await done('rollback', gateway, '--yes')).toMatch(new RegExp(`^Rolled back the change of .*: ${gateway}`, 'm'));
    expect(await fixture.page()).toBe('good morning');
    expect((await fixture.answered(gateway, 'front')).Config.Env).toContain('COUNTRY=Sweden');
  });

  it('another image under its tag too, which Docker lists without a name by then (R15)', async () => {
    const files = { 'etc/newer': 'yes' };
    await makeStandIn(engine, { name: `local/${gateway}`, tag: 'latest', from: 'busybox:latest', files, changes: [] });
    const before = await fixture.answered(gateway, 'front');
    expect(await done('deploy', gateway, '--yes')).toMatch(/Also changed: .*routed-client/);
    expect((await fixture.answered(gateway, 'front')).Id).not.toBe(before.Id);
    expect(await fixture.page()).toBe('good morning');
  });

  it('a gateway that somebody else took away: what is behind it is said to have no network, and up brings back both', async () => {
    const { Id } = await fixture.answered(gateway, 'front');
    expect((await ask(engine, `/containers/${Id}?force=true`, { method: 'DELETE' })).status).toBe(204);
    expect((await run('status', client)).said).toMatch(/no network/);
    const said = await done('up');
    expect(said).toMatch(new RegExp(`Started: ${gateway}, ${client}`));
    expect(await fixture.page()).toBe('good morning');
    expect((await run('status', client)).said).not.toMatch(/no network/);
  });

  it('one that somebody restarted: the same, and route puts it right as well', async () => {
    const { Id } = await fixture.answered(gateway, 'front');
    expect((await ask(engine, `/containers/${Id}/restart?t=1`, { method: 'POST' })).status).toBe(204);
    expect((await run('status', client)).said).toMatch(/no network/);
    expect(await done('route', client, '--yes')).toMatch(/is routed through routing-gateway\. Public address: /);
    expect(await done('up')).toMatch(new RegExp(`Started: ${other}`));
    expect(await fixture.page()).toBe('good morning');
  });

  it('a gateway with somebody behind it is not removed', async () => {
    expect(await run('remove', gateway, '--yes')).toMatchObject({
      code: 4,
      said: expect.stringMatching(/routed-client, routed-other are in the network of /),
    });
  });

  it('and back: it publishes for itself, and the gateway no longer does', async () => {
    await done('route', client, '--direct', '--yes');
    const [front, back] = [await fixture.answered(gateway, 'front'), await fixture.answered(client, 'web')];
    expect(back.NetworkSettings.Ports['8081/tcp']?.map(({ HostPort }) => HostPort)).toEqual([String(fixture.port)]);
    expect(front.NetworkSettings.Ports['8081/tcp']).toBeUndefined();
    expect(await fixture.page()).toBe('good morning');
  });
});

const onPodman: readonly { kind: RealEngineKind; composer: DeployComposer }[] = [
  { kind: 'podman', composer: 'compose-2' },
  { kind: 'podman', composer: 'podman-compose-1.3' },
];

for (const { kind, composer } of onPodman)
  describeAgain(kind, `behind a VPN gateway with ${composer}`, (engine) => {
    let fixture: RoutedFixture;
    const done = async (...args: string[]) => {
      const { code, said } = await fixture.said(...args);
      expect(code, said).toBe(0);
      return said;
    };
    beforeAll(async () => {
      fixture = await setRoutedFixture(engine, composer);
      for (const id of [gateway, client]) await done('deploy', id, '--yes');
    });
    afterAll(() => fixture?.leave());

    it('Podman, which removes no container that others are joined to, takes the change of the gateway all the same (R15)', async () => {
      await done('route', client, '--yes');
      expect(await fixture.page()).toBe('good morning');
      const { ports } = JSON.parse((await fixture.operator.run(['ports', '--json'])).stdout) as {
        ports: { port: number; component?: string }[];
      };
      expect(ports.filter((one) => one.port === fixture.port)).toEqual([expect.objectContaining({ component: gateway })]);
      expect(await done('deploy', gateway, '--set', 'COUNTRY=Norway', '--yes')).toMatch(new RegExp(`Also changed: ${client}`));
      expect((await fixture.answered(gateway, 'front')).Config.Env).toContain('COUNTRY=Norway');
      expect(await fixture.page()).toBe('good morning');
      // The rest is the same for both of them, and slow.
      if (composer === 'compose-2') {
        expect(await done('restart', gateway)).toMatch(/Also restarted/);
        expect(await fixture.page()).toBe('good morning');
        await done('rollback', gateway, '--yes');
        expect((await fixture.answered(gateway, 'front')).Config.Env).toContain('COUNTRY=Sweden');
        expect(await fixture.page()).toBe('good morning');
      }
      await done('route', client, '--direct', '--yes');
      expect(await fixture.page()).toBe('good morning');
    });
  });

describeReal('podman', 'behind a VPN gateway with podman-compose 1.0', (engine) => {
  let fixture: RoutedFixture;
  beforeAll(async () => {
    fixture = await setRoutedFixture(engine, 'podman-compose');
    for (const id of [gateway, client]) expect(await fixture.said('deploy', id, '--yes')).toMatchObject({ code: 0 });
  });
  afterAll(() => fixture?.leave());

  it('is refused before anything changes, since that compose cannot do it', async () => {
    expect(await fixture.said('route', client, '--yes')).toMatchObject({
      code: 4,
      said: expect.stringMatching(/podman-compose\s+1\.0\.\d\s+does\s+not\s+support/),
    });
    expect(await fixture.page()).toBe('good morning');
  });
});
