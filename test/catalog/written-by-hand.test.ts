import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { checkConfig, examineConfig } from '../../source/config-files/config-check.ts';
import { readConfigSchema } from '../../source/stack/component-source.ts';

// Files as people write them after the products' own documentation: what is right there is called right, and what is wrong is told in words.

let entries: ReadonlyMap<string, CatalogEntry>;
beforeAll(async () => {
  entries = new Map((await loadFolder('catalog', { own: false })).entries.map((entry) => [entry.id, entry]));
});
const schemaOf = (entry: CatalogEntry) => readConfigSchema(entry, join(process.cwd(), 'catalog'));
async function check(id: string, text: string) {
  const entry = entries.get(id);
  if (!entry?.configFile) throw new Error(`${id} has no configuration file`);
  return checkConfig(text, entry.configFile, await schemaOf(entry));
}

const portal = `
session:
  cookies:
    - {domain: example.com, authelia_url: 'https://auth.example.com'}
authentication_backend:
  ldap: {address: 'ldap://directory:3890', base_dn: 'dc=example,dc=com', user: 'uid=admin'}
access_control: {default_policy: two_factor}
storage: {local: {path: /config/db.sqlite3}}
notifier: {filesystem: {filename: /config/notification.txt}}
`;

it.each([
  ['sso-portal', portal],
  [
    'sso-portal',
    portal.replace('session:\n', 'session:\n  redis: {high_availability: {sentinel_name: one, nodes: [{host: a, port: 26379}]}}\n'),
  ],
  ['sso-portal', `${portal}identity_validation: {reset_password: {jwt_secret: '{{ secret "/run/secrets/jwt" }}'}}\n`],
  [
    'llm-proxy',
    'model_list:\n  - model_name: gpt-4o\n    litellm_params: {model: gpt-4o, api_key: os.environ/OPENAI_API_KEY}\n  - model_name: "*"\n    litellm_params: {model: "*"}\n',
  ],
  ['dynamic-dns', '{"settings": [{"provider": "goip", "domain": "a.example.org", "ip_version": "", "ipv6_suffix": ""}]}'],
  ['search-meta-engine', 'use_default_settings: true\nsearch: {default_lang: ""}\n'],
  [
    'dns-blocker',
    `upstreams: {groups: {default: [1.1.1.1]}, quic: {}}
blocking:
  denylists: {ads: ["https://example.org/ads.txt"], games: ["|\\n  example.net"]}
  schedules: {night: {start: "22:00", end: "06:00"}}
  listSchedules: {games: [night]}
  clientGroupsBlock: {default: [ads]}
ports: {dns: [53, "[::1]:53"], http: 4000, freeBind: true, proxyProtocol: [https]}
rateLimit: {enable: true}
rebindingProtection: {enable: true}
dns64: {enable: false}
http3: {enable: false}
`,
  ],
  [
    'dhcp-server',
    `# The house
{ "Dhcp4": {
  "interfaces-config": {"interfaces": ["eth0"]}, # one card
  "option-data": [{"name": "vendor-encapsulated-options"}],
  /* both floors */
  "shared-networks": [{"name": "floors", "subnet4": [{"id": 1, "subnet": "192.168.1.0/24", "pools": [{"pool": "192.168.1.10-192.168.1.99"}]}]}]
} }`,
  ],
  [
    'dynamic-proxy',
    `http:
  routers:
    parent: {rule: "Host(\`a.example.org\`)", middlewares: [auth]}
    child: {rule: "Path(\`/x\`)", service: app, parentRefs: [parent]}
  middlewares:
    auth: {basicAuth: {usersFile: /config/users}}
    inside: {ipWhiteList: {sourceRange: [10.0.0.0/8]}}
  services:
    app: {loadBalancer: {servers: [{url: '{{ env "APP_URL" }}'}]}}
`,
  ],
  [
    'quic-proxy',
    `tls: {cert: /etc/hysteria/a.crt, key: /etc/hysteria/a.key}
congestion: {type: bbr}
bandwidth: {up: 1 gbps, down: 1 gbps, disableLossCompensation: true}
mimic: {}
`,
  ],
  [
    'quic-proxy',
    'listen: "realm://token@meet.example.com/house"\nrealm: {insecure: false}\nacme: {domains: [a.example.org], email: a@example.org}\n',
  ],
  [
    'secrets-manager-path',
    `ui            = true
api_addr      = "https://bao.example.org:8200"
default_lease_ttl = "768h"
storage "raft" {
  path    = "/openbao/data"
  node_id = "node1"
  retry_join {
    leader_api_addr = "https://node2:8200"
  }
}
listener "tcp" {
  address         = "[::]:8200"
  tls_cert_file   = "/openbao/config/a.pem"
  tls_key_file    = "/openbao/config/a.key"
  custom_response_headers { "default" = { "X-Frame-Options" = ["DENY"] } }
}
seal "transit" { address = "https://other:8200", key_name = "auto" }
telemetry { prometheus_retention_time = "30s" }
`,
  ],
  [
    'cluster-backup',
    'apiVersion: velero.io/v1\nkind: Schedule\nmetadata: {name: night, namespace: velero}\nspec:\n  schedule: "0 2 * * *"\n  template: {snapshotVolumes: null}\n',
  ],
])('%s: what its documentation shows is right (%#)', async (id, text) => {
  expect(await check(id, text)).toEqual([]);
});

it.each([
  ['session:\n', 'session:\n  domain: example.com\n', 3, 'session.domain', /deprecated in 4\.38/, /session\.cookies/],
  ['session:\n', 'session:\n  secret: abcdefghijklmnop\n', 3, 'session.secret', /contains the session secret/, /AUTHELIA_SESSION_SECRET/],
  ["user: 'uid=admin'", "password: 'hunter2'", 6, 'authentication_backend.ldap.password', /contains the password/, /env "LDAP_PASSWORD"/],
  ['address:', 'url:', 6, 'authentication_backend.ldap.url', /deprecated in 4\.38/, /ldap\.address/],
  ['storage:', 'server: {host: 0.0.0.0}\nstorage:', 8, 'server.host', /deprecated in 4\.38/, /server\.address/],
  [
    'storage: {',
    'storage: {encryption_key: abcdefghijklmnopqrstuvwxyz, ',
    8,
    'storage.encryption_key',
    /contains the storage encryption key/,
    /Remove the value/,
  ],
  ['  cookies:\n    - {', '  name: {', 3, 'session.name', /must be text/, /./],
  ["'ldap://directory:3890'", 'directory', 6, 'authentication_backend.ldap.address', /is invalid/, /^Use an address with its scheme/],
])('sso-portal: %j written as %j is told in words', async (from, to, line, field, message, remedy) => {
  const reported = await check('sso-portal', portal.replace(from, to));
  expect(reported.find((one) => one.field === field)).toMatchObject({
    line,
    message: expect.stringMatching(message),
    remedy: expect.stringMatching(remedy),
  });
});

it('every form that a schema wants is said in words: a regular expression tells few people what to write', async () => {
  const bare: string[] = [];
  const look = (node: unknown, id: string, path: string, described: boolean) => {
    if (typeof node !== 'object' || node === null) return;
    const { pattern, description } = node as { pattern?: unknown; description?: unknown };
    const reported = described || typeof description === 'string';
    if (typeof pattern === 'string' && !reported) bare.push(`${id} ${path}`);
    for (const [key, inner] of Object.entries(node))
      look(inner, id, `${path}/${key}`, reported && (key === 'anyOf' || /\/anyOf$/.test(path)));
  };
  for (const entry of entries.values()) {
    const schema = await schemaOf(entry);
    if (schema !== undefined) look(JSON.parse(schema), entry.id, '', false);
  }
  expect(bare).toEqual([]);
});

// Out of public repositories, cut down: each works at its product, and what is warned of is what the product warns of, or what is wrong only as it is deployed from here.
it.each<[id: string, text: string, warned: readonly string[]]>([
  ['dynamic-proxy', 'HTTP:\n  middlewares:\n    auth: {forwardauth: {address: "http://auth:9091", TrustForwardHeader: true}}\n', []],
  [
    'dynamic-proxy',
    'http:\n  routers:\n    a: {rule: Host(`a`), service: elsewhere, middlewares: [auth]}\n',
    ['http.routers.a.service', 'http.routers.a.middlewares[0]'],
  ],
  [
    'dynamic-proxy',
    'http:\n  services:\n{{ range $i, $name := splitList "," (env "NAMES") }}\n    {{ $name }}:\n      loadBalancer:\n        servers: [{url: "http://{{ $name }}:80"}]\n{{ end }}\n',
    [],
  ],
  [
    'dns-blocker',
    'upstream:\n  default: [1.1.1.1]\nblocking:\n  blackLists: {ads: ["https://example.org/a.txt"]}\n  clientGroupsBlock: {default: [ads]}\nport: 53\nhttpPort: 4000\n',
    ['upstream', 'blocking.blackLists', 'port', 'httpPort'],
  ],
  ['dns-blocker', 'upstreams: {timeout: 2, groups: {default: [1.1.1.1]}}\ncustomDNS: {customTTL: 30}\n', []],
  [
    'intrusion-prevention',
    '# first\nfilenames: [/var/log/auth.log]\nlabels: {type: syslog}\n---\nfilename: tests/nginx.log\nlabels: {type: nginx}\n---\nsource: docker\ncontainer_name: [web]\nlabels: {type: traefik}\n',
    ['filename'],
  ],
  ['authoritative-dns', 'launch=\nlaunch+=gsqlite3\ngsqlite3-dnssec\nno-shuffle\n', ['include-dir']],
  [
    'sso-portal',
    portal.replace("  cookies:\n    - {domain: example.com, authelia_url: 'https://auth.example.com'}", '  domain: example.com') +
      'server: {host: 0.0.0.0, port: 9091, enable_pprof: false, read_buffer_size: 4096}\n',
    ['session.domain', 'server.host', 'server.port', 'server.enable_pprof', 'server.read_buffer_size'],
  ],
  [
    'outbound-tunnel',
    'tunnel: home\ningress:\n  - {hostname: a.example.org, service: "http://localhost:8080"}\n  - {service: "http_status:404"}\n',
    ['tunnel', 'ingress[0].service'],
  ],
  [
    'outbound-tunnel',
    'ingress:\n  - {hostname: a.example.org, service: "http://app:8080"}\n  - {hostname: "*", service: "http_status:404"}\n',
    [],
  ],
  [
    'quic-proxy',
    'listen: :443\ntls: {cert: server.crt, key: server.key}\nauth: {type: userpass, userpass: {ann: x}}\n',
    ['tls.cert', 'tls.key', 'auth'],
  ],
  [
    'metadata-manager',
    'plex: {url: "http://plex:32400", token: <<mediatoken>>, timeout: 60, verify_ssl: }\ntmdb: {apikey: x, language: }\nlibraries: {Films: }\n',
    [],
  ],
  [
    'overlay-mesh',
    'pki: {ca: /a, cert: /b, key: /c}\nstatic_host_map:\nlighthouse: {am_lighthouse: true, hosts: }\nlisten: {port: 4242}\nfirewall: {outbound: [], inbound: []}\n',
    [],
  ],
  ['resource-quota', 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: all, namespace: }\nspec: {hard: {pods: "10"}, scopes: }\n', []],
  [
    'llm-proxy',
    'model_list:\n  - model_name: local\n    litellm_params: {model: openai/qwen3, api_base: "http://ollama:11434/v1", api_key: none}\n  - model_name: far\n    litellm_params: {model: gpt-4o, api_key: sk-1234567890}\ngeneral_settings: {master_key: sk-1234}\n',
    ['model_list[1].litellm_params.api_key', 'general_settings.master_key'],
  ],
  [
    'dhcp-server',
    '{ "Dhcp4": {\n  "interfaces-config": {"interfaces": ["eth0"]},\n  "t1-percent": .5,\n  <?include "options.json"?>\n  "subnet4": [<?include "floors.json"?>],\n} }\n',
    [],
  ],
  [
    'resource-quota',
    'apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: all}\nspec: {hard: {pods: "10"}}\n',
    [],
  ],
  ['audit-logging', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n---\napiVersion: v1\nkind: ConfigMap\n', ['']],
])('%s: what works elsewhere is no mistake (%#)', async (id, text, warned) => {
  const entry = entries.get(id) as CatalogEntry;
  const { problems } = examineConfig(text, entry.configFile ?? {}, await schemaOf(entry), { elsewhere: true });
  expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
  expect(problems.map(({ field }) => field).toSorted()).toEqual([...warned].toSorted());
});

it.each([
  [
    'sso-portal',
    `${portal.replace('filesystem: {filename: /config/notification.txt}', "smtp: {username: 'a'}")}`,
    'notifier.smtp',
    /mail server is missing/,
  ],
  ['sso-portal', portal.replace('local: {path: /config/db.sqlite3}', 'mysql: {database: a}'), 'storage.mysql', /database is missing/],
  ['sso-portal', portal.replace('storage: {', 'storage: {encryption_key: short, '), 'storage.encryption_key', /at least 20/],
  ['dynamic-proxy', 'entryPoints: {web: {address: ":80"}}\n', '', /static configuration/],
  ['mesh-control-server', 'ip_prefixes: [10.0.0.0/8]\n', '', /before 0\.23/],
  ['mesh-control-server', 'dns: {base_domain: a.b}\n', 'dns.nameservers', /no global name server is set/],
  ['quic-proxy', 'server: example.org:443\n', 'server', /client configuration/],
  ['outbound-tunnel', 'ingress:\n  - {service: "http://a:80"}\n  - {hostname: b, service: "http://b:80"}\n', 'ingress[0]', /never reached/],
  [
    'limit-range',
    'kind: LimitRange\nspec: {limits: [{type: Container, default: {cpu: 1}, defaultRequest: {cpu: 2}}]}\n',
    'spec.limits[0].defaultRequest.cpu',
    /above its default limit/,
  ],
] as const)('%s: what its product refuses is told (%#)', async (id, text, field, message) => {
  const reported = await check(id, text);
  expect(reported.filter((one) => one.level === 'error' && one.field === field).map((one) => one.message)).toContainEqual(
    expect.stringMatching(message),
  );
});
