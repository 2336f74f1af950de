import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { catalogOf } from '../../source/catalog/open-catalog.ts';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type { Engine } from '../../source/engine/engine.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { readComponentSource } from '../../source/stack/component-source.ts';
import { networkLabels, networksOf } from '../../source/stack/plan/networks.ts';
import { renderComponent } from '../../source/stack/plan/render.ts';
import { makeShortFolder } from '../short-folder.ts';
import { ask } from './ask.ts';
import { componentsOf, makeOperator, type Operator, statusUntil } from './operator.ts';
import { describeBeside, describeOnce, type RealEngineKind } from './real-engines.ts';
import { runOrThrow } from './scripts.ts';
import { type Composer, findFreePort, prepareComposer } from './stack.ts';

const ways: readonly { kind: RealEngineKind; composer: Composer; again?: true }[] = [
  { kind: 'docker', composer: 'compose-2' },
  { kind: 'docker', composer: 'compose-1', again: true },
  { kind: 'podman', composer: 'compose-2', again: true },
  { kind: 'podman', composer: 'podman-compose' },
];

const componentText = (id: string, kind: string, rest: string) =>
  `id: ${id}\ngroup: ai\nkind: ${kind}\ndeploy: compose\nproduct: {name: ${id}}\n${rest}`;
const serving = (words: string) => `["sh", "-c", "mkdir -p /www && echo ${words} > /www/index.html && exec httpd -f -p 80 -h /www"]`;

/** A provider and a consumer with a neighbour of its own, as a catalog has them. */
const texts: Record<string, string> = {
  'runtime/component.yaml': componentText(
    'runtime',
    'Runtime',
    `services: {server: {main: true, role: runtime}}
ports: {api: {role: API, exposure: loopback}}
provides: {api: {port: api, scheme: http}}
`,
  ),
  'runtime/compose.yaml': `services:
  server:
    image: busybox:latest
    restart: unless-stopped
    command: ${serving('models')}
    ports:
      - "\${API_BIND:-127.0.0.1}:\${API_PORT:-18434}:80/tcp"
`,
  'asker/component.yaml': componentText(
    'asker',
    'Asker',
    `services: {app: {main: true, role: server}, store: {role: store}}
fields: [{name: RUNTIME_URL, type: url, target: environment}]
uses: [{component: runtime, what: api, field: RUNTIME_URL}]
`,
  ),
  'asker/compose.yaml': `services:
  app:
    image: busybox:latest
    restart: unless-stopped
    command: ["sleep", "600"]
    environment:
      RUNTIME_URL: "\${RUNTIME_URL:-http://runtime:80}"
  store:
    image: busybox:latest
    restart: unless-stopped
    command: ${serving('rows')}
`,
};

for (const { kind, composer, again } of ways) {
  const group = describeOnce(again, describeBeside);
  group(kind, `a component and the one that it uses, brought up by ${composer}`, (real) => {
    const mark = randomBytes(3).toString('hex');
    const project = (id: string) => `${id}-${mark}`;
    const grant = () => mintGrant('test', 'destroy', AbortSignal.timeout(120_000));
    const ends: (() => Promise<unknown>)[] = [];
    let engine: Engine;
    let port = 0;

    /** What a program in a container says, and how it ended. */
    async function inside(id: string, service: string, script: string): Promise<{ code: number; said: string }> {
      const all = await engine.list(AbortSignal.timeout(20_000));
      const { id: container } =
        all.find(
          ({ labels, state }) =>
            labels['com.docker.compose.project'] === project(id) && labels['com.docker.compose.service'] === service && state === 'running',
        ) ?? expect.fail(`${service} of ${id} does not run`);
      const { exitCode, stdout, stderr } = await engine.writer(grant()).exec(container, ['sh', '-c', script]);
      return { code: exitCode, said: `${Buffer.from(stdout)}${Buffer.from(stderr)}`.trim() };
    }

    beforeAll(async () => {
      engine = openEngine({ url: real.url, origin: 'test' }, openLocalHost());
      port = await findFreePort();
      const home = await makeShortFolder('qd-nets-');
      ends.push(
        () => rm(home, { recursive: true, force: true }),
        async () => engine.close(),
      );
      await chmod(home, 0o755);
      for (const [path, text] of Object.entries(texts)) {
        await mkdir(join(home, 'catalog', path, '..'), { recursive: true });
        await writeFile(join(home, 'catalog', path), text);
      }
      const { entries, problems } = await loadFolder(join(home, 'catalog'), { own: true });
      expect(problems).toEqual([]);
      const catalog = catalogOf(entries, []);
      const { argv, env } = await prepareComposer(composer, real, home);
      // The consumer first: either may come first.
      for (const id of ['asker', 'runtime']) {
        const entry = catalog.get(id) ?? expect.fail(`no ${id}`);
        const values: Record<string, string> = id === 'runtime' ? { API_PORT: String(port) } : {};
        const answers = { values, secrets: {}, site: '' };
        const networks = networksOf(entry, values, catalog);
        expect(networks.map(({ name }) => name)).toEqual(['quarterdeck-runtime']);
        const there = new Set((await engine.networks(AbortSignal.timeout(20_000))).map(({ name }) => name));
        for (const { name } of networks) {
          if (there.has(name)) continue;
          await engine.writer(grant()).createNetwork(name, networkLabels('runtime'));
          ends.unshift(() => engine.writer(grant()).removeNetwork(name));
        }
        const rendered = renderComponent(entry, await readComponentSource(entry, ''), answers, {
          runtime: real.kind.startsWith('podman') ? 'podman' : 'docker',
          tool: { kind: composer === 'podman-compose' ? 'podman-compose' : 'docker-compose' },
          networks,
        });
        const folder = join(home, id);
        await mkdir(folder);
        await writeFile(join(folder, 'compose.yaml'), rendered.compose);
        await writeFile(join(folder, '.env'), rendered.env);
        const compose = (...args: string[]) =>
          runOrThrow([...argv, '-p', project(id), ...args], { cwd: folder, env, bare: true, limitMs: 150_000 });
        ends.unshift(() => compose('down', '-v', '-t', '1'));
        await compose('up', '-d');
      }
    });
    afterAll(async () => {
      for (const end of ends) await end().catch((error: unknown) => console.error(error));
    });

    it('reach each other by the name of the component (R14)', async () => {
      await vi.waitFor(
        async () => expect(await inside('asker', 'app', 'wget -T 5 -qO- "$RUNTIME_URL"')).toEqual({ code: 0, said: 'models' }),
        {
          timeout: 30_000,
          interval: 500,
        },
      );
    });

    it('and the consumer still reaches its own neighbour', async () => {
      expect(await inside('asker', 'app', 'wget -T 5 -qO- http://store:80')).toEqual({ code: 0, said: 'rows' });
    });

    it('while a service that does not use the provider is not on its network', async () => {
      expect((await inside('asker', 'store', 'wget -T 3 -qO- http://runtime:80')).code).not.toBe(0);
    });

    it('not through the published port: that one is on the loopback of the host alone', async () => {
      // Another engine that starts or ends on this machine rewrites the same packet filter chains.
      await vi.waitFor(
        async () =>
          expect(await (await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(3_000) })).text()).toBe('models\n'),
        { timeout: 30_000, interval: 500 },
      );
      const through = await inside(
        'asker',
        'app',
        `gate=$(ip route | sed -n 's/^default via \\([^ ]*\\).*/\\1/p' | head -n 1) && echo "$gate" && wget -T 3 -qO- "http://$gate:${port}"`,
      );
      expect(through.said).toMatch(/^\d+\.\d+\.\d+\.\d+/);
      expect(through.said).not.toContain('models');
      expect(through.code).not.toBe(0);
      expect((await inside('asker', 'app', `wget -T 3 -qO- http://localhost:${port}`)).code).not.toBe(0);
    });
  });
}

const sealed = JSON.stringify({ type: 'shamir', initialized: true, sealed: true, t: 3, n: 5, progress: 0, nonce: '', version: '2.6.2' });

for (const kind of ['docker', 'podman'] as const) {
  const group = describeOnce(kind === 'podman', describeBeside);
  group(kind, 'what others started under names of their own', (real) => {
    const mark = randomBytes(3).toString('hex');
    const json = { 'Content-Type': 'application/json' };
    const made: string[] = [];
    const images: string[] = [];
    let operator: Operator;
    let ports: number[] = [];

    async function start(name: string, image: string, host: object, labels: Record<string, string> = {}): Promise<void> {
      const script = `mkdir -p /w/v1/sys; echo '${sealed}' >/w/v1/sys/seal-status; httpd -f -p \${PORT:-8200} -h /w & wait`;
      const body = JSON.stringify({
        Image: image,
        Cmd: ['sh', '-c', script],
        Env: [`PORT=${'NetworkMode' in host ? ports[2] : 8200}`],
        Labels: labels,
        ExposedPorts: { '8200/tcp': {} },
        HostConfig: host,
      });
      const created = await ask(real, `/containers/create?name=${name}`, { method: 'POST', headers: json, body });
      expect(created.status, created.body).toBe(201);
      made.push(name);
      expect((await ask(real, `/containers/${name}/start`, { method: 'POST' })).status).toBeLessThan(300);
    }
    async function image(repository: string, tag: string): Promise<void> {
      const name = `from-${mark}-${images.length}`;
      const body = JSON.stringify({ Image: 'busybox:latest', Labels: { mark: name } });
      expect((await ask(real, `/containers/create?name=${name}`, { method: 'POST', headers: json, body })).status).toBe(201);
      const committed = await ask(real, `/commit?container=${name}&repo=docker.io/${repository}&tag=${tag}`, {
        method: 'POST',
        headers: json,
        body: '{}',
      });
      expect(committed.status, committed.body).toBe(201);
      images.push(`docker.io/${repository}:${tag}`);
      await ask(real, `/containers/${name}?force=true`, { method: 'DELETE' });
    }
    const published = (address: string, port: number | undefined) => ({
      PortBindings: { '8200/tcp': [{ HostIp: address, HostPort: String(port) }] },
    });

    beforeAll(async () => {
      operator = await makeOperator(real);
      ports = [await findFreePort(), await findFreePort(), await findFreePort(), await findFreePort()];
      // Any small program under the product's name is recognised as it. Images of their own: busybox has further names in other tests, and other tests deploy it.
      await image('openbao/openbao', 'names');
      await image('quarterdeck/names', mark);
      await start(`one-${mark}`, 'docker.io/openbao/openbao:names', published('127.0.0.1', ports[0]));
      const labels = { 'com.docker.compose.project': `lab-${mark}`, 'com.docker.compose.service': 'strongroom' };
      await start(`two-${mark}`, 'docker.io/openbao/openbao:names', published('127.0.0.1', ports[1]), labels);
      await start(`host-${mark}`, `docker.io/quarterdeck/names:${mark}`, { NetworkMode: 'host' });
      await start(`six-${mark}`, `docker.io/quarterdeck/names:${mark}`, published('::', ports[3]));
    });
    afterAll(async () => {
      for (const name of made) await ask(real, `/containers/${name}?force=true&v=true`, { method: 'DELETE' });
      for (const name of images) await ask(real, `/images/${name}?force=true`, { method: 'DELETE' });
      await operator.leave();
    });

    it('two of one product go by names of their own, and each is operated under it', async () => {
      const [one, two] = [`secrets-manager-path@one-${mark}`, `secrets-manager-path@lab-${mark}`];
      await statusUntil(operator, one, ({ state }) => state.id === 'sealed');
      await statusUntil(operator, two, ({ state }) => state.id === 'sealed');
      for (const name of [one, two]) {
        const { stdout, stderr, code } = await operator.run(['unseal', name, '--dry-run']);
        expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining(`${name} is still sealed`) });
      }
      const { stderr, code } = await operator.run(['unseal']);
      expect(code).toBe(2);
      expect(stderr.replaceAll(/\s+/g, ' ')).toContain(one);
      expect(Object.keys(await componentsOf(operator))).toEqual(expect.arrayContaining([one, two]));
    });

    it('a program on the host network is shown as its container, and a port of IPv6 alone as one', async () => {
      const seen = await operator.json<{ ports: Record<string, unknown>[] }>(['ports']);
      const at = (port: number | undefined) => seen.ports.filter((one) => one['port'] === port);
      expect(at(ports[2])).toMatchObject([{ owner: `host-${mark}`, component: `host-${mark}`, open: true }]);
      expect(at(ports[3])).toMatchObject([{ address: '::', owner: `six-${mark}`, open: true }]);
      expect(at(ports[0])).toMatchObject([{ address: '127.0.0.1', exposure: 'loopback', owner: `secrets-manager-path@one-${mark}` }]);
    });
  });
}
