import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from './ask.ts';
import { componentFiles, type DeployStage, setStage, webFiles } from './deploy-stage.ts';
import { describeReal } from './real-engines.ts';
import { findFreePort } from './stack.ts';
import { makeStandIn } from './stand-ins.ts';

const gateway = 'routing-gateway';
const client = 'routed-client';
const other = 'routed-other';

/** What the catalog's gateway declares, with a program that answers as its control server does and no tunnel behind it. */
function gatewayFiles(port: number): Record<string, string> {
  return componentFiles(
    gateway,
    `services:
  front:
    image: local/routing-gateway:latest
    restart: unless-stopped
    command: ["sh", "-c", "mkdir -p /www/v1/publicip; echo '{\\"public_ip\\":\\"198.51.100.7\\",\\"country\\":\\"Sweden\\"}' >/www/v1/publicip/ip; trap 'exit 0' TERM; httpd -f -p 8000 -h /www & wait"]
    environment:
      CONTROL_API_KEY: "\${CONTROL_API_KEY:?kept in the keychain, use quarterdeck compose}"
    ports:
      - "\${CONTROL_BIND:-127.0.0.1}:\${CONTROL_PORT:-${port}}:8000/tcp"
`,
    `ports: {control: {role: control server, exposure: loopback}}
fields:
  - {name: control API key, type: secret-string, secret: true, required: true, goes: environment, env: CONTROL_API_KEY, generator: "alphanumeric:32"}
speaks: {api: gluetun, port: control}
calls:
  publicaddress:
    title: Address
    reads: true
    auth: "header X-API-Key: <CONTROL_API_KEY>"
    inputs: {CONTROL_API_KEY: {type: secret-string, meaning: key, secret: true}}
    http: {method: GET, port: control, path: /v1/publicip/ip, headers: {X-API-Key: <CONTROL_API_KEY>}}
`,
  );
}

interface Answered {
  HostConfig: { NetworkMode: string };
  NetworkSettings: { Ports: Record<string, { HostPort: string }[] | null> };
  Id: string;
}

describeReal('docker', 'a component behind a VPN gateway', (engine) => {
  let stage: DeployStage;
  let port: number;
  const run = async (...args: string[]) => {
    const outcome = await stage.operator.run(args);
    return { ...outcome, said: outcome.stdout + outcome.stderr };
  };
  const containerOf = async (id: string, service: string) => (await stage.container(id, service)) as unknown as Answered;
  const page = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();

  beforeAll(async () => {
    stage = await setStage(engine);
    for (const name of [gateway, client, other])
      await makeStandIn(engine, { name: `local/${name}`, tag: 'latest', from: 'busybox:latest', files: {}, changes: [] });
    port = await findFreePort();
    const otherPort = await findFreePort();
    const web = (id: string, at: number, inside: string) =>
      Object.fromEntries(
        Object.entries(webFiles(id, { image: `local/${id}:latest`, port: at })).map(([path, text]) => [
          path,
          text.replaceAll('-p 80 ', `-p ${inside} `).replaceAll(':80/tcp', `:${inside}/tcp`),
        ]),
      );
    await stage.catalog({ ...gatewayFiles(await findFreePort()), ...web(client, port, '8081'), ...web(other, otherPort, '8082') });
    for (const id of [gateway, client, other]) {
      const { code, said } = await run('deploy', id, '--yes');
      expect(code, said).toBe(0);
    }
  });
  afterAll(() => stage?.leave());

  it('is refused without a gateway of that name, and for what is not there', async () => {
    expect(await run('route', client, '--through', 'nowhere')).toMatchObject({
      code: 4,
      said: expect.stringMatching(/no VPN gateway "nowhere"/),
    });
    expect(await run('route', client, '--direct')).toMatchObject({ code: 0, said: expect.stringMatching(/network of its own already/) });
  });

  it('rehearsed, shows both plans and changes nothing', async () => {
    const { code, said } = await run('route', client, '--rehearse');
    expect(code, said).toBe(0);
    expect(said).toMatch(/routing-gateway: /);
    expect((await containerOf(client, 'web')).HostConfig.NetworkMode).not.toMatch(/^container:/);
  });

  it("its ports are published on the gateway, its network is the gateway's, and the address that it leaves at is proved (R15)", async () => {
    const { code, said } = await run('route', client, '--yes');
    expect(code, said).toBe(0);
    expect(said).toMatch(/It leaves at 198\.51\.100\.7 \(Sweden\)/);
    const [front, back] = [await containerOf(gateway, 'front'), await containerOf(client, 'web')];
    expect(back.HostConfig.NetworkMode).toContain('container:');
    expect(back.NetworkSettings.Ports).toEqual({});
    expect(front.NetworkSettings.Ports['8081/tcp']?.map(({ HostPort }) => HostPort)).toEqual([String(port)]);
    expect(await page()).toBe('good morning\n');
    const { stdout } = await run('ports', '--json');
    const row = (JSON.parse(stdout) as { ports: { port: number; owner: string; component?: string }[] }).ports.find(
      (one) => one.port === port,
    );
    expect(row).toMatchObject({ component: gateway });
    const seen = await run('status', client, '--json');
    expect(seen.said).not.toMatch(/conflict/);
  });

  it('a second one behind it: the first, which loses its network with the old container, is made anew', async () => {
    const { code, said } = await run('route', other, '--yes');
    expect(code, said).toBe(0);
    expect(said).toMatch(new RegExp(`Made anew, since they are behind it too: ${client}`));
    expect(await page()).toBe('good morning\n');
  });

  it('a gateway that was made anew by somebody else: run again, it joins the new one', async () => {
    const id = (await containerOf(gateway, 'front')).Id;
    expect((await ask(engine, `/containers/${id}/restart?t=1`, { method: 'POST' })).status).toBe(204);
    const { code, said } = await run('route', client, '--yes');
    expect(code, said).toBe(0);
    expect(said).toMatch(/goes through routing-gateway\. It leaves at/);
    expect(await page()).toBe('good morning\n');
  });

  it('a change of its fields leaves it where it is', async () => {
    const { code, said } = await run('deploy', client, '--set', 'GREETING=good evening', '--yes');
    expect(code, said).toBe(0);
    expect((await containerOf(client, 'web')).HostConfig.NetworkMode).toContain('container:');
    expect(await page()).toBe('good evening\n');
  });

  it('and back: it publishes for itself, and the gateway no longer does', async () => {
    const { code, said } = await run('route', client, '--direct', '--yes');
    expect(code, said).toBe(0);
    const [front, back] = [await containerOf(gateway, 'front'), await containerOf(client, 'web')];
    expect(back.NetworkSettings.Ports['8081/tcp']?.map(({ HostPort }) => HostPort)).toEqual([String(port)]);
    expect(front.NetworkSettings.Ports['8081/tcp']).toBeUndefined();
    expect(await page()).toBe('good evening\n');
  });
});
