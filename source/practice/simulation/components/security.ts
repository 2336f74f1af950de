import { htmlPage } from '../../answers.ts';
import { days, hours, minutes, type PracticeComponent, type PracticeService } from '../component.ts';
import { postgresService, redisService } from './databases.ts';
import { providerPages } from './provider-pages.ts';

const person = '{{mara|jonas|selim|ida}}';
const request = (call: string, route: string, answer = '200 OK') => [
  `[{{dayMs}}][request][INFO] ${call}`,
  `[{{dayMs}}][response][INFO] (${route}) ${call} => ${answer}`,
];

/** Vaultwarden, whose sign-ups are still open. */
const passwordVault: PracticeComponent = {
  component: 'password-vault',
  past: { createdAgoMs: days(12), startedAgoMs: days(12) },
  values: { ADMIN_TOKEN: '$argon2id$v=19$m=65540,t=3,p=4$cHJhY3RpY2U$Zm9yIHByYWN0aWNlIG9ubHk', SIGNUPS_ALLOWED: 'true' },
  services: {
    vault: {
      log: {
        everyMs: 20_000,
        start: [
          '|                        Starting Vaultwarden                        |',
          '[{{dayMs}}][start][INFO] Rocket has launched from http://0.0.0.0:80',
        ],
        entries: [
          request('GET /api/sync?excludeDomains=true', 'sync'),
          [
            ...request('POST /identity/connect/token', 'login'),
            `[{{dayMs}}][vaultwarden::api::identity][INFO] User ${person}@example.org logged in successfully. IP: {{home}}`,
          ],
          [
            ...request('POST /identity/connect/token', 'login', '400 Bad Request'),
            `[{{dayMs}}][vaultwarden::api::identity][ERROR] Username or password is incorrect. Try again. IP: {{home}}. Username: ${person}@example.org.`,
          ],
          '[{{dayMs}}][vaultwarden::api::icons][WARN] Unable to download icon: error sending request for url (https://intranet.example.org/favicon.ico)',
        ],
      },
      figures: { cpuPercent: [0.15, 0.2], memoryMb: [61, 6] },
      health: { status: 'healthy', output: '' },
      processes: ['/vaultwarden'],
      scenarios: {
        'restart-loop': {
          dies: {
            exitCode: 12,
            afterMs: 350,
            log: {
              start: [
                "[{{dayMs}}][panic][ERROR] thread 'main' panicked at 'Failed to run migrations: DatabaseError(Unknown, \"disk I/O error\")': src/db/mod.rs:512",
                'Error: database /data/db.sqlite3 cannot be opened: disk I/O error',
              ],
            },
          },
        },
      },
    },
  },
};

/** Who is in the users file; nobody knows their passwords. */
const portalUsers = `---
# Everybody at home. Ask Mara before you add somebody.
users:
  mara:
    disabled: false
    displayname: Mara
    password: '$argon2id$v=19$m=65536,t=3,p=4$cHJhY3RpY2U$cHJhY3RpY2Ugb25seQ'
    email: mara@example.org
    groups:
      - admins
      - family
  jonas:
    disabled: false
    displayname: Jonas
    password: '$argon2id$v=19$m=65536,t=3,p=4$cHJhY3RpY2U$cHJhY3RpY2Ugb25seQ'
    email: jonas@example.org
    groups: [family]
  # Gone for the winter.
  selim:
    disabled: true
    displayname: Selim
    password: '$argon2id$v=19$m=65536,t=3,p=4$cHJhY3RpY2U$cHJhY3RpY2Ugb25seQ'
    email: selim@example.org
    groups: [family]
`;

const authelia = (level: string, message: string, more = '') => `time="{{second}}" level=${level} msg="${message}"${more}`;
const failedLogin = (address: string) =>
  authelia(
    'error',
    "Unsuccessful 1FA authentication attempt by user '{{admin|root|administrator|test|mara|backup}}'",
    ` error="user not found" method=POST path=/api/firstfactor remote_ip=${address}`,
  );

/** Authelia with its session cache. */
const ssoPortal: PracticeComponent = {
  files: { 'files/users/users_database.yml': portalUsers },
  component: 'sso-portal',
  past: { createdAgoMs: days(40), startedAgoMs: days(3) + hours(5) },
  values: {
    SESSION_DOMAIN: 'home.example.org',
    PORTAL_URL: 'https://auth.home.example.org',
    USERS_FILE: '/config/users/users_database.yml',
    STORAGE_LOCAL_PATH: '/config/db.sqlite3',
  },
  services: {
    portal: {
      log: {
        everyMs: 14_000,
        start: [
          authelia('info', 'Authelia v4.39.14 is starting'),
          authelia('info', "Listening for non-TLS connections on '[::]:9091' path '/'", ' server=main service=server'),
        ],
        entries: [
          authelia(
            'info',
            'Access to https://{{feeds|media|sync|vault}}.home.example.org/ (method GET) is not authorized to user <anonymous>, responding with status code 302',
            ' method=GET path=/api/verify remote_ip={{home}}',
          ),
          failedLogin('{{home}}'),
        ],
      },
      figures: { cpuPercent: [0.4, 0.3], memoryMb: [38, 5] },
      health: { status: 'healthy', output: '' },
      processes: ['authelia --config /config/configuration.yml'],
      scenarios: {
        attack: {
          log: { everyMs: 350, entries: [failedLogin('{{203.0.113.66|203.0.113.67|198.51.100.23}}')] },
          figures: { cpuPercent: [38, 12], memoryMb: [112, 20] },
        },
      },
    },
    redis: redisService(),
  },
};

/** LLDAP. */
const ldapDirectory: PracticeComponent = {
  component: 'ldap-directory',
  past: { createdAgoMs: days(63), startedAgoMs: days(21) },
  values: { LLDAP_LDAP_BASE_DN: 'dc=home,dc=example,dc=org', LLDAP_LDAP_USER_EMAIL: 'admin@example.org' },
  services: {
    lldap: {
      log: {
        everyMs: 25_000,
        start: ['{{micro}}  INFO     ┕━ ｉ [info]: Starting the API/web server on port 17170'],
        entries: [
          '{{micro}}  INFO     HTTP request [ {{1..9}}.{{10..99}}ms | 78.24% / 100.00% ] method: "GET" | uri: "/health"',
          [
            '{{micro}}  INFO     LDAP session [ {{1..9}}.{{10..99}}ms | 21.90% / 100.00% ]',
            `{{micro}}  DEBUG    │  ┕━ 🐛 [debug]: | msg: SearchRequest(base: "ou=people,dc=home,dc=example,dc=org", scope: Subtree, filter: Equality("uid", "${person}"))`,
            '{{micro}}  INFO     ┕━ LDAP request [ 140µs | 1.10% ]',
          ],
        ],
      },
      figures: { cpuPercent: [0.1, 0.1], memoryMb: [17, 2] },
      health: { status: 'healthy', output: '' },
      pages: { 17170: { '/health': { body: '' }, '/': htmlPage('LLDAP Administration') } },
      processes: ['/app/lldap run --config-file /data/lldap_config.toml'],
    },
  },
};

/** Keycloak, stopped days ago. */
const idpEnterprise: PracticeComponent = {
  component: 'idp-enterprise',
  past: { createdAgoMs: days(9), startedAgoMs: days(4), stoppedAgoMs: days(2) + hours(7) },
  hostPorts: { 8080: 8086 },
  values: { KC_HOSTNAME: 'id.home.example.org' },
  services: {
    keycloak: {
      log: {
        everyMs: 90_000,
        start: [
          '{{dayComma}} INFO  [io.quarkus] (main) Keycloak 26.4.5 on JVM (powered by Quarkus 3.27.1) started in 11.204s. Listening on: http://0.0.0.0:8080',
        ],
        entries: [
          `{{dayComma}} WARN  [org.keycloak.events] (executor-thread-{{1..40}}) type="LOGIN_ERROR", realmId="{{uuid}}", clientId="account-console", userId="null", ipAddress="{{home}}", error="invalid_user_credentials", username="${person}"`,
        ],
      },
      figures: { cpuPercent: [1.2, 0.8], memoryMb: [612, 40] },
      pages: { 8080: { ...providerPages(), '/': { status: 302, headers: { Location: '/admin/' } } } },
      bootMs: 11_000,
      processes: ['java -Dkc.home.dir=/opt/keycloak/bin/.. io.quarkus.bootstrap.runner.QuarkusEntryPoint start'],
    },
    db: postgresService('keycloak'),
  },
};

const feeds = ['vulnerability-tests', 'notus-data', 'cert-bund-data', 'dfn-cert-data', 'data-objects', 'report-formats'];

const feed = (name: string): PracticeService => ({
  log: { start: [`copying ${name} to /mnt`, 'files copied', 'sleeping forever'] },
  health: { status: 'healthy', output: '' },
  processes: ['/bin/sh /bin/init.sh'],
});

const job = (line: string): PracticeService => ({ log: { start: [line] }, finished: true });

/** Feeds take 15 to 30 minutes. */
const loadedAfterMs = minutes(26);

/** Greenbone, which has been loading its feeds for some minutes. */
const vulnerabilityScanner: PracticeComponent = {
  component: 'vulnerability-scanner',
  past: { createdAgoMs: minutes(13), startedAgoMs: minutes(12) },
  services: {
    ...Object.fromEntries(feeds.map((name) => [name, feed(name)])),
    'scap-data': {
      ...feed('scap-data'),
      health: { status: 'starting', output: 'still copying\n' },
      settles: { afterMs: minutes(18), scenario: 'loaded' },
      scenarios: { loaded: { health: { status: 'healthy', output: '' } } },
    },
    'gpg-data': job('gpg: key 9823FAA60ED1E580: public key "Greenbone Community Feed integrity key" imported'),
    'redis-server': redisService(),
    'pg-gvm-migrator': job('No migration required.'),
    'pg-gvm': {
      ...postgresService('gvmd', (scenario) => (scenario === 'loaded' ? '174213 6' : '0 0')),
      settles: { afterMs: loadedAfterMs, scenario: 'loaded' },
      scenarios: { loaded: {} },
    },
    gvmd: {
      log: {
        everyMs: 4_000,
        start: ['md   main:MESSAGE:{{gvm}}:20:    Greenbone Vulnerability Manager version 26.6.0 (DB revision 261)'],
        entries: [
          'md manage:   INFO:{{gvm}}:62: Updating /var/lib/gvm/scap-data/nvdcve-2.0-{{2002..2025}}.json.gz',
          'md manage:   INFO:{{gvm}}:63: update_nvts_from_vts: {{800..9000}} NVTs of family {{Web application abuses|CISCO|Fedora Local Security Checks}}',
        ],
      },
      figures: { cpuPercent: [93, 6], memoryMb: [1180, 220] },
      settles: { afterMs: loadedAfterMs, scenario: 'loaded' },
      scenarios: { loaded: { log: {}, figures: { cpuPercent: [1.5, 1], memoryMb: [940, 30] } } },
      processes: ['gvmd --osp-vt-update=/run/ospd/ospd-openvas.sock --listen-mode=666 -f'],
    },
    gsa: {
      log: { everyMs: 45_000, start: ['starting gsad'], entries: ['{{home}} - - "GET / HTTP/1.1" 200 612 "-" "Mozilla/5.0"'] },
      figures: { cpuPercent: [0.2, 0.1], memoryMb: [24, 3] },
      pages: { 80: { '/': htmlPage('Greenbone Security Assistant'), '*': { status: 404, body: '' } } },
      processes: ['gsad -f --drop-privileges=gsad'],
    },
    'configure-openvas': job(''),
    openvasd: { figures: { cpuPercent: [0.3, 0.2], memoryMb: [44, 4] } },
    'ospd-openvas': {
      figures: { cpuPercent: [71, 9], memoryMb: [860, 90] },
      settles: { afterMs: loadedAfterMs, scenario: 'loaded' },
      scenarios: { loaded: { figures: { cpuPercent: [0.8, 0.5], memoryMb: [720, 10] } } },
      processes: ['/usr/bin/python3 /usr/local/bin/ospd-openvas -f --config /etc/gvm/ospd-openvas.conf'],
    },
  },
};

export const securityComponents = [passwordVault, ssoPortal, ldapDirectory, idpEnterprise, vulnerabilityScanner];
