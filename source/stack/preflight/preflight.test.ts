import { describe, expect, it } from 'vitest';
import { catalogEntry, composeLabels } from '../../../test/doubles/container-facts.ts';
import { PreflightFixture } from '../../../test/doubles/preflight-fixture.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import type { Deployment, DeployRecord, PlannedPort } from '../model.ts';
import { modelMemoryBytes, modelSize } from '../model-memory.ts';

const { entries } = await wholeCatalog();
const of = (id: string): CatalogEntry => entries.find((entry) => entry.id === id) ?? expect.fail(`no ${id}`);
const fixture = (id: string) => new PreflightFixture(of(id), entries);
const deployed = (component: string, more: Partial<Deployment> = {}): Deployment => ({
  component,
  folder: `/srv/stack/${component}`,
  compose: '',
  envText: '',
  env: {},
  files: {},
  record: undefined,
  ...more,
});
const field = (name: string, more: Partial<ComponentField> = {}): ComponentField => ({
  name,
  type: 'string',
  target: 'environment',
  secret: false,
  required: false,
  excludes: [],
  ...more,
});
/** A small component of a group without further rules. */
const small = (more: Parameters<typeof catalogEntry>[2]) =>
  new PreflightFixture(catalogEntry('small', { app: { image: 'small', main: true } }, { group: 'productivity', ...more }), entries);

describe('instances that were not deployed from here', () => {
  const image = 'docker.io/miniflux/miniflux:2.0';

  it.each([
    [
      'of another project',
      { labels: composeLabels('news', 'miniflux') },
      'running; image docker.io/miniflux/miniflux:2.0; compose project news',
    ],
    [
      'that is stopped and of no project',
      { state: 'exited' as const },
      'exited; image docker.io/miniflux/miniflux:2.0; no compose project',
    ],
    [
      'whose image comes from another registry',
      { image: 'registry.lan:5000/mirror/miniflux/miniflux:2.0', labels: composeLabels('news', 'miniflux') },
      'running; image registry.lan:5000/mirror/miniflux/miniflux:2.0; compose project news',
    ],
  ])('one %s is named and blocks', async (_, more, details) => {
    const rss = fixture('rss-reader');
    const ports = [{ address: '127.0.0.1', hostPort: 9999, containerPort: 8080, protocol: 'tcp' as const }];
    rss.engine.add('feeds', { image, ports, ...more });
    expect(await rss.finding('instance:feeds')).toMatchObject({
      level: 'blocking',
      message: `rss-reader already exists on this host and was not deployed by Quarterdeck: container feeds (${details}; port 9999/tcp).`,
      advice: expect.stringMatching(/cannot be adopted yet/),
    });
  });

  it.each(['docker.io/miniflux/miniflux:2.0', 'somebody/else:1'])(
    'a project of the same name in another folder (%s) is never replaced',
    async (other) => {
      const rss = fixture('rss-reader');
      rss.engine.add('feeds', { image: other, labels: composeLabels('rss-reader', 'app') });
      expect(await rss.finding('instance:feeds')).toBeUndefined();
      expect(await rss.finding('project:rss-reader')).toMatchObject({
        level: 'blocking',
        message: `A compose project named rss-reader already exists on this host, in /srv/rss-reader: container feeds (running; image ${other}; compose project rss-reader). Deploying would replace its containers and use its volumes.`,
        advice: expect.stringMatching(/rename it first/),
      });
      // The stack's folder can be written in two ways.
      rss.devices['/srv/rss-reader'] = 1;
      rss.devices['/srv/stack/rss-reader'] = 1;
      expect(await rss.finding('project:rss-reader')).toBeUndefined();
    },
  );

  it('an official image is known by its one word in a mirror alone, not in the repository of somebody', async () => {
    const proxy = fixture('reverse-proxy');
    proxy.engine.add('gate', { image: 'registry.lan/hub/library/caddy:2' });
    proxy.engine.add('own', { image: 'ghcr.io/ada/caddy:2' });
    expect(await proxy.finding('instance:gate')).toBeDefined();
    expect(await proxy.finding('instance:own')).toBeUndefined();
  });

  it('a project in the folder of the component, or one that is on record, is changed', async () => {
    const rss = fixture('rss-reader');
    const labels = composeLabels('rss-reader', 'app');
    rss.engine.add('feeds', { image, labels: { ...labels, 'com.docker.compose.project.working_dir': '/srv/stack/rss-reader' } });
    expect(await rss.finding('instance:feeds')).toBeUndefined();
    rss.engine.change('feeds', { labels: { 'io.podman.compose.project': 'rss-reader', 'io.podman.compose.service': 'app' } });
    expect(await rss.finding('instance:feeds')).toBeUndefined();
    rss.engine.change('feeds', { labels });
    rss.deployments = [deployed('rss-reader')];
    expect(await rss.finding('project:rss-reader')).toBeUndefined();
    rss.engine.change('feeds', { labels: composeLabels('news', 'miniflux') });
    expect(await rss.finding('instance:feeds')).toBeDefined();
    rss.deployments = [deployed('rss-reader', { record: {} as DeployRecord })];
    expect(await rss.finding('instance:feeds')).toBeUndefined();
  });

  it('another component that was deployed from here, into another stack folder, is none', async () => {
    const rss = fixture('rss-reader');
    const labels = { ...composeLabels('news', 'miniflux'), 'com.docker.compose.project.working_dir': '/home/ada/stack/news' };
    rss.engine.add('feeds', { image, labels });
    expect(await rss.finding('instance:feeds')).toBeDefined();
    rss.devices['/home/ada/stack/.quarterdeck'] = 1;
    expect(await rss.finding('instance:feeds')).toBeUndefined();
  });

  it('a database or proxy of another component is none', async () => {
    const rss = fixture('rss-reader');
    rss.engine.add('db', { image: 'postgres:16-alpine', labels: composeLabels('wiki', 'db') });
    expect(await rss.finding('instance:db')).toBeUndefined();
    const proxy = fixture('reverse-proxy');
    proxy.engine.add('gate', { image: 'caddy:2', labels: composeLabels('netbird', 'caddy') });
    expect(await proxy.finding('instance:gate')).toBeDefined();
    const gateway = of('zero-trust-gateway').services.find(({ main }) => main)?.image ?? '';
    proxy.engine.add('gateway', { image: gateway, labels: composeLabels('netbird', 'gateway') });
    expect(await proxy.finding('instance:gate')).toBeUndefined();
  });
});

describe('ports (R88)', () => {
  it('a free one is no finding, nor is the one that the component has now', async () => {
    const rss = fixture('rss-reader');
    rss.plan = { site: 'news.lan' };
    expect(await rss.reported()).toEqual([]);
    rss.engine.add('rss', {
      labels: { ...composeLabels('rss-reader', 'app'), 'com.docker.compose.project.working_dir': '/srv/stack/rss-reader' },
      ports: [{ address: '127.0.0.1', hostPort: 8090, containerPort: 8080, protocol: 'tcp' }],
    });
    rss.listeners = [{ address: '127.0.0.1', port: 8090, protocol: 'tcp', process: { pid: 7, name: 'docker-proxy' } }];
    expect(await rss.reported()).toEqual([]);
  });

  it.each([
    [
      'a program of the host',
      (rss: PreflightFixture) =>
        (rss.listeners = [{ address: '0.0.0.0', port: 8090, protocol: 'tcp', process: { pid: 1, name: 'nginx' } }]),
      'nginx',
    ],
    [
      'a container of somebody else',
      (rss: PreflightFixture) => rss.engine.add('mine', { ports: [{ address: '::', hostPort: 8090, containerPort: 1, protocol: 'tcp' }] }),
      'mine',
    ],
    [
      'a component that is stopped',
      (rss: PreflightFixture) => (rss.deployments = [deployed('dns-filter-second', { env: { WEB_PORT: '8090' } })]),
      'dns-filter-second',
    ],
  ])('%s has it: named, and one key moves it', async (_, take, owner) => {
    const rss = fixture('rss-reader');
    take(rss);
    expect(await rss.finding('port-taken:web')).toMatchObject({
      level: 'blocking',
      rule: 'R88',
      message: `Port 8090/tcp (web) is in use by ${owner}.`,
      remedy: { kind: 'set', values: { WEB_PORT: '18090' } },
    });
  });

  it('another protocol or address takes nothing', async () => {
    const rss = fixture('rss-reader');
    rss.plan = { site: 'news.lan' };
    rss.listeners = [
      { address: '0.0.0.0', port: 8090, protocol: 'udp' },
      { address: '192.168.1.5', port: 8090, protocol: 'tcp' },
    ];
    expect(await rss.reported()).toEqual([]);
  });

  it('one that its protocol fixes cannot move, also on the host network', async () => {
    const proxy = fixture('reverse-proxy');
    proxy.listeners = [{ address: '127.0.0.1', port: 80, protocol: 'tcp', process: { pid: 1, name: 'apache2' } }];
    const finding = await proxy.finding('port-taken:http');
    expect(finding).toMatchObject({ level: 'blocking', message: 'Port 80/tcp (http) is in use by apache2.' });
    expect(finding?.remedy).toBeUndefined();
  });

  it('one that a component has in the network of the host is named once, and not by its program too', async () => {
    const proxy = fixture('dynamic-proxy');
    proxy.deployments = [deployed('reverse-proxy')];
    proxy.listeners = [{ address: '::', port: 443, protocol: 'tcp', process: { pid: 1, name: 'caddy' } }];
    expect(await proxy.finding('port-taken:https')).toMatchObject({
      message: 'Port 443/tcp (https) is in use by reverse-proxy.',
      advice: expect.stringMatching(/^reverse-proxy serves the same purpose\. Use only one of these components/),
    });
  });

  it('one of a tunnel can move, but those who connect have to be told', async () => {
    const quic = fixture('quic-proxy');
    quic.deployments = [deployed('reverse-proxy')];
    expect((await quic.finding('port-taken:quic'))?.advice).toBe(
      'Use port 10443 instead; reverse-proxy keeps 443. Update clients on other machines to use the new port.',
    );
    const siem = fixture('siem');
    siem.deployments = [deployed('reverse-proxy')];
    expect((await siem.finding('port-taken:web'))?.advice).toBe('Use port 10443 instead; reverse-proxy keeps 443.');
  });

  it('one that another of its kind has is a choice between the two, whoever made that one', async () => {
    const filter = fixture('dns-filter');
    filter.engine.add('adguardhome', {
      image: 'adguard/adguardhome:v0.107.60',
      labels: composeLabels('home', 'adguardhome'),
      ports: [{ address: '0.0.0.0', hostPort: 53, containerPort: 53, protocol: 'udp' }],
    });
    expect(await filter.finding('port-taken:dns-udp')).toMatchObject({
      message: 'Port 53/udp (dns-udp) is in use by dns-filter-second.',
      advice: expect.stringMatching(/^dns-filter-second serves the same purpose\. Use only one of these components/),
    });
  });
});

describe('exposure', () => {
  const wide = (id: string, address = '0.0.0.0') => {
    const one = fixture(id);
    const ports: PlannedPort[] = of(id).ports.flatMap(({ name, service, container, protocol, host }) =>
      host === undefined ? [] : [{ name, service, address, host, container, protocol, fixed: false }],
    );
    one.plan = { ports, site: 'a.lan' };
    return one;
  };

  it('wider than loopback is a warning, and one key takes it back (R7)', async () => {
    expect(await wide('search-meta-engine').finding('exposure:web')).toMatchObject({
      level: 'warning',
      rule: 'R7',
      remedy: { values: { WEB_BIND: '127.0.0.1' } },
    });
    expect(await wide('search-meta-engine', '127.0.0.1').reported()).toEqual([]);
    // Its other ports are public.
    expect(await wide('file-sync').reported()).toEqual(['blocking exposure:web']);
  });

  it('of secrets without TLS, or of a model that asks nobody, is refused (R9, R42)', async () => {
    for (const id of ['password-vault', 'rss-reader'])
      expect(await wide(id).finding('exposure:web'), id).toMatchObject({ level: 'blocking', rule: 'R9' });
    expect(await wide('model-runtime', '192.168.1.5').finding('exposure:api')).toMatchObject({ level: 'blocking', rule: 'R42' });
  });

  it('of a port for administration is refused (R8)', async () => {
    const port: CatalogPort = {
      name: 'admin',
      service: 'app',
      host: 81,
      container: 81,
      protocol: 'tcp',
      exposure: 'loopback',
      role: '',
      fixed: false,
      web: true,
      tls: false,
    };
    const manager = new PreflightFixture(
      catalogEntry('proxy-manager', { app: { image: 'x', main: true } }, { group: 'networking', ports: [port] }),
    );
    manager.plan = {
      ports: [{ name: 'admin', service: 'app', address: '0.0.0.0', host: 81, container: 81, protocol: 'tcp', fixed: false }],
    };
    expect(await manager.finding('exposure:admin')).toMatchObject({ level: 'blocking', rule: 'R8' });
    const unlisted = {
      name: undefined,
      service: 'app',
      address: '0.0.0.0',
      host: 9000,
      container: 9000,
      protocol: 'tcp',
      fixed: false,
    } as const;
    manager.plan = { ports: [unlisted] };
    expect((await manager.finding('exposure:9000/tcp'))?.message).toMatch(
      /on all addresses of the host, and the catalog does not list it\.$/,
    );
  });

  it('a component with secrets and no site lacks HTTPS (R9)', async () => {
    const vault = fixture('password-vault');
    expect(await vault.reported()).toEqual(['warning no-https']);
    vault.plan = { site: 'vault.lan' };
    expect(await vault.reported()).toEqual([]);
    expect(await small({ sensitive: true }).reported()).toEqual(['warning no-https']);
  });

  it('a model at a public name without the portal is open to everybody (R42)', async () => {
    const runtime = fixture('model-runtime');
    runtime.plan = { site: 'models.example.org' };
    runtime.deployments = [deployed('reverse-proxy')];
    expect(await runtime.finding('no-login')).toMatchObject({ level: 'warning', rule: 'R42' });
    runtime.deployments = [
      deployed('reverse-proxy', { files: { 'files/sites/models.example.org.caddy': 'x {\n\tforward_auth localhost:1 {\n' } }),
    ];
    expect(await runtime.finding('no-login')).toBeUndefined();
  });
});

describe('values', () => {
  it('a required secret or field without a value blocks, and so does one that the store has lost', async () => {
    const vault = fixture('password-vault');
    const secret = { variable: 'ADMIN_TOKEN', label: 'admin token', version: undefined };
    vault.plan = { site: 'v.lan', secrets: [{ ...secret, what: 'missing' }] };
    expect(await vault.reported()).toEqual(['blocking secret-missing:ADMIN_TOKEN']);
    vault.plan = { site: 'v.lan', secrets: [{ ...secret, what: 'keep', version: 'v1' }] };
    expect(await vault.reported()).toEqual(['blocking secret-gone:ADMIN_TOKEN']);
    vault.input = { secretsKnown: { ADMIN_TOKEN: 'v1' } };
    expect(await vault.reported()).toEqual([]);
    expect(await fixture('idp-enterprise').reported()).toContain('blocking field-missing:KC_HOSTNAME');
  });

  it('localhost inside a container is replaced: by the provider, or by the gateway of this engine (R13, R14)', async () => {
    const proxy = fixture('llm-proxy');
    proxy.values = { MODEL_RUNTIME_URL: 'http://localhost:11434' };
    expect(await proxy.finding('localhost:MODEL_RUNTIME_URL')).toMatchObject({
      level: 'blocking',
      rule: 'R14',
      remedy: { values: { MODEL_RUNTIME_URL: 'http://model-runtime:11434' } },
    });
    const other = small({ fields: [field('API_URL', { type: 'url' }), field('BASE_URL', { type: 'url', audience: 'browser' })] });
    other.values = { API_URL: 'http://127.0.0.1:9/x', BASE_URL: 'http://localhost:1' };
    expect((await other.finding('localhost:API_URL'))?.remedy).toMatchObject({ values: { API_URL: 'http://host-gateway:9/x' } });
    other.facts = { kind: 'podman' };
    expect((await other.finding('localhost:API_URL'))?.remedy).toMatchObject({
      values: { API_URL: 'http://host.containers.internal:9/x' },
    });
    expect(await other.finding('localhost:BASE_URL')).toBeUndefined();
    const mail = small({ fields: [field('MAIL_HOST', { type: 'hostname' }), field('OWN_NAME', { type: 'hostname', audience: 'listen' })] });
    mail.values = { MAIL_HOST: 'localhost', OWN_NAME: 'localhost' };
    expect(await mail.reported()).toEqual(['blocking localhost:MAIL_HOST']);
  });

  it('does not repeat a secret address', async () => {
    const one = small({ fields: [field('DB_URL', { type: 'database-url', secret: true })] });
    one.input = { answers: { values: {}, site: '', secrets: { DB_URL: { from: 'given', value: 'postgres://me:hunter2@localhost/x' } } } };
    expect(JSON.stringify(await one.findings())).not.toContain('hunter2');
    expect(await one.reported()).toEqual(['blocking localhost:DB_URL']);
  });

  it.each([
    ['', true],
    ['http://hooks.example.org', true],
    ['https://hooks.lan', true],
    ['https://192.168.1.5', true],
    ['https://hooks.example.org/', false],
  ])('WEBHOOK_URL %j will not trigger: %s (R53)', async (value, bad) => {
    const flows = small({ fields: [field('WEBHOOK_URL', { type: 'url', audience: 'internet' })] });
    flows.values = value === '' ? {} : { WEBHOOK_URL: value };
    flows.plan = { site: 'flows.example.org' };
    const finding = await flows.finding('webhook:WEBHOOK_URL');
    expect(finding !== undefined).toBe(bad);
    if (bad) expect(finding).toMatchObject({ rule: 'R53', remedy: { values: { WEBHOOK_URL: 'https://flows.example.org/' } } });
  });

  it('a public name that is no address of a webhook triggers none, and is no finding (R53)', async () => {
    const tunnel = small({ fields: [field('WG_HOST', { type: 'hostname', audience: 'internet' })] });
    tunnel.values = { WG_HOST: 'vpn.example.org' };
    expect(await tunnel.reported()).toEqual([]);
    for (const id of [
      'tunnel-server-ui',
      'openvpn-server',
      'network-controller',
      'dynamic-dns',
      'mesh-vpn-platform',
      'quic-proxy',
      'outbound-tunnel',
    ])
      expect([id, (await fixture(id).reported()).filter((reported) => reported.includes('webhook'))]).toEqual([id, []]);
  });

  it('start-dev is refused at a public name, and a warning elsewhere (R23)', async () => {
    const idp = fixture('idp-enterprise');
    idp.values = { KEYCLOAK_COMMAND: 'start-dev', KC_HOSTNAME: 'id.lan' };
    idp.plan = { site: 'id.lan' };
    expect(await idp.finding('setup-only:KEYCLOAK_COMMAND')).toMatchObject({
      level: 'warning',
      rule: 'R23',
      remedy: { values: { KEYCLOAK_COMMAND: 'start' } },
    });
    idp.plan = { site: 'id.example.org' };
    expect((await idp.finding('setup-only:KEYCLOAK_COMMAND'))?.level).toBe('blocking');
    idp.values = { KEYCLOAK_COMMAND: 'start', KC_HOSTNAME: 'id.lan' };
    expect(await idp.finding('setup-only:KEYCLOAK_COMMAND')).toBeUndefined();
  });

  it.each([
    [{ WG_MTU: '1500' }, true],
    [{ WG_MTU: '1421' }, true],
    [{ WG_MTU: '1420' }, false],
    [{ WG_MTU: '1412' }, false],
    [{}, false],
    [{ WG_MTU: '1500', MSS_CLAMP: 'true' }, false],
    [{ WG_MTU: '1500', MSS_CLAMP: 'false' }, true],
  ])('a tunnel with %j is too large: %s (R77)', async (values, bad) => {
    const tunnel = small({ fields: [field('WG_MTU', { type: 'integer' }), field('MSS_CLAMP', { type: 'string-boolean' })] });
    tunnel.values = values as Record<string, string>;
    expect(await tunnel.reported()).toEqual(bad ? ['warning mtu:WG_MTU'] : []);
  });

  it('a claim token older than it is worth is asked for again, at the first start only (R76)', async () => {
    const media = small({ fields: [field('CLAIM', { type: 'secret-string', secret: true, validFor: '4m' })] });
    const answers = { values: {}, site: '', secrets: { CLAIM: { from: 'keep' as const, version: 'v1' } } };
    media.input = { answers, secretsKnown: { CLAIM: 'v1' }, secretsMadeMs: { CLAIM: Date.now() - 3 * 60_000 } };
    expect(await media.reported()).toEqual([]);
    media.input = { ...media.input, secretsMadeMs: { CLAIM: Date.now() - 5 * 60_000 } };
    expect(await media.finding('token-age:CLAIM')).toMatchObject({ level: 'blocking', rule: 'R76' });
    media.plan = { kind: 'change' };
    expect(await media.reported()).toEqual([]);
  });

  it('a component that it uses and that is missing is offered', async () => {
    const proxy = fixture('llm-proxy');
    expect((await proxy.finding('provider-missing:model-runtime'))?.remedy).toEqual({
      kind: 'deploy',
      label: 'Deploy model-runtime first',
      component: 'model-runtime',
    });
    proxy.deployments = [deployed('model-runtime')];
    expect(await proxy.finding('provider-missing:model-runtime')).toBeUndefined();
  });
});

describe('memory of models (R78)', () => {
  it.each([
    [7, 8],
    [8, 16],
    [13, 16],
    [70, 40],
    [1, 8],
  ])('%sB needs about %s GB', (billions, gigabytes) => expect(modelMemoryBytes(billions)).toBe(gigabytes * 1e9));
  it.each([
    ['llama3.1:8b', 8],
    ['qwen2.5-coder:32b-instruct-q4', 32],
    ['phi3:3.8B', 3.8],
    ['large-v3', undefined],
    ['web', undefined],
  ])('%s has %s', (name, size) => expect(modelSize(name)).toBe(size));
  it('is compared with the host', async () => {
    const agent = small({ fields: [field('DEFAULT_MODEL')] });
    agent.values = { DEFAULT_MODEL: 'ollama/llama3.3:70b' };
    expect(await agent.finding('memory:model')).toMatchObject({ level: 'warning', rule: 'R78' });
    agent.values = { DEFAULT_MODEL: 'ollama/llama3.1:8b' };
    expect(await agent.reported()).toEqual([]);
  });
});
