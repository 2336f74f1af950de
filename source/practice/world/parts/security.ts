import type { PracticeProduct } from '../../practice.ts';
import { days, hours, minutes, type Part, said } from '../part.ts';
import type { Random } from '../random.ts';
import { dayTimeMs, type Said, toStderr } from '../voice.ts';
import { htmlPage } from '../web.ts';
import { postgresPlay, redisPlay } from './databases.ts';
import { providerPages } from './provider-pages.ts';

const people: readonly [string, ...string[]] = ['mara', 'jonas', 'selim', 'ida'];

/** Vaultwarden, whose sign-ups are still open. */
export const passwordVault = (product?: PracticeProduct): Part => ({
  ...(product && { product }),
  component: 'password-vault',
  project: 'password-vault',
  createdAgoMs: days(12),
  startedAgoMs: days(12),
  values: { ADMIN_TOKEN: '$argon2id$v=19$m=65540,t=3,p=4$cHJhY3RpY2U$Zm9yIHByYWN0aWNlIG9ubHk', SIGNUPS_ALLOWED: 'true' },
  plays: {
    vault: {
      voice: {
        everyMs: 20_000,
        begin: (at) => [
          '/--------------------------------------------------------------------\\',
          '|                        Starting Vaultwarden                        |',
          '|                           Version 1.34.3                           |',
          '|--------------------------------------------------------------------|',
          '| This is an *unofficial* Bitwarden implementation, DO NOT use the   |',
          '| official channels to report bugs/features, regardless of client.   |',
          '\\--------------------------------------------------------------------/',
          '',
          `[${dayTimeMs(at)}][start][INFO] Rocket has launched from http://0.0.0.0:80`,
        ],
        happen: (at, random) => {
          const stamp = `[${dayTimeMs(at)}]`;
          const request = (method: string, path: string, route: string, answer = '200 OK'): Said[] => [
            `${stamp}[request][INFO] ${method} ${path}`,
            `${stamp}[response][INFO] (${route}) ${method} ${path} => ${answer}`,
          ];
          const kind = random.next();
          if (kind < 0.45) return request('GET', '/api/sync?excludeDomains=true', 'sync');
          if (kind < 0.7)
            return [
              ...request('POST', '/identity/connect/token', 'login'),
              `${stamp}[vaultwarden::api::identity][INFO] User ${random.pick(people)}@example.org logged in successfully. IP: ${random.homeAddress()}`,
            ];
          if (kind < 0.8) return request('PUT', `/api/ciphers/${random.uuid()}`, 'put_cipher');
          if (kind < 0.87)
            return [
              `${stamp}[request][INFO] POST /identity/connect/token`,
              `${stamp}[vaultwarden::api::identity][ERROR] Username or password is incorrect. Try again. IP: ${random.homeAddress()}. Username: ${random.pick(people)}@example.org.`,
              `${stamp}[response][INFO] (login) POST /identity/connect/token => 400 Bad Request`,
            ];
          if (kind < 0.93) return request('GET', '/notifications/hub?access_token=[hidden]', 'websockets_hub', '101 Switching Protocols');
          return [
            `${stamp}[vaultwarden::api::icons][WARN] Unable to download icon: error sending request for url (https://intranet.example.org/favicon.ico)`,
          ];
        },
        end: (at) => [`[${dayTimeMs(at)}][vaultwarden][INFO] Exiting Vaultwarden!`],
      },
      figures: { cpuPercent: [0.15, 0.2], memoryMb: [61, 6] },
      healthcheck: ['CMD', '/healthcheck.sh'],
      health: { status: 'healthy', output: '' },
      bootMs: 900,
      ends: { exitCode: 0, afterMs: 200 },
      processes: ['/vaultwarden'],
      moods: {
        'restart-loop': {
          dies: {
            exitCode: 12,
            afterMs: 350,
            says: (at) => [
              `[${dayTimeMs(at)}][panic][ERROR] thread 'main' panicked at 'Failed to run migrations: DatabaseError(Unknown, "disk I/O error")': src/db/mod.rs:512`,
              '   0: vaultwarden::init_logging::{{closure}}',
              '   1: std::panicking::rust_panic_with_hook',
              '   2: core::panicking::panic_fmt',
              '   3: vaultwarden::main',
              { err: 'Error: database /data/db.sqlite3 cannot be opened: disk I/O error' },
            ],
          },
        },
      },
    },
  },
});

function authelia(at: Date, level: string, message: string, more = ''): string {
  return `time="${at.toISOString().slice(0, 19)}Z" level=${level} msg="${message}"${more}`;
}

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

/** Authelia with its session cache. */
export const ssoPortal = (product?: PracticeProduct): Part => ({
  ...(product && { product }),
  files: { 'files/users/users_database.yml': portalUsers },
  component: 'sso-portal',
  project: 'sso-portal',
  createdAgoMs: days(40),
  startedAgoMs: days(3) + hours(5),
  values: {
    SESSION_DOMAIN: 'home.example.org',
    PORTAL_URL: 'https://auth.home.example.org',
    USERS_FILE: '/config/users/users_database.yml',
    STORAGE_LOCAL_PATH: '/config/db.sqlite3',
  },
  plays: {
    portal: {
      voice: {
        everyMs: 14_000,
        begin: (at) => [
          authelia(at, 'info', 'Authelia v4.39.14 is starting'),
          authelia(at, 'info', 'Log severity set to info'),
          authelia(at, 'info', 'Storage schema is already up to date'),
          authelia(at, 'info', 'Startup complete'),
          authelia(at, 'info', "Listening for non-TLS connections on '[::]:9091' path '/'", ' server=main service=server'),
        ],
        happen: (at, random) => {
          const address = random.homeAddress();
          const site = random.pick(['feeds', 'media', 'sync', 'vault']);
          if (random.chance(0.06)) return [failedLogin(at, random, address)];
          if (random.chance(0.12))
            return [
              authelia(
                at,
                'info',
                `Successful TOTP authentication attempt made by user '${random.pick(people)}'`,
                ` method=POST path=/api/secondfactor/totp remote_ip=${address}`,
              ),
            ];
          return [
            authelia(
              at,
              'info',
              `Access to https://${site}.home.example.org/ (method GET) is not authorized to user <anonymous>, responding with status code 302 with location redirect to https://auth.home.example.org/?rd=https%3A%2F%2F${site}.home.example.org%2F&rm=GET`,
              ` method=GET path=/api/verify remote_ip=${address}`,
            ),
          ];
        },
        end: (at) => [
          authelia(at, 'info', 'Shutdown initiated due to process signal', ' signal=terminated'),
          authelia(at, 'info', 'Shutdown complete'),
        ],
      },
      figures: { cpuPercent: [0.4, 0.3], memoryMb: [38, 5] },
      healthcheck: ['CMD-SHELL', '/app/healthcheck.sh'],
      health: { status: 'healthy', output: '' },
      bootMs: 1_200,
      ends: { exitCode: 0, afterMs: 300 },
      processes: ['authelia --config /config/configuration.yml'],
      moods: {
        attack: {
          voice: {
            everyMs: 350,
            happen: (at, random) => {
              const address = attackers[random.between(0, attackers.length - 1)] ?? '203.0.113.66';
              return random.chance(0.12)
                ? [
                    authelia(
                      at,
                      'error',
                      `Unsuccessful 1FA authentication attempt by user '${random.pick(guesses)}' and they are banned until ${dayTimeMs(new Date(at.getTime() + 300_000)).slice(0, 19)}`,
                      ` method=POST path=/api/firstfactor remote_ip=${address}`,
                    ),
                  ]
                : [failedLogin(at, random, address)];
            },
          },
          figures: { cpuPercent: [38, 12], memoryMb: [112, 20] },
        },
      },
    },
    redis: redisPlay(),
  },
});

const guesses: readonly [string, ...string[]] = ['admin', 'root', 'administrator', 'test', 'mara', 'backup'];

/** Who attacks on cue. */
export const attackers: readonly string[] = ['203.0.113.66', '203.0.113.67', '198.51.100.23'];

function failedLogin(at: Date, random: Random, address: string): string {
  return authelia(
    at,
    'error',
    `Unsuccessful 1FA authentication attempt by user '${random.pick(guesses)}'`,
    ` error="user not found" method=POST path=/api/firstfactor remote_ip=${address}`,
  );
}

/** LLDAP. */
export const ldapDirectory: Part = {
  component: 'ldap-directory',
  project: 'ldap-directory',
  createdAgoMs: days(63),
  startedAgoMs: days(21),
  values: { LLDAP_LDAP_BASE_DN: 'dc=home,dc=example,dc=org', LLDAP_LDAP_USER_EMAIL: 'admin@example.org' },
  plays: {
    lldap: {
      voice: {
        everyMs: 25_000,
        begin: (at) => [
          'Loading configuration from /data/lldap_config.toml',
          `${lldapTime(at)}  INFO     set_up_server [ 214ms | 12.88% / 100.00% ]`,
          `${lldapTime(at)}  INFO     ┝━ ｉ [info]: Starting LLDAP version 0.6.2`,
          `${lldapTime(at)}  INFO     ┝━ ｉ [info]: Starting the LDAP server on port 3890`,
          `${lldapTime(at)}  INFO     ┕━ ｉ [info]: Starting the API/web server on port 17170`,
          `${lldapTime(at)}  INFO     ｉ [info]: DB Cleanup Cron started`,
        ],
        happen: (at, random) => {
          const took = `${random.between(1, 9)}.${random.between(10, 99)}ms`;
          const who = random.pick(people);
          return random.chance(0.5)
            ? [
                `${lldapTime(at)}  INFO     LDAP session [ ${took} | 21.90% / 100.00% ]`,
                `${lldapTime(at)}  INFO     ┝━ LDAP request [ 812µs | 8.40% ]`,
                `${lldapTime(at)}  DEBUG    │  ┕━ 🐛 [debug]: | msg: LdapMsg { msgid: ${random.between(1, 40)}, op: SearchRequest(LdapSearchRequest { base: "ou=people,dc=home,dc=example,dc=org", scope: Subtree, filter: Equality("uid", "${who}") }) }`,
                `${lldapTime(at)}  INFO     ┕━ LDAP request [ 140µs | 1.10% ]`,
              ]
            : [`${lldapTime(at)}  INFO     HTTP request [ ${took} | 78.24% / 100.00% ] method: "GET" | uri: "/health"`];
        },
        end: (at) => [`${lldapTime(at)}  INFO     ｉ [info]: End.`],
      },
      figures: { cpuPercent: [0.1, 0.1], memoryMb: [17, 2] },
      healthcheck: ['CMD', '/app/lldap', 'healthcheck', '--config-file', '/data/lldap_config.toml'],
      health: { status: 'healthy', output: '' },
      pages: { 17170: { '/health': { body: '' }, '/': htmlPage('LLDAP Administration') } },
      bootMs: 700,
      ends: { exitCode: 0, afterMs: 150 },
      processes: ['/app/lldap run --config-file /data/lldap_config.toml'],
    },
  },
};

function lldapTime(at: Date): string {
  return `${at.toISOString().slice(0, 23)}204117+00:00`;
}

function keycloak(at: Date, level: string, where: string, thread: string, text: string): string {
  return `${dayTimeMs(at).replace('.', ',')} ${level.padEnd(5)} [${where}] (${thread}) ${text}`;
}

/** Keycloak, stopped by somebody days ago. */
export const idpEnterprise: Part = {
  component: 'idp-enterprise',
  project: 'idp-enterprise',
  createdAgoMs: days(9),
  startedAgoMs: days(4),
  stoppedAgoMs: days(2) + hours(7),
  hostPorts: { 8080: 8086 },
  values: { KC_HOSTNAME: 'id.home.example.org' },
  plays: {
    keycloak: {
      voice: {
        everyMs: 90_000,
        begin: (at) => [
          keycloak(
            at,
            'INFO',
            'org.keycloak.quarkus.runtime.hostname.DefaultHostnameProvider',
            'main',
            'Hostname settings: Base URL: <unset>, Hostname: id.home.example.org, Strict HTTPS: true',
          ),
          keycloak(at, 'INFO', 'org.infinispan.CONTAINER', 'keycloak-cache-init', 'ISPN000556: Starting user marshaller'),
          keycloak(
            at,
            'INFO',
            'io.quarkus',
            'main',
            'Keycloak 26.4.5 on JVM (powered by Quarkus 3.27.1) started in 11.204s. Listening on: http://0.0.0.0:8080',
          ),
          keycloak(at, 'INFO', 'io.quarkus', 'main', 'Profile prod activated.'),
        ],
        happen: (at, random) => [
          random.chance(0.3)
            ? keycloak(
                at,
                'WARN',
                'org.keycloak.events',
                `executor-thread-${random.between(1, 40)}`,
                `type="LOGIN_ERROR", realmId="${random.uuid()}", clientId="account-console", userId="null", ipAddress="${random.homeAddress()}", error="invalid_user_credentials", auth_method="openid-connect", username="${random.pick(people)}"`,
              )
            : keycloak(
                at,
                'INFO',
                'org.keycloak.services',
                `executor-thread-${random.between(1, 40)}`,
                'KC-SERVICES0009: Removed expired user sessions',
              ),
        ],
        end: (at) => [keycloak(at, 'INFO', 'io.quarkus', 'Shutdown thread', 'Keycloak stopped in 0.081s')],
      },
      figures: { cpuPercent: [1.2, 0.8], memoryMb: [612, 40] },
      pages: {
        8080: {
          ...providerPages(),
          '/': { status: 302, headers: { Location: '/admin/' } },
        },
      },
      bootMs: 11_000,
      ends: { exitCode: 143, afterMs: 400 },
      processes: ['java -Dkc.home.dir=/opt/keycloak/bin/.. io.quarkus.bootstrap.runner.QuarkusEntryPoint start'],
    },
    db: postgresPlay('keycloak'),
  },
};

const feedVoice = (what: string) => ({
  everyMs: 3_600_000,
  begin: () => [`starting copy of ${what}`, `copying ${what} to /mnt`, `files copied`, 'sleeping forever'],
  happen: () => [],
});

function feed(what: string) {
  return {
    voice: feedVoice(what),
    figures: { cpuPercent: [0, 0] as const, memoryMb: [1, 0] as const },
    healthcheck: ['CMD-SHELL', 'test -e /run/feed-copied'],
    health: { status: 'healthy' as const, output: '' },
    ends: { exitCode: 143, afterMs: 50 },
    processes: ['/bin/sh /bin/init.sh'] as const,
  };
}

function job(lines: readonly string[]) {
  return {
    voice: { everyMs: 3_600_000, begin: () => lines, happen: () => [] },
    figures: { cpuPercent: [0, 0] as const, memoryMb: [1, 0] as const },
    finished: true,
  };
}

function gvmTime(at: Date): string {
  return `${at.toISOString().slice(0, 10)} ${at.toISOString().slice(11, 13)}h${at.toISOString().slice(14, 16)}.${at.toISOString().slice(17, 19)} UTC`;
}

/** Feeds take 15 to 30 minutes. */
const loadedAfterMs = minutes(26);

const families: readonly [string, ...string[]] = [
  'Debian Local Security Checks',
  'Web application abuses',
  'CISCO',
  'Fedora Local Security Checks',
  'Windows : Microsoft Bulletins',
];

/** Greenbone, which has been loading its feeds for some minutes. */
export const vulnerabilityScanner: Part = {
  component: 'vulnerability-scanner',
  project: 'vulnerability-scanner',
  createdAgoMs: minutes(13),
  startedAgoMs: minutes(12),
  plays: {
    'vulnerability-tests': feed('vulnerability tests'),
    'notus-data': feed('notus data'),
    'scap-data': {
      ...feed('SCAP data'),
      health: { status: 'starting', output: 'still copying\n' },
      settles: { afterMs: minutes(18), mood: 'loaded' },
      moods: { loaded: { health: { status: 'healthy', output: '' } } },
    },
    'cert-bund-data': feed('CERT-Bund data'),
    'dfn-cert-data': feed('DFN-CERT data'),
    'data-objects': feed('data objects'),
    'report-formats': feed('report formats'),
    'gpg-data': job(['gpg: keybox created', 'gpg: key 9823FAA60ED1E580: public key "Greenbone Community Feed integrity key" imported']),
    'redis-server': redisPlay(),
    'pg-gvm-migrator': job(['No migration required.']),
    'pg-gvm': {
      ...postgresPlay('gvmd'),
      settles: { afterMs: loadedAfterMs, mood: 'loaded' },
      moods: { loaded: {} },
      exec: (argv, mood) =>
        argv[0] === 'psql'
          ? said(mood === 'loaded' ? '174213 6' : '0 0')
          : argv[0] === 'pg_isready'
            ? said('/var/run/postgresql:5432 - accepting connections')
            : undefined,
    },
    gvmd: {
      voice: {
        everyMs: 4_000,
        begin: (at) => [
          `md   main:MESSAGE:${gvmTime(at)}:20:    Greenbone Vulnerability Manager version 26.6.0 (DB revision 261)`,
          `util gpgme:MESSAGE:${gvmTime(at)}:20: Setting GnuPG dir to '/var/lib/gvm/gvmd/gnupg'`,
          `md manage:MESSAGE:${gvmTime(at)}:21: No SCAP database found, building it now`,
          `md manage:   INFO:${gvmTime(at)}:62: update_scap: Updating data from feed`,
        ],
        happen: (at, random) => [
          random.chance(0.7)
            ? `md manage:   INFO:${gvmTime(at)}:62: Updating /var/lib/gvm/scap-data/nvdcve-2.0-${random.between(2002, 2025)}.json.gz`
            : `md manage:   INFO:${gvmTime(at)}:63: update_nvts_from_vts: ${random.between(800, 9000)} NVTs of family ${random.pick(families)}`,
        ],
      },
      figures: { cpuPercent: [93, 6], memoryMb: [1180, 220] },
      settles: { afterMs: loadedAfterMs, mood: 'loaded' },
      moods: {
        loaded: {
          voice: {
            everyMs: 90_000,
            happen: (at) => [`event task:MESSAGE:${gvmTime(at)}:71: Status of task Weekly (home) has changed to Done`],
          },
          figures: { cpuPercent: [1.5, 1], memoryMb: [940, 30] },
        },
      },
      ends: { exitCode: 0, afterMs: 600 },
      processes: ['gvmd --osp-vt-update=/run/ospd/ospd-openvas.sock --listen-mode=666 -f'],
    },
    gsa: {
      voice: {
        everyMs: 45_000,
        begin: () => ['starting gsad', 'starting nginx on port 80'],
        happen: (at, random) => [
          `${random.homeAddress()} - - [${at.toUTCString().slice(5, 25).replaceAll(' ', '/')} +0000] "GET / HTTP/1.1" 200 612 "-" "Mozilla/5.0"`,
        ],
      },
      figures: { cpuPercent: [0.2, 0.1], memoryMb: [24, 3] },
      pages: { 80: { '/': htmlPage('Greenbone Security Assistant'), '*': { status: 404, body: '' } } },
      ends: { exitCode: 0, afterMs: 120 },
      processes: ['gsad -f --drop-privileges=gsad'],
    },
    'configure-openvas': job(['']),
    openvasd: {
      voice: {
        everyMs: 240_000,
        begin: (at) => [`${at.toISOString()}  INFO openvasd: Listening on 0.0.0.0:80 mode=service_notus`],
        happen: (at) => [`${at.toISOString()}  INFO openvasd::notus: advisories are up to date`],
      },
      figures: { cpuPercent: [0.3, 0.2], memoryMb: [44, 4] },
      ends: { exitCode: 0, afterMs: 100 },
    },
    'ospd-openvas': {
      voice: {
        everyMs: 15_000,
        begin: (at) =>
          toStderr([
            `OSPD[7] ${dayTimeMs(at).replace('.', ',')}: INFO: (ospd.main) Starting OSPd OpenVAS version 22.9.0.`,
            `OSPD[7] ${dayTimeMs(at).replace('.', ',')}: INFO: (ospd_openvas.daemon) Loading VTs. Scans will be [requested|queued] until VTs are loaded. This may take a few minutes, please wait...`,
          ]),
        happen: (at, random) =>
          toStderr([
            `OSPD[7] ${dayTimeMs(at).replace('.', ',')}: INFO: (ospd_openvas.daemon) Loading vulnerability tests: ${random.between(4, 92)} % of /var/lib/openvas/plugins`,
          ]),
      },
      figures: { cpuPercent: [71, 9], memoryMb: [860, 90] },
      settles: { afterMs: loadedAfterMs, mood: 'loaded' },
      moods: {
        loaded: {
          voice: {
            everyMs: 180_000,
            happen: (at) =>
              toStderr([
                `OSPD[7] ${dayTimeMs(at).replace('.', ',')}: INFO: (ospd_openvas.daemon) VTs were up to date. Feed version is 202611200608.`,
              ]),
          },
          figures: { cpuPercent: [0.8, 0.5], memoryMb: [720, 10] },
        },
      },
      ends: { exitCode: 0, afterMs: 900 },
      processes: ['/usr/bin/python3 /usr/local/bin/ospd-openvas -f --config /etc/gvm/ospd-openvas.conf'],
    },
  },
};
