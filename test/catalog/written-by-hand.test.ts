import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { compileCatalog } from '../../source/catalog/compile.ts';
import { checkConfig } from '../../source/products/config-check.ts';
import { readConfigSchema } from '../../source/stack/component-source.ts';

// Files as people write them after the products' own documentation: what is right there is called right, and what is wrong is told in words.

let entries: ReadonlyMap<string, CatalogEntry>;
beforeAll(async () => {
  entries = new Map((await compileCatalog('catalog')).entries.map((entry) => [entry.id, entry]));
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
  ['session:\n', 'session:\n  domain: example.com\n', 3, 'session.domain', /before 4\.38/, /session\.cookies/],
  ['session:\n', 'session:\n  secret: abcdefghijklmnop\n', 3, 'session.secret', /secret stands in the file/, /AUTHELIA_SESSION_SECRET/],
  ["user: 'uid=admin'", "password: 'hunter2'", 6, 'authentication_backend.ldap.password', /secret stands/, /env "LDAP_PASSWORD"/],
  ['address:', 'url:', 6, 'authentication_backend.ldap.url', /before 4\.38/, /ldap\.address/],
  ['storage:', 'server: {host: 0.0.0.0}\nstorage:', 8, 'server.host', /before 4\.38/, /server\.address/],
  ['storage: {', 'storage: {encryption_key: abcdefghijklmnopqrstuvwxyz, ', 8, 'storage.encryption_key', /secret stands/, /Remove it/],
  ['  cookies:\n    - {', '  name: {', 3, 'session.name', /must be text/, /./],
  ["'ldap://directory:3890'", 'directory', 6, 'authentication_backend.ldap.address', /wrong form/, /^Write an address with its scheme/],
])('sso-portal: %j written as %j is told in words', async (from, to, line, field, message, remedy) => {
  const told = await check('sso-portal', portal.replace(from, to));
  expect(told.find((one) => one.field === field)).toMatchObject({
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
    const told = described || typeof description === 'string';
    if (typeof pattern === 'string' && !told) bare.push(`${id} ${path}`);
    for (const [key, inner] of Object.entries(node)) look(inner, id, `${path}/${key}`, told && (key === 'anyOf' || /\/anyOf$/.test(path)));
  };
  for (const entry of entries.values()) {
    const schema = await schemaOf(entry);
    if (schema !== undefined) look(JSON.parse(schema), entry.id, '', false);
  }
  expect(bare).toEqual([]);
});
