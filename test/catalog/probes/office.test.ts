import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, lan, running, silent, table, versions } from './answers.ts';

const down = { state: 'exited', health: 'none', uptime: 0 };
const sick = { state: 'running', health: 'unhealthy', uptime: 900 };

const cloud = (more: object = {}) =>
  answered(
    200,
    JSON.stringify({
      installed: true,
      maintenance: false,
      needsDbUpgrade: false,
      version: '30.0.17.2',
      versionstring: '30.0.17',
      edition: '',
      productname: 'Nextcloud',
      extendedSupport: false,
      ...more,
    }),
  );
const parts = { db: running, redis: running, cron: running };

table('cloud-suite', [
  ['ready', { answer: cloud(), services: parts }, 'healthy', 'ok'],
  ['its database is down', { answer: cloud(), services: { ...parts, db: down } }, 'database down', 'error', /exited/],
  ['its cache is sick', { answer: cloud(), services: { ...parts, redis: sick } }, 'cache down', 'error', /unhealthy/],
  ['not installed', { answer: cloud({ installed: false }), services: parts }, 'setup required', 'warning'],
  [
    'newer than its database',
    { answer: cloud({ needsDbUpgrade: true, maintenance: true }), services: parts },
    'upgrade required',
    'warning',
  ],
  ['maintenance', { answer: cloud({ maintenance: true }), services: parts }, 'maintenance', 'warning'],
  ['without background jobs', { answer: cloud(), services: { ...parts, cron: down } }, 'no background jobs', 'warning', /exited/],
  ['untrusted name', { answer: answered(400, '{"error": "Trusted domain error.", "code": 15}') }, 'host name refused', 'warning'],
  ['first start', { answer: silent, age: 200, services: parts }, 'starting', 'busy'],
  ['refuses', { answer: answered(503, 'Service unavailable') }, 'busy', 'warning'],
  ['fails', { answer: answered(500, 'Internal Server Error') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, services: parts }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const browser = (more: object = {}) =>
  answered(
    200,
    `<script>window.FileBrowser = ${JSON.stringify({ AuthMethod: 'json', EnableExec: false, NoAuth: false, Signup: false, Version: '2.63.5', ...more })};</script>`,
  );
const fine = answered(200, '{"status":"OK"}');

table('web-file-manager', [
  ['ready', { answer: fine, calls: { page: browser() } }, 'healthy', 'ok'],
  ['page not seen', { answer: fine, calls: { page: silent } }, 'healthy', 'ok'],
  ['without login', { answer: fine, calls: { page: browser({ NoAuth: true }) } }, 'no login', 'error'],
  ['sign-ups open', { answer: fine, calls: { page: browser({ Signup: true }) } }, 'sign-ups open', 'warning'],
  ['refuses', { answer: answered(403, '403 Forbidden') }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { page: garbage } }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 3 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const paperless = answered(
  200,
  '<!doctype html><meta name="author" content="Paperless-ngx project and contributors"><title>Paperless-ngx sign in</title>',
);
const papers = { db: running, broker: running };

table('document-manager', [
  ['ready', { answer: paperless, services: papers }, 'healthy', 'ok'],
  [
    'without an account',
    { answer: answered(200, `${paperless.text}<script>// forward to the signup page if no users exist\n</script>`), services: papers },
    'setup required',
    'warning',
  ],
  ['its database is down', { answer: paperless, services: { ...papers, db: down } }, 'database down', 'error', /exited/],
  ['its queue is down', { answer: paperless, services: { ...papers, broker: down } }, 'broker down', 'error', /exited/],
  ['migrating', { answer: silent, age: 200, services: papers }, 'starting', 'busy'],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warning'],
  ['fails', { answer: answered(500, '<h1>Server Error (500)</h1>') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, services: papers }, 'unreachable', 'error'],
]);

const planka = answered(200, '{"item":{"oidc":null,"termsLanguages":["de-DE","en-US"],"version":"2.1.1"}}');

table('kanban', [
  ['ready', { answer: planka, services: { db: running } }, 'healthy', 'ok'],
  ['its database is down', { answer: silent, services: { db: down } }, 'database down', 'error', /exited/],
  [
    'its database does not answer',
    { answer: answered(500, '{"code":"E_UNEXPECTED"}'), services: { db: running } },
    'database down',
    'error',
  ],
  ['an old release', { answer: answered(404, '{"code":"E_NOT_FOUND"}') }, 'different path', 'warning'],
  ['refuses', { answer: answered(401, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10, services: { db: running } }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const vikunja = (open: boolean, more: object = {}) =>
  answered(
    200,
    JSON.stringify({
      version: 'v2.5.0',
      frontend_url: 'http://localhost:3456/',
      caldav_enabled: true,
      auth: { local: { enabled: true, registration_enabled: open }, ldap: { enabled: false }, openid_connect: { enabled: false } },
      ...more,
    }),
  );

table('task-manager', [
  ['ready', { answer: vikunja(false), calls: { health: answered(200, 'OK') }, services: { db: running } }, 'healthy', 'ok'],
  ['sign-ups open', { answer: vikunja(true), calls: { health: answered(200, 'OK') } }, 'sign-ups open', 'warning'],
  ['its database is down', { answer: vikunja(false), services: { db: down } }, 'database down', 'error', /exited/],
  [
    'its database does not answer',
    { answer: vikunja(false), calls: { health: answered(500, '{"message":"Internal server error"}') } },
    'database down',
    'error',
  ],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const setUpPage = answered(200, '<!DOCTYPE html><html><head><title>Wiki.js Setup</title></head></html>');

table('wiki', [
  ['ready', { answer: answered(200, '{"ok":true}'), services: { db: running } }, 'healthy', 'ok'],
  ['nobody has set it up', { answer: setUpPage, services: { db: running } }, 'setup required', 'warning'],
  ['its database does not answer', { answer: answered(503, '{"ok":false}') }, 'database down', 'error'],
  ['its database is down', { answer: silent, services: { db: down } }, 'database down', 'error', /exited/],
  ['busy by another', { answer: answered(503, 'Service Unavailable') }, 'busy', 'warning'],
  ['refuses', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const n8n = (first: boolean) => ({
  settings: answered(
    200,
    JSON.stringify({ data: { settingsMode: 'public', userManagement: { showSetupOnFirstLoad: first, authenticationMethod: 'email' } } }),
  ),
});

table('workflow-automation', [
  ['ready', { answer: answered(200, '{"status":"ok"}'), calls: n8n(false) }, 'healthy', 'ok'],
  ['settings not seen', { answer: answered(200, '{"status":"ok"}'), calls: { settings: silent } }, 'healthy', 'ok'],
  ['nobody owns it', { answer: answered(200, '{"status":"ok"}'), calls: n8n(true) }, 'setup required', 'warning'],
  ['migrating', { answer: answered(503, '{"status":"error"}'), age: 30 }, 'starting', 'busy'],
  ['database away', { answer: answered(503, '{"status":"error"}') }, 'database down', 'error'],
  ['refuses', { answer: answered(401, '{"code":401}') }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { settings: garbage } }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('pdf-tools', [
  ['ready', { answer: answered(200, '{"status":"UP","version":"2.4.1"}') }, 'healthy', 'ok'],
  ['refuses', { answer: answered(401, '{"error":"Unauthorized"}') }, 'login required', 'ok'],
  ['fails', { answer: answered(500, '{"status":500}') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const ghost = answered(200, '{"site":{"title":"Ghost","description":"Thoughts","url":"https://blog.example.org/","version":"5.130"}}');
const owned = (status: boolean) => ({ setup: answered(200, JSON.stringify({ setup: [{ status }] })) });

table('blog', [
  ['ready', { answer: ghost, calls: owned(true), services: { db: running } }, 'healthy', 'ok'],
  ['nobody owns it', { answer: ghost, calls: owned(false) }, 'setup required', 'warning'],
  ['its database is down', { answer: silent, services: { db: down } }, 'database down', 'error', /exited/],
  ['migrating', { answer: answered(503, 'We’ll be right back.'), age: 40 }, 'starting', 'busy'],
  ['maintenance', { answer: answered(503, '') }, 'busy', 'warning'],
  [
    'wants https',
    { answer: answered(301, 'Moved', { location: 'https://blog.example.org/ghost/api/admin/site/' }) },
    'redirecting',
    'warning',
  ],
  ['refuses', { answer: answered(403, '{"errors":[{"type":"NoPermissionError"}]}') }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { setup: garbage } }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const wordpress = answered(
  200,
  '{"name":"Site","description":"","url":"http:\\/\\/localhost:8100","namespaces":["oembed\\/1.0","wp\\/v2"]}',
);
const toInstall = answered(302, '', { location: 'http://localhost:8100/wp-admin/install.php' });
const release = (version: string) => ({
  program: answered(200, `<?php\n/** @global string $wp_version */\n$wp_version = '${version}';\n`),
});

table('cms', [
  ['ready', { answer: wordpress, services: { db: running } }, 'healthy', 'ok'],
  ['nobody has set it up', { answer: toInstall, services: { db: running } }, 'setup required', 'warning'],
  ['sends elsewhere', { answer: answered(301, '', { location: 'https://www.example.org/' }) }, 'redirecting', 'warning'],
  [
    'its database does not answer',
    { answer: answered(500, '<h1>Error establishing a database connection</h1>') },
    'database down',
    'error',
  ],
  ['its database is down', { answer: silent, services: { db: down } }, 'database down', 'error', /exited/],
  ['a plugin keeps it to itself', { answer: answered(401, '{"code":"rest_login_required"}') }, 'login required', 'ok'],
  ['fails', { answer: answered(500, 'There has been a critical error on this website.') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const paper = (numbers: string) => ({
  program: answered(200, `from typing import Final\n\n__version__: Final[tuple[int, int, int]] = (${numbers})\n`),
});

versions([
  ['cloud-suite', { answer: cloud() }, '30.0.17'],
  ['cloud-suite', { answer: answered(400, '{"error": "Trusted domain error.", "code": 15}') }, ''],
  ['web-file-manager', { answer: fine, calls: { page: browser() } }, '2.63.5'],
  ['web-file-manager', { answer: fine, calls: { page: garbage } }, ''],
  ['document-manager', { answer: paperless, calls: paper('3, 0, 5') }, '3.0.5'],
  ['document-manager', { answer: paperless, calls: { program: garbage } }, ''],
  ['kanban', { answer: planka }, '2.1.1'],
  ['task-manager', { answer: vikunja(false) }, 'v2.5.0'],
  [
    'wiki',
    {
      answer: setUpPage,
      calls: { package: answered(200, '{\n  "name": "wiki",\n  "version": "2.5.314",\n  "engines": {"node": ">=20"}\n}') },
    },
    '2.5.314',
  ],
  ['workflow-automation', { answer: silent, calls: { program: exited(0, '2.41.0\n') } }, '2.41.0'],
  ['workflow-automation', { answer: silent, calls: { program: exited(1, 'Error: no\n') } }, ''],
  ['pdf-tools', { answer: answered(200, '{"status":"UP","version":"2.4.1"}') }, '2.4.1'],
  ['blog', { answer: ghost }, '5.130'],
  ['cms', { answer: wordpress, calls: release('6.9.1') }, '6.9.1'],
]);

describe('checks', () => {
  it('the cloud suite wants its public name among the trusted ones (R10)', () => {
    const env = { OVERWRITECLIURL: 'https://cloud.example.org' };
    expect(findingsOf('cloud-suite', { trusted: exited(0, 'localhost\n') }, { env })).toEqual(['untrusted-domain']);
    expect(findingsOf('cloud-suite', { trusted: exited(0, 'localhost\ncloud.example.org\n') }, { env })).toEqual([]);
    expect(findingsOf('cloud-suite', { trusted: exited(0, '*.example.org\n') }, { env })).toEqual([]);
    expect(findingsOf('cloud-suite', { trusted: exited(1, '') }, { env })).toEqual([]);
    expect(findingsOf('cloud-suite', { trusted: exited(0, 'localhost\n') }, { env: { OVERWRITECLIURL: 'http://localhost:8888' } })).toEqual(
      [],
    );
  });

  it('background jobs of the cloud suite run every five minutes (R75)', () => {
    expect(findingsOf('cloud-suite', { lastjobs: exited(0, '1900\n') })).toEqual(['background-jobs-late']);
    expect(findingsOf('cloud-suite', { lastjobs: exited(0, '280\n') })).toEqual([]);
    expect(findingsOf('cloud-suite', { lastjobs: exited(1, '') })).toEqual([]);
    expect(findingsOf('cloud-suite', { status: cloud({ maintenance: true }) })).toEqual(['maintenance-left-on']);
    expect(findingsOf('cloud-suite', { status: cloud() })).toEqual([]);
  });

  it('the web file manager asks for a login, lets nobody sign up and runs nothing', () => {
    expect(findingsOf('web-file-manager', { page: browser({ NoAuth: true }) })).toEqual(['no-login']);
    expect(findingsOf('web-file-manager', { page: browser({ Signup: true }) })).toEqual(['signups-open']);
    expect(findingsOf('web-file-manager', { page: browser({ EnableExec: true }) })).toEqual(['commands-allowed']);
    expect(findingsOf('web-file-manager', { owner: exited(1, '') })).toEqual(['folder-read-only']);
    expect(findingsOf('web-file-manager', { page: browser(), owner: exited(0, '') })).toEqual([]);
  });

  it('the document manager mails by one kind of TLS, and has workflows from version 2 on (R84)', () => {
    const mail = { PAPERLESS_EMAIL_USE_TLS: 'true', PAPERLESS_EMAIL_USE_SSL: 'false' };
    expect(findingsOf('document-manager', {}, { env: { ...mail, PAPERLESS_EMAIL_USE_SSL: 'true' } })).toEqual(['two-kinds-of-tls']);
    expect(findingsOf('document-manager', {}, { env: mail })).toEqual([]);
    expect(findingsOf('document-manager', paper('1, 17, 4'))).toEqual(['workflows-need-version-2']);
    expect(findingsOf('document-manager', paper('2, 20, 15'))).toEqual([]);
    const here = { env: { PAPERLESS_URL: 'http://localhost:8000' } };
    expect(findingsOf('document-manager', {}, { ...here, ...lan('web') })).toContain('example-base-url');
    expect(findingsOf('document-manager', {}, here)).toEqual([]);
  });

  it('the kanban board has a key and a password of its own', () => {
    const env = { DATABASE_URL: 'postgresql://planka:x@db/planka', SECRET_KEY: 'ab'.repeat(64), DEFAULT_ADMIN_PASSWORD: 'long' };
    expect(findingsOf('kanban', {}, { env })).toEqual([]);
    expect(findingsOf('kanban', {}, { env: { ...env, SECRET_KEY: '' } })).toEqual(['secret-key-missing']);
    expect(findingsOf('kanban', {}, { env: { ...env, SECRET_KEY: 'notsecretkey' } })).toEqual(['example-secret-key']);
    expect(findingsOf('kanban', {}, { env: { ...env, DEFAULT_ADMIN_PASSWORD: 'demo' } })).toEqual(['example-administrator']);
  });

  it('the task manager closes signups, and has CalDAV', () => {
    expect(findingsOf('task-manager', { info: vikunja(true) })).toEqual(['signups-open']);
    expect(findingsOf('task-manager', { info: vikunja(false, { caldav_enabled: false }) })).toEqual(['no-caldav']);
    expect(findingsOf('task-manager', { info: vikunja(false) })).toEqual([]);
  });

  it('nobody else sets the wiki up, and it is major 2 (R82)', () => {
    expect(findingsOf('wiki', { health: setUpPage }, lan('web'))).toContain('open-set-up');
    expect(findingsOf('wiki', { health: setUpPage })).toEqual([]);
    expect(findingsOf('wiki', { package: answered(200, '{"version": "3.0.0"}') })).toEqual(['not-major-2']);
    expect(findingsOf('wiki', { package: answered(200, '{"version": "2.5.314"}') })).toEqual([]);
  });

  it.each([
    ['unset', {}],
    ['empty', { WEBHOOK_URL: '' }],
    ['plain', { WEBHOOK_URL: 'http://flows.example.org/' }],
    ['this machine', { WEBHOOK_URL: 'https://localhost:5678/' }],
    ['a private address', { WEBHOOK_URL: 'https://192.168.1.5/' }],
    ['another private address', { WEBHOOK_URL: 'https://172.20.0.1/' }],
    ['a private name', { WEBHOOK_URL: 'https://flows.home.lan/' }],
    ['a name without a dot', { WEBHOOK_URL: 'https://flows/' }],
  ])('webhooks do not trigger where their address is %s (R53)', (_, env) => {
    expect(findingsOf('workflow-automation', {}, { env: { N8N_HOST: 'localhost', ...env } })).toEqual(['webhook-url-not-public']);
  });

  it('webhooks trigger at a public address (R53)', () => {
    for (const url of [
      'https://flows.example.org',
      'https://flows.example.org:8443/',
      'https://local.example.org/',
      'https://172.217.0.1/',
    ])
      expect(findingsOf('workflow-automation', {}, { env: { N8N_HOST: 'flows.example.org', WEBHOOK_URL: url } })).toEqual([]);
  });

  it('nobody else becomes the owner of the workflows', () => {
    expect(findingsOf('workflow-automation', n8n(true), lan('web'))).toContain('no-owner');
    expect(findingsOf('workflow-automation', n8n(true))).toEqual([]);
    expect(findingsOf('workflow-automation', n8n(false), lan('web'))).not.toContain('no-owner');
  });

  it('the PDF tools ask for a login', () => {
    expect(findingsOf('pdf-tools', {}, { env: { SECURITY_ENABLELOGIN: 'false' }, ...lan('web') })).toContain('no-login');
    expect(findingsOf('pdf-tools', {}, { env: { SECURITY_ENABLELOGIN: 'false' } })).toEqual([]);
    const env = { SECURITY_ENABLELOGIN: 'true', DISABLE_ADDITIONAL_FEATURES: 'true' };
    expect(findingsOf('pdf-tools', {}, { env })).toEqual(['login-switched-off']);
    expect(findingsOf('pdf-tools', {}, { env: { ...env, DISABLE_ADDITIONAL_FEATURES: 'false' } })).toEqual([]);
  });

  it('the blog has an owner, and a mail server before it mails codes', () => {
    expect(findingsOf('blog', owned(false))).toEqual(['no-owner']);
    expect(findingsOf('blog', owned(true))).toEqual([]);
    const smtp = { mail__transport: 'SMTP', mail__options__host: 'mail.example.org', security__staffDeviceVerification: 'true' };
    expect(findingsOf('blog', {}, { env: smtp })).toEqual([]);
    expect(findingsOf('blog', {}, { env: { ...smtp, mail__transport: 'Direct' } })).toEqual(['codes-without-mail']);
    expect(findingsOf('blog', {}, { env: { mail__transport: 'SMTP', mail__options__host: '' } })).toEqual(['mail-without-server']);
  });

  it('nobody else sets the CMS up, and it is major 6 (R82)', () => {
    expect(findingsOf('cms', { root: toInstall })).toEqual(['open-set-up']);
    expect(findingsOf('cms', { root: wordpress })).toEqual([]);
    expect(findingsOf('cms', release('7.0'))).toEqual(['not-major-6']);
    expect(findingsOf('cms', release('6.9.1'))).toEqual([]);
  });
});
