import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { checkValue } from '../../source/catalog/field-types.ts';
import { checkConfig } from '../../source/config-files/config-check.ts';
import { readHcl } from '../../source/config-files/hcl-text.ts';
import type { ConfigProblem } from '../../source/config-files/problem.ts';
import { variablesOf } from '../../source/stack/plan/variables.ts';
import { type CatalogFiles, catalogFiles } from '../doubles/rendered-files.ts';

// Every file that a product is configured with: what was answered stands in it, whatever it is, and what somebody wrote wrongly is found.

type Settings = Readonly<Record<string, string>>;
/** What is replaced by what, where the mistake is then seen (the beginning of this text), and what is said of it. */
type Mistake = readonly [from: string, to: string, at: string, said: RegExp];

interface ConfigCase {
  /** What only an operator can know. */
  needed?: Settings;
  /** Everything that can be answered. */
  everything: Settings;
  /** What is in the file then: parts of it, or for other forms than YAML, JSON and name=value its lines. */
  holds: unknown;
  /** Odd values that are taken, with what they become. */
  odd?: readonly [Settings, unknown][];
  /** Values that no field takes, since the file would say something else. */
  refused?: Readonly<Record<string, string | readonly string[]>>;
  /** Each in the file with every answer. */
  mistakes: readonly Mistake[];
}

const oddName = `it's "odd": #1, {ü} \\ €`;

const cases: Readonly<Record<string, ConfigCase>> = {
  'llm-proxy': {
    everything: { MODEL_NAME: 'small', MODEL: 'ollama_chat/qwen3:4b', DROP_PARAMS: 'false', SUCCESS_CALLBACK: 'langfuse, otel' },
    holds: {
      model_list: [{ model_name: 'small', litellm_params: { model: 'ollama_chat/qwen3:4b', api_base: 'os.environ/MODEL_RUNTIME_URL' } }],
      litellm_settings: { drop_params: false, success_callback: ['langfuse', 'otel'] },
    },
    odd: [
      [{ MODEL_NAME: oddName }, { model_list: [{ model_name: oddName }] }],
      [{ MODEL: 'openai/a"b#c' }, { model_list: [{ litellm_params: { model: 'openai/a"b#c' } }] }],
    ],
    refused: { MODEL: 'llama3.2', SUCCESS_CALLBACK: 'lang fuse' },
    mistakes: [
      ['"ollama_chat/qwen3:4b"', 'qwen3', 'qwen3', /model_list\[0\]\.litellm_params\.model .*has no ollama\/ prefix/],
      ['"ollama_chat/qwen3:4b"', 'ollama/qwen 3', 'ollama/qwen 3', /model_list\[0\]\.litellm_params\.model/],
      ['"ollama_chat/qwen3:4b"', 'openai/qwen3', 'openai/qwen3', /has no ollama\/ prefix/],
      ['os.environ/LITELLM_MASTER_KEY', 'sk-1234567890', 'sk-1234567890', /master_key/],
      ['os.environ/MODEL_RUNTIME_URL', 'http://localhost:11434', 'http://localhost:11434', /localhost is the proxy/],
    ],
  },
  'metadata-manager': {
    everything: { MEDIA_TIMEOUT: '90', LIBRARIES: 'Films, TV: "new"', METADATA_PATH: 'basic,config/mine.yml', OVERLAY_PATH: 'imdb' },
    holds: {
      plex: { timeout: 90 },
      libraries: {
        Films: { collection_files: [{ default: 'basic' }, { file: 'config/mine.yml' }], overlay_files: [{ default: 'imdb' }] },
        'TV: "new"': {},
      },
    },
    odd: [[{ LIBRARIES: `it's #1: {ü}` }, { libraries: { [`it's #1: {ü}`]: {} } }]],
    refused: { MEDIA_TIMEOUT: '90s' },
    mistakes: [
      ['sync_mode: append', 'sync_mode: replace', 'replace', /sync_mode/],
      ['timeout: 90', 'timeout: soon', 'soon', /timeout/],
      ['token: <<mediatoken>>', 'token: abcdefghijklmnopqrst', 'abcdefghijklmnopqrst', /file contains the media server token in plaintext/],
    ],
  },
  'sso-portal': {
    needed: { SESSION_DOMAIN: 'home.lan', site: 'auth.home.lan' },
    everything: {},
    // It reads its environment itself: test/real/config-programs.test.ts.
    holds: { session: { cookies: [{ domain: expect.stringContaining('SESSION_DOMAIN') }] }, access_control: { rules: expect.any(Array) } },
    refused: { ACCESS_POLICY: 'three_factor', SESSION_DOMAIN: '*.home.lan', LDAP_USERS_FILTER: '(uid={input}' },
    mistakes: [
      ['theme: auto', 'theme: pink', 'pink', /theme/],
      ['  level: info', '  levle: info', 'levle', /levle/],
      [
        '  default_policy: \'{{ env "ACCESS_DEFAULT_POLICY" | default "deny" }}\'',
        '  default_policy: three_factor',
        'three_factor',
        /default_policy/,
      ],
      [
        'address: \'{{ env "LDAP_URL" | replace "\\x27" "\\x27\\x27" }}\'',
        'address: ldap://directory:3890',
        'authentication_backend:',
        /only one of them/,
      ],
    ],
  },
  'secrets-manager-path': {
    everything: {
      STORAGE_PATH: '/openbao/data/one',
      NODE_ID: 'node-2',
      LISTENER_ADDRESS: '127.0.0.1:8200',
      TLS_DISABLE: 'false',
      UI: 'false',
    },
    holds: [
      'path    = "/openbao/data/one"',
      'node_id = "node-2"',
      'address = "127.0.0.1:8200"',
      'tls_disable = false',
      'tls_cert_file = "/openbao/config/cert.pem"',
      'ui = false',
    ],
    refused: { NODE_ID: 'a" }', STORAGE_PATH: '/elsewhere', LISTENER_ADDRESS: '0.0.0.0:9000', UI: 'perhaps' },
    mistakes: [
      ['tls_disable = false', 'tls_disabled = false', 'tls_disabled', /Unknown key "tls_disabled"/],
      ['ui = false', 'ui = no', 'no\n', /"no" is not a valid value/],
      ['  tls_cert_file = "/openbao/config/cert.pem"\n', '', 'listener "tcp"', /no certificate is set/],
      ['  tls_key_file', '}\n  tls_key_file', '}\n\n# Addresses', /Expected a name, not "\}"/],
      ['storage "raft" {', 'storage "raft" {\n  path = "/x"', 'path    =', /"path" is set twice/],
      ['  node_id = "node-2"\n}', '  node_id = "node-2"', '{\n  path', /never closed/],
    ],
  },
  'identity-server': {
    needed: { KANIDM_ORIGIN: 'https://idm.home.lan', KANIDM_DOMAIN: 'idm.home.lan' },
    everything: {},
    holds: ['version = "2"', 'versions = 7'],
    refused: { KANIDM_ORIGIN: 'http://idm.home.lan', KANIDM_DOMAIN: 'idm "home"', KANIDM_LOG_LEVEL: 'loud' },
    mistakes: [],
  },
  'mesh-control-server': {
    everything: { DNS_NAMESERVERS: '9.9.9.9, 2620:fe::fe' },
    holds: { dns: { nameservers: { global: ['9.9.9.9', '2620:fe::fe'] } }, grpc_listen_addr: '0.0.0.0:9090' },
    refused: { DNS_NAMESERVERS: '9.9.9.9, dns.example.org' },
    mistakes: [
      ['allocation: sequential', 'allocation: ordered', 'ordered', /allocation/],
      ['server_url: http://127.0.0.1:8080', 'server_url: 127.0.0.1:8080', '127.0.0.1:8080\n', /server_url/],
      [
        'server_url: http://127.0.0.1:8080',
        'server_url: https://vpn.mesh.internal',
        'mesh.internal\n  override',
        /host name is part of the mesh domain/,
      ],
      ['magic_dns: true', 'magic_dns: perhaps', 'perhaps', /magic_dns/],
    ],
  },
  'mesh-vpn-platform': {
    needed: {
      NETBIRD_DOMAIN: 'mesh.example.org',
      NETBIRD_AUTH_OIDC_CONFIGURATION_ENDPOINT: 'https://id.example.org/.well-known/openid-configuration',
      NETBIRD_AUTH_AUTHORITY: 'https://id.example.org',
      NETBIRD_AUTH_CLIENT_ID: 'netbird',
    },
    everything: { NETBIRD_TOKEN_SOURCE: 'idToken', NETBIRD_TURN_USER: 'relay', NETBIRD_AUTH_CLIENT_ID: "it's#1:ü" },
    holds: {
      Stuns: [{ URI: 'stun:mesh.example.org:3478' }],
      TURNConfig: { Turns: [{ URI: 'turn:mesh.example.org:3478', Username: 'relay', Password: '{{ .NETBIRD_TURN_PASSWORD }}' }] },
      Signal: { URI: 'mesh.example.org:10000' },
      HttpConfig: { AuthAudience: "it's#1:ü", OIDCConfigEndpoint: 'https://id.example.org/.well-known/openid-configuration' },
      PKCEAuthorizationFlow: { ProviderConfig: { ClientID: "it's#1:ü", UseIDToken: true } },
    },
    refused: { NETBIRD_AUTH_CLIENT_ID: '{{ .NETBIRD_DATASTORE_ENC_KEY }}', NETBIRD_TURN_USER: 'a"b', NETBIRD_DOMAIN: 'a b' },
    mistakes: [
      ['"https://id.example.org/.well-known', '"https://id.example.com/.well-known', '"https://id.example.org"', /does not match/],
      [
        '"{{ .NETBIRD_TURN_PASSWORD }}"',
        '"hunter2hunter2"',
        '"hunter2hunter2"',
        /Turns\[0\]\.Password The file contains the TURN password/,
      ],
      ['"Proto": "https"', '"Proto": "tls"', '"tls"', /Signal\.Proto/],
      ['"CredentialsTTL": "12h",', '"CredentialsTTL": "12h"', '"Secret": ""', /JSON/],
    ],
  },
  'outbound-tunnel': {
    everything: {
      TUNNEL_ID: '6ff42ae2-765d-4adf-8112-31c55c1551ef',
      INGRESS_HOSTNAME: 'app.example.com',
      INGRESS_SERVICE: 'http://app:8080',
    },
    holds: {
      tunnel: '6ff42ae2-765d-4adf-8112-31c55c1551ef',
      'credentials-file': '/etc/cloudflared/credentials.json',
      ingress: [{ hostname: 'app.example.com', service: 'http://app:8080' }, { service: 'http_status:404' }],
    },
    odd: [
      [
        { INGRESS_HOSTNAME: 'a.example.com', INGRESS_SERVICE: `http://app:80/it's#a"b` },
        { ingress: [{ service: `http://app:80/it's#a"b` }, {}] },
      ],
    ],
    refused: { TUNNEL_ID: 'a: b', INGRESS_HOSTNAME: 'a b', INGRESS_SERVICE: 'http_status:404' },
    mistakes: [
      [
        '  - service: http_status:404\n',
        '  - hostname: b.example.com\n    service: http_status:404\n',
        'hostname: b.example',
        /ingress\[1\] .*last rule/,
      ],
      ['    service: "http://app:8080"\n', '', 'hostname: "app', /service/],
      ['  - hostname: "app.example.com"\n    service', '  - service', 'service: "http://app', /ingress\[0\] .*never reached/],
      ['credentials-file: /etc/cloudflared/credentials.json\n', '', '"6ff42ae2', /require each other/],
    ],
  },
  'tunnel-server-self-hosted': {
    needed: { DASHBOARD_URL: 'https://tunnel.example.org', BASE_DOMAIN: 'example.org', ADMIN_EMAIL: 'me@example.org' },
    everything: { APP_LOG_LEVEL: 'debug', DASHBOARD_URL: 'https://t.example.net', BASE_DOMAIN: 'example.net' },
    holds: {
      app: { dashboard_url: 'https://t.example.net', log_level: 'debug' },
      domains: { domain1: { base_domain: 'example.net' } },
      gerbil: { base_endpoint: 't.example.net', start_port: 51820 },
      server: { cors: { origins: ['https://t.example.net'] } },
    },
    refused: { DASHBOARD_URL: 'https://a`b"c', BASE_DOMAIN: 'a: b', ADMIN_EMAIL: 'a"b@example.org' },
    mistakes: [
      ['start_port: 51820', 'start_port: 518200', '518200', /start_port/],
      ['internal_port: 3001', 'internal_port: 3000', '3000\n  next', /are the same/],
      ['"https://t.example.net"\n', '"http://t.example.net/x"\n', '"http://t.example.net/x"', /dashboard_url/],
    ],
  },
  'overlay-mesh': {
    everything: {
      PKI_CA: '/etc/nebula/pki/ca.crt',
      PKI_CERT: '/etc/nebula/pki/node.crt',
      STATIC_HOST_MAP: '{"10.1.0.1": ["lighthouse.example.net:4242"]}',
      AM_LIGHTHOUSE: 'false',
      LIGHTHOUSE_HOSTS: '10.1.0.1',
      LISTEN_HOST: '127.0.0.1',
      FIREWALL_OUTBOUND: 'any/any/any',
      FIREWALL_INBOUND: 'any/icmp/any, 22/tcp/laptop, 8000-8010/udp/any',
    },
    holds: {
      pki: { ca: '/etc/nebula/pki/ca.crt', cert: '/etc/nebula/pki/node.crt', key: '/etc/nebula/host.key' },
      static_host_map: { '10.1.0.1': ['lighthouse.example.net:4242'] },
      lighthouse: { am_lighthouse: false, hosts: ['10.1.0.1'] },
      listen: { host: '127.0.0.1', port: 4242 },
      firewall: {
        outbound: [{ port: 'any', proto: 'any', host: 'any' }],
        inbound: [
          { port: 'any', proto: 'icmp', host: 'any' },
          { port: 22, proto: 'tcp', host: 'laptop' },
          { port: '8000-8010', proto: 'udp', host: 'any' },
        ],
      },
    },
    odd: [[{ PKI_CA: `/etc/it's "odd": #1 ü` }, { pki: { ca: `/etc/it's "odd": #1 ü` } }]],
    refused: {
      FIREWALL_INBOUND: ['22/tcp', '70000/tcp/any', '22/tcp/a b', '22/tcp/"a"'],
      STATIC_HOST_MAP: [
        '[1]',
        '{"a": "b"}',
        '{"10.1.0.2": "a:1"}',
        '{"10.1.0.2": ["a"]}',
        '{"10.1.0.2": null}',
        '{"10.1.0.2": [1]}',
        '{"lighthouse": ["a:1"]}',
        '{"10.1.0.2": ["::1:4242"]}',
        '{"10.1.0.2": ["a:99999"]}',
        '{"10.1.0.2": ["a b:1"]}',
      ],
      LISTEN_PORT: '4243',
      LISTEN_HOST: ['1.2.3.4:5', ':4242', '[::1]:4242'],
      LIGHTHOUSE_HOSTS: ['lighthouse', 'fe80::1%eth0'],
    },
    mistakes: [
      ['am_lighthouse: false', 'am_lighthouse: true', '- "10.1.0.1"', /must not query other lighthouses/],
      ['map: {"10.1.0.1":', 'map: {"10.1.0.2":', '"10.1.0.1"\n', /hosts\[0\] .*static_host_map/],
      ['proto: icmp', 'proto: imcp', 'imcp', /proto/],
      ['mtu: 1300', 'mtu: 130', '130\n', /mtu/],
    ],
  },
  'quic-proxy': {
    everything: { LISTEN: '0.0.0.0:443', TLS_CERT: '/etc/hysteria/other.pem', MASQUERADE_URL: 'https://example.org/a?b=c#d' },
    holds: {
      listen: '0.0.0.0:443',
      tls: { cert: '/etc/hysteria/other.pem', key: '/etc/hysteria/key.pem' },
      masquerade: { type: 'proxy', proxy: { url: 'https://example.org/a?b=c#d', rewriteHost: true } },
    },
    odd: [[{ TLS_CERT: `/etc/it's "odd": #1 ü` }, { tls: { cert: `/etc/it's "odd": #1 ü` } }]],
    refused: { LISTEN: '"x', TLS_CERT: 'cert.pem', MASQUERADE_URL: 'example.org' },
    mistakes: [
      ['  key: /etc/hysteria/key.pem\n', '', 'tls:', /key/],
      ['    - reject(10.0.0.0/8)\n', '    - block 10.0.0.0/8\n', 'block 10', /acl\.inline/],
      ['    - reject(127.0.0.0/8)\n', '    - direct(all)\n', '- direct(all)\n    - reject(10.', /first matching rule/],
      ['type: proxy', 'type: mirror', 'mirror', /masquerade/],
    ],
  },
  'authoritative-dns': {
    everything: {
      GMYSQL_DNSSEC: 'false',
      API: 'false',
      WEBSERVER_ADDRESS: '127.0.0.1',
      WEBSERVER_ALLOW_FROM: '10.0.0.0/8, fc00::/7',
      ALLOW_AXFR: '192.168.1.0/24',
      PRIMARY: 'true',
      SECONDARY: 'true',
      SOA: 'ns1.example.org hostmaster.example.org 0 10800 3600 604800 3600',
    },
    holds: {
      launch: 'gmysql',
      'gmysql-dnssec': 'no',
      api: 'no',
      'webserver-address': '127.0.0.1',
      'webserver-allow-from': '10.0.0.0/8, fc00::/7',
      'allow-axfr-ips': '192.168.1.0/24',
      'disable-axfr': 'no',
      primary: 'yes',
      secondary: 'yes',
      'default-soa-content': 'ns1.example.org hostmaster.example.org 0 10800 3600 604800 3600',
    },
    refused: { SOA: 'a b 1 2 3 4 5 # \\', ALLOW_AXFR: 'all', WEBSERVER_ADDRESS: 'a b' },
    mistakes: [
      ['local-port=53', 'local-port=domain', 'local-port', /local-port/],
      ['primary=yes', 'primary=maybe', 'primary=', /primary/],
      ['api=no', 'api no', 'api no', /Expected name=value/],
      ['api=no', 'api=no\napi=yes', 'api=yes', /already/],
    ],
  },
  'dhcp-server': {
    needed: { DHCP_INTERFACE: 'eth0', DHCP_SUBNET: '192.168.1.0/24', DHCP_POOLS: '192.168.1.100 - 192.168.1.199' },
    everything: {
      ROUTER: '192.168.1.1',
      DNS_SERVERS: '192.168.1.2, 192.168.1.3',
      DOMAIN: 'home.lan',
      RESERVATIONS: '52:54:00:12:34:56=192.168.1.10=nas',
      VALID_LIFETIME: '3600',
      AUTHORITATIVE: 'true',
      LOG_SEVERITY: 'DEBUG',
    },
    holds: {
      Dhcp4: {
        'valid-lifetime': 3600,
        authoritative: true,
        subnet4: [
          {
            subnet: '192.168.1.0/24',
            pools: [{ pool: '192.168.1.100 - 192.168.1.199' }],
            'option-data': [
              { name: 'routers', data: '192.168.1.1' },
              { name: 'domain-name-servers', data: '192.168.1.2, 192.168.1.3' },
              { name: 'domain-name', data: 'home.lan' },
            ],
            reservations: [{ 'hw-address': '52:54:00:12:34:56', 'ip-address': '192.168.1.10', hostname: 'nas' }],
          },
        ],
        loggers: [{ severity: 'DEBUG' }],
      },
    },
    odd: [
      [{ DHCP_INTERFACE: `"é'#` }, { Dhcp4: { 'interfaces-config': { interfaces: [`"é'#`] } } }],
      // Its half and seven eighths are no whole numbers.
      [{ VALID_LIFETIME: '901' }, { Dhcp4: { 'valid-lifetime': 901, 'renew-timer': 450, 'rebind-timer': 788 } }],
    ],
    refused: {
      DHCP_POOLS: ['192.168.1.100', '192.168.1.0/33'],
      RESERVATIONS: '52:54=192.168.1.10',
      DHCP_SUBNET: '192.168.1.0',
      DOMAIN: 'a "b"',
    },
    mistakes: [
      ['"192.168.1.100 - 192.168.1.199"', '"192.168.1.100 to 192.168.1.199"', '"192.168.1.100 to', /pool/],
      ['"52:54:00:12:34:56"', '"52:54"', '"52:54"', /hw-address/],
      ['"valid-lifetime": 3600,', '"valid-lifetime": 3600', '"renew-timer"', /JSON/],
      ['"id": 1,', '', '{\n        \n', /no ID/],
    ],
  },
  'dns-blocker': {
    everything: {
      UPSTREAM_GROUPS: '{"default": ["9.9.9.9"], "kids*": ["1.1.1.3"]}',
      BOOTSTRAP_DNS: '9.9.9.9',
      DENYLISTS: '{"it\'s: #1 \\"ü\\"": ["https://example.org/list"]}',
      CLIENT_GROUPS_BLOCK: '{"default": ["it\'s: #1 \\"ü\\""]}',
      CACHING_MIN_TIME: '1m',
      CACHING_MAX_TIME: '2h',
      CACHING_PREFETCHING: 'true',
      QUERY_LOG_TYPE: 'console',
      QUERY_LOG_DAYS: '3',
      CUSTOM_DNS: '{"nas.home.lan": "192.168.1.10"}',
    },
    holds: {
      upstreams: { groups: { default: ['9.9.9.9'], 'kids*': ['1.1.1.3'] } },
      bootstrapDns: ['tcp+udp:9.9.9.9'],
      blocking: { denylists: { 'it\'s: #1 "ü"': ['https://example.org/list'] }, clientGroupsBlock: { default: ['it\'s: #1 "ü"'] } },
      caching: { minTime: '1m', maxTime: '2h', prefetching: true },
      queryLog: { type: 'console', logRetentionDays: 3 },
      customDNS: { mapping: { 'nas.home.lan': '192.168.1.10' } },
    },
    refused: { UPSTREAM_GROUPS: '9.9.9.9', BOOTSTRAP_DNS: 'dns.example.org', CACHING_MIN_TIME: 'soon', PORTS_DNS: '5353' },
    mistakes: [
      ['type: console', 'type: syslog', 'syslog', /queryLog\.type/],
      ['minTime: 1m', 'minTime: soon', 'soon', /minTime/],
      ['prefetching: true', 'prefetch: true', 'prefetch: true', /prefetch/],
    ],
  },
  'dynamic-proxy': {
    everything: {
      RATE_LIMIT_AVERAGE: '10',
      RATE_LIMIT_BURST: '5',
      ALLOWED_NETWORKS: '10.0.0.0/8, fd00::/8',
      WEIGHTED_SERVICES: 'old@docker=3, new@docker=1',
    },
    holds: {
      http: {
        middlewares: {
          'rate-limit': { rateLimit: { average: 10, burst: 5 } },
          'allowed-networks': { ipAllowList: { sourceRange: ['10.0.0.0/8', 'fd00::/8'] } },
        },
        services: {
          weighted: {
            weighted: {
              services: [
                { name: 'old@docker', weight: 3 },
                { name: 'new@docker', weight: 1 },
              ],
            },
          },
        },
      },
    },
    refused: { ALLOWED_NETWORKS: 'home', RATE_LIMIT_BURST: '5x', WEIGHTED_SERVICES: 'old=3' },
    mistakes: [
      ['average: 10', 'average: many', 'many\n', /average/],
      [
        '  services:\n',
        '  routers:\n    a: {rule: Host(`a`), service: b}\n  services:\n',
        'b}\n',
        /http\.routers\.a\.service The file does not define this service/,
      ],
    ],
  },
  'load-balancer': {
    everything: {
      MODE: 'http',
      BALANCE: 'leastconn',
      SERVERS: 'web1 10.0.0.11:8080; web2 web2:8080 backup',
      INTER: '5s',
      FALL: '4',
      RISE: '1',
      MAXCONN: '100',
      TIMEOUT_CONNECT: '1s',
      TIMEOUT_CLIENT: '2s',
      TIMEOUT_SERVER: '3s',
      RETRIES: '1',
      HEALTH_HOST: 'app.home.lan',
    },
    holds: [
      'mode http',
      'balance leastconn',
      'server web1 10.0.0.11:8080',
      'server web2 web2:8080 backup',
      'default-server check inter 5s fall 4 rise 1 resolvers engine init-addr last,libc,none',
      'maxconn 100',
      'timeout connect 1s',
      'timeout client 2s',
      'timeout server 3s',
      'retries 1',
      'http-check send meth GET uri /health ver HTTP/1.1 hdr Host app.home.lan',
    ],
    refused: {
      SERVERS: ['web1 10.0.0.11:8080 "', 'a 10.0.0.11:80; b 10.0.0.12:80; a 10.0.0.13:80'],
      INTER: ['0s', '000ms'],
      BALANCE: 'random',
      MAXCONN: '5 0',
      TIMEOUT_CLIENT: '3 s',
      HEALTH_HOST: 'a b',
    },
    mistakes: [],
  },
  'caching-proxy': {
    everything: {
      ACL: 'home src 192.168.1.0/24; ads dstdomain .ads.example',
      HTTP_ACCESS: 'deny ads; allow home; deny all',
      CACHE_DIR: '2000 MB',
      MAXIMUM_OBJECT_SIZE: '64 MB',
      CACHE_MEM: '128 MB',
      MAXIMUM_OBJECT_SIZE_IN_MEMORY: '1 MB',
    },
    holds: [
      'acl home src 192.168.1.0/24',
      'acl ads dstdomain .ads.example',
      'http_access deny ads',
      'http_access allow home',
      'http_access deny all',
      'cache_dir ufs /var/spool/squid 2000 16 256',
      'maximum_object_size 64 MB',
      'cache_mem 128 MB',
      'maximum_object_size_in_memory 1 MB',
    ],
    refused: { HTTP_ACCESS: 'allow all # deny all', ACL: 'home src "/etc/passwd"', CACHE_DIR: '2 GB' },
    mistakes: [],
  },
  'recursive-resolver': {
    everything: {
      ACCESS_CONTROL: '192.168.1.0/24, fd00::/8',
      PRIVATE_DOMAIN: 'home.lan',
      FORWARD_ADDR: '9.9.9.9@853#dns.quad9.net',
      FORWARD_TLS: 'yes',
      NUM_THREADS: '2',
      MSG_CACHE_SIZE: '8 MB',
      RRSET_CACHE_SIZE: '16 MB',
      VERBOSITY: '2',
    },
    holds: [
      'access-control: 192.168.1.0/24 allow',
      'access-control: fd00::/8 allow',
      'private-domain: "home.lan"',
      'forward-tls-upstream: yes',
      'forward-addr: 9.9.9.9@853#dns.quad9.net',
      'num-threads: 2',
      'msg-cache-size: 8m',
      'rrset-cache-size: 16m',
      'verbosity: 2',
    ],
    refused: {
      PRIVATE_DOMAIN: ['a" b', '.', '..', 'a..b', 'x'.repeat(64)],
      FORWARD_ADDR: ['dns.example.org', '1', '010', '1.2.3.4:53', '1.2.3.999', '.'],
      ACCESS_CONTROL: 'all',
      VERBOSITY: '9',
    },
    mistakes: [],
  },
  'reverse-proxy': { everything: {}, holds: ['import sites/*.caddy'], mistakes: [] },
  'search-meta-engine': {
    everything: { INSTANCE_NAME: 'Search', SAFE_SEARCH: '2' },
    holds: { general: { instance_name: 'Search' }, search: { safe_search: 2, formats: ['html', 'json'] } },
    odd: [
      [{ INSTANCE_NAME: oddName }, { general: { instance_name: oddName } }],
      [{ INSTANCE_NAME: '- no' }, { general: { instance_name: '- no' } }],
    ],
    refused: { SAFE_SEARCH: '3' },
    mistakes: [
      ['safe_search: 2', 'safe_search: strict', 'strict', /safe_search/],
      ['- json', '- xml', 'xml', /formats/],
      ['method: POST', 'method: POST\n  secret_key: ultrasecretkey', 'ultrasecretkey', /contains the secret key/],
    ],
  },
  'notes-collab-markdown': {
    everything: { PUBLIC_URL: 'https://notes.home.lan:8443/' },
    holds: { production: { domain: 'notes.home.lan:8443', protocolUseSSL: true, hsts: { enable: true } } },
    mistakes: [
      ['"notes.home.lan:8443"', '"https://notes.home.lan"', '"https:', /domain/],
      ['"urlAddPort": false', '"urlAddPort": "no"', '"no"', /urlAddPort/],
    ],
  },
  'ai-app-platform': { everything: {}, holds: ['listen 80;', 'location / { proxy_pass $web; }'], mistakes: [] },
  'intrusion-prevention': {
    everything: {},
    holds: { filenames: expect.arrayContaining(['/var/log/auth.log']), labels: { type: 'syslog' } },
    mistakes: [
      ['- /var/log/auth.log', '- auth.log', 'auth.log\n', /filenames/],
      ['  type: syslog', '  type: [syslog]', '[syslog]', /labels\.type/],
      ['filenames:', 'file_names:', 'file_names', /No log source/],
    ],
  },
  siem: {
    everything: {},
    holds: { 'node.name': 'wazuh.indexer', 'plugins.security.ssl.http.enabled': true },
    mistakes: [
      ['ssl.http.enabled: true', 'ssl.http.enabled: false', 'false\nplugins.security.ssl.http.pemcert', /unencrypted/],
      ['http.port: 9200', 'http.port: 9200: x', '9200: x', /./],
    ],
  },
};

/** Made by no field of a form alone: what a hand writes into `config check dynamic-dns FILE`. */
const ddns = {
  settings: [
    {
      provider: 'cloudflare',
      domain: 'home.example.org',
      zone_identifier: 'abc',
      token: 't',
      ttl: 300,
      proxied: false,
      ip_version: 'ipv4',
    },
  ],
};

it('delivers nothing that cannot be read, whatever was answered', () => {
  for (const id of catalog.entries.keys()) {
    if (catalog.entries.get(id)?.deploy !== 'compose') continue;
    for (const [path, text] of Object.entries(catalog.files(id, { ...cases[id]?.needed, ...cases[id]?.everything }))) {
      const format = /\.ya?ml$/.test(path) ? 'yaml' : path.endsWith('.json') ? 'json' : undefined;
      expect([id, path, checkConfig(text, { format })]).toEqual([id, path, []]);
    }
  }
});

let catalog: CatalogFiles;
beforeAll(async () => {
  catalog = await catalogFiles();
});

function about(id: string) {
  const entry = catalog.entries.get(id) as CatalogEntry;
  const { configFile } = entry;
  if (!configFile) throw new Error(`${id} has no configuration file`);
  return { entry, configFile, source: catalog.source(id) };
}
const textOf = (id: string, settings: Settings = {}) =>
  catalog.files(id, { ...cases[id]?.needed, ...settings })[about(id).configFile.path] ?? '';
const check = (id: string, text: string): ConfigProblem[] => {
  const { configFile, source } = about(id);
  return checkConfig(text, configFile, source.configSchema);
};
const linesOf = (text: string) => text.split('\n').map((line) => line.trim());

function readAs(id: string, text: string): unknown {
  if (about(id).configFile.format === 'hcl') return readHcl(text).value;
  if (about(id).configFile.format !== 'properties') return parse(text.replaceAll(/^\s*\/\/.*$/gm, ''));
  return Object.fromEntries(text.split('\n').flatMap((line) => (/^[\w-]+=/.test(line) ? [line.split(/=(.*)/, 2)] : [])));
}
function expectHeld(id: string, text: string, held: unknown) {
  if (Array.isArray(held)) expect(linesOf(text)).toEqual(expect.arrayContaining(held));
  else expect(readAs(id, text)).toMatchObject(held as object);
}
const positionOf = (text: string, at: string) => {
  const before = text.slice(0, text.indexOf(at)).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
};
/** How many of what kind there are: a value that changes this says something else than a value. */
function countOf(value: unknown, counts: Record<string, number> = {}): Record<string, number> {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value;
  counts[kind] = (counts[kind] ?? 0) + 1;
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) countOf(inner, counts);
  return counts;
}
const fieldOf = (id: string, name: string) => {
  const { entry, source } = about(id);
  const field = variablesOf(entry, source).find((variable) => variable.name === name)?.field;
  if (!field) throw new Error(`${id} asks for no ${name}`);
  return field;
};

it('knows every configuration file that the catalog delivers', () => {
  const delivered = [...catalog.entries.values()]
    .filter(({ deploy, configFile }) => deploy === 'compose' && configFile?.path.startsWith('files/'))
    .map(({ id }) => id);
  expect(Object.keys(cases).sort()).toEqual(delivered.sort());
  // What nothing here reads, its own program does.
  for (const id of delivered) {
    const { format, schema, rules, verify } = about(id).configFile;
    expect([id, format === undefined ? verify : (schema ?? (rules.length > 0 || undefined))]).not.toEqual([id, undefined]);
    expect([id, (cases[id]?.mistakes.length ?? 0) >= 2]).toEqual([id, format !== undefined]);
  }
});

describe.each(Object.entries(cases))('%s', (id, { everything, holds, odd = [], refused = {}, mistakes }) => {
  it('is right as it is delivered, without answers and with all of them, and holds them', () => {
    expect(check(id, textOf(id))).toEqual([]);
    for (const [name, value] of Object.entries(everything)) expect([name, checkValue(fieldOf(id, name), value)]).toEqual([name, undefined]);
    const text = textOf(id, everything);
    expect(check(id, text)).toEqual([]);
    expectHeld(id, text, holds);
  });

  it('takes odd values as values, and refuses what it could not hold', () => {
    for (const [settings, held] of odd) {
      for (const [name, value] of Object.entries(settings)) expect([name, checkValue(fieldOf(id, name), value)]).toEqual([name, undefined]);
      const text = textOf(id, settings);
      expect(check(id, text)).toEqual([]);
      expectHeld(id, text, held);
    }
    for (const [name, values] of Object.entries(refused))
      for (const value of [values].flat())
        expect([name, value, checkValue(fieldOf(id, name), value)]).toEqual([name, value, expect.any(String)]);
  });

  it('says nothing else than was answered, whatever that is', () => {
    const { entry, source, configFile } = about(id);
    const plain = textOf(id, everything);
    for (const { name, kind, field } of variablesOf(entry, source)) {
      if (kind === 'secret' || !field || field.type === 'map' || field.type === 'object') continue;
      for (const value of [
        `a"b`,
        `a'b`,
        'a: b',
        'a #b',
        '{a',
        '[a',
        '- a',
        '* &a',
        '%a',
        '"',
        "'",
        'ü €',
        'a\\',
        '{{ a }}',
        '/a "b',
        'http://a/"b#c',
      ]) {
        if (checkValue(field, value) !== undefined) continue;
        const text = textOf(id, { ...everything, [name]: value });
        if (configFile.format === undefined)
          expect([name, value, text.split('\n').length]).toEqual([name, value, plain.split('\n').length]);
        else
          expect([name, value, countOf(readAs(id, text))]).toEqual([
            name,
            value,
            countOf(readAs(id, textOf(id, { ...everything, [name]: field.type === 'url' ? 'http://a/' : '/a' }))),
          ]);
      }
    }
  });

  it.skipIf(mistakes.length === 0)('is checked when it is written by hand, with line and column', () => {
    const text = textOf(id, everything);
    for (const [from, to, at, said] of mistakes) {
      const changed = text.replace(from, () => to);
      expect([from, changed === text]).toEqual([from, false]);
      expect([at, changed.includes(at)]).toEqual([at, true]);
      const [first] = check(id, changed);
      expect([to, first && `${first.field} ${first.message}`]).toEqual([to, expect.stringMatching(said)]);
      expect([to, { line: first?.line, column: first?.column }]).toEqual([to, positionOf(changed, at)]);
      expect(first?.remedy).not.toBe('');
    }
  });
});

describe('dynamic-dns', () => {
  const reported = (value: unknown) => check('dynamic-dns', typeof value === 'string' ? value : JSON.stringify(value, null, 2));
  const [one] = ddns.settings;

  it('is made of the fields as one variable, and refuses what would end it', () => {
    const config = parse(catalog.source('dynamic-dns').compose) as { services: { updater: { environment: { CONFIG: string } } } };
    const filled = config.services.updater.environment.CONFIG.replaceAll(
      /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
      (_, name: string, kind: string, word: string) => (kind === '-' ? word : name === 'DDNS_PROVIDER' ? 'cloudflare' : 'x'),
    );
    expect(reported(filled)).toEqual([expect.objectContaining({ message: expect.stringContaining('zone') })]);
    for (const [name, value] of Object.entries({
      DDNS_PROVIDER: 'a"b',
      DDNS_DOMAIN: 'a"b',
      DDNS_ZONE_IDENTIFIER: 'a"',
      DDNS_TTL: '1,',
      DDNS_PROXIED: '"',
    }))
      expect([name, checkValue(fieldOf('dynamic-dns', name), value)]).toEqual([name, expect.any(String)]);
  });

  it('is checked when it is written by hand, with line and column', () => {
    expect(reported(ddns)).toEqual([]);
    expect(reported({ settings: [{ ...one, ttl: 'soon' }] })).toEqual([
      expect.objectContaining({ line: 8, column: 14, field: 'settings[0].ttl' }),
    ]);
    expect(reported({ settings: [{ ...one, provider: 'duckdns', proxied: true }] })).toEqual([
      expect.objectContaining({ field: 'settings[0].proxied', line: 9, message: expect.stringMatching(/Cloudflare/) }),
    ]);
    expect(reported({ settings: [{ domain: 'home.example.org' }] })).toEqual([
      expect.objectContaining({ line: 3, column: 5, message: expect.stringMatching(/provider/) }),
    ]);
    expect(reported('{"settings": [}')).toEqual([expect.objectContaining({ line: 1, message: expect.stringMatching(/JSON/) })]);
  });
});
