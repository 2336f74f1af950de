import { describe, expect, it } from 'vitest';
import { Inputs } from '../../source/calls/inputs.ts';
import { buildRequest } from '../../source/calls/run-call.ts';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

// Requests exactly as the rows of the specification's endpoint table say (R35): method, path, query, header names, body.

const { entries } = await wholeCatalog();

async function requestOf(id: string, name: string, values: Record<string, string> = {}) {
  const call = entries.find((entry: CatalogEntry) => entry.id === id)?.calls[name];
  if (!call?.http) throw new Error(`${id} has no http call ${name}`);
  const { method, path, headers, body } = buildRequest(call.http, await Inputs.check(call, values));
  return { line: `${method} ${path}`, headers, body: body?.toString('utf8') };
}

const json = { 'content-type': 'application/json' };
/** As an S3 client makes it for this very request (R40). */
const signature = { AUTHORIZATION: 'AWS4-HMAC-SHA256 Credential=k/20261122/us-east-1/s3/aws4_request', date: '20261122T160000Z' };
const stored = { ...signature, bucket: 'backups', key: 'a b' };
const signed = { authorization: signature.AUTHORIZATION, 'x-amz-date': signature.date, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' };

const papers = { API_TOKEN: 't1' };
const token = { authorization: 'Token t1' };
const person = { username: 'ann', password: 'p:w' };
const basic = { authorization: `Basic ${Buffer.from('ann:p:w').toString('base64')}` };

describe('requests of the endpoint table (R35)', () => {
  it.each<
    [
      line: number,
      id: string,
      call: string,
      values: Record<string, string>,
      request: string,
      headers: Record<string, string>,
      body: unknown,
    ]
  >([
    [
      267,
      'password-vault',
      'admin',
      { ADMIN_TOKEN: 'a&b' },
      'POST /admin',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'token=a%26b',
    ],
    [268, 'password-vault', 'hub', {}, 'GET /notifications/hub', {}, undefined],
    [
      269,
      'sso-portal',
      'firstfactor',
      { username: 'john', password: 'p"w' },
      'POST /api/firstfactor',
      json,
      { username: 'john', password: 'p"w', keepMeLoggedIn: false },
    ],
    [
      270,
      'sso-portal',
      'verify',
      { portal_url: 'https://auth.example.org/' },
      'GET /api/verify?rd=https%3A%2F%2Fauth.example.org%2F',
      {},
      undefined,
    ],
    [271, 'media-server', 'health', {}, 'GET /health', {}, undefined],
    [
      272,
      'media-server',
      'refresh',
      { API_KEY: 'k1' },
      'POST /Library/Refresh',
      { 'x-media-token': 'k1', authorization: 'MediaBrowser Token="k1"' },
      undefined,
    ],
    [273, 'media-server', 'info', { API_KEY: 'k1' }, 'GET /System/Info?api_key=k1', {}, undefined],
    ...(['startScan', 'getScanStatus', 'getArtists'] as const).map(
      (name): [number, string, string, Record<string, string>, string, Record<string, string>, unknown] => [
        274,
        'music-server',
        name.toLowerCase(),
        { user: 'ann', API_USER_PASSWORD: 'p&w' },
        `GET /rest/${name}.view?v=1.16.1&c=quarterdeck&f=json&u=ann&p=p%26w`,
        { authorization: `Basic ${Buffer.from('ann:p&w').toString('base64')}` },
        undefined,
      ],
    ),
    [275, 'tunnel-server-ui', 'login', { PASSWORD: 'p"w' }, 'POST /api/session', json, { password: 'p"w' }],
    [
      276,
      'tunnel-server-ui',
      'clients',
      { SESSION_COOKIE: 'connect.sid=s%3Ax' },
      'GET /api/wireguard/client',
      { cookie: 'connect.sid=s%3Ax' },
      undefined,
    ],
    [277, 'file-sync', 'connections', { API_KEY: 'k1' }, 'GET /rest/system/connections', { 'x-api-key': 'k1' }, undefined],
    [277, 'file-sync', 'version', {}, 'GET /rest/system/version', {}, undefined],
    [278, 'file-sync', 'folder', { API_KEY: 'k1', folder_id: 'a b' }, 'GET /rest/db/status?folder=a%20b', { 'x-api-key': 'k1' }, undefined],
    [279, 'file-sync', 'rescan', { API_KEY: 'k1', folder_id: 'docs' }, 'POST /rest/db/scan?folder=docs', { 'x-api-key': 'k1' }, undefined],
    [284, 'rss-reader', 'export', { API_KEY: 'k1' }, 'GET /v1/export', { 'x-auth-token': 'k1' }, undefined],
    [296, 'vpn-client-gateway', 'status', {}, 'GET /v1/openvpn/status', {}, undefined],
    [
      285,
      'dns-filter-second',
      'stats',
      { user: 'admin', password: 'pä:ss' },
      'GET /control/stats',
      { authorization: `Basic ${Buffer.from('admin:pä:ss').toString('base64')}` },
      undefined,
    ],
    [
      286,
      'dns-filter-second',
      'refresh',
      { user: 'admin', password: 'x' },
      'POST /control/filtering/refresh',
      { ...json, authorization: 'Basic YWRtaW46eA==' },
      { whitelist: false },
    ],
    [
      287,
      'dns-filter-second',
      'rewrite',
      { user: 'admin', password: 'x', domain: 'nas.lan', answer: '192.168.1.2' },
      'POST /control/rewrite/add',
      { ...json, authorization: 'Basic YWRtaW46eA==' },
      { domain: 'nas.lan', answer: '192.168.1.2' },
    ],
    [
      288,
      'model-runtime',
      'generate',
      { model: 'llama3.2', prompt: 'Say "hi"' },
      'POST /api/generate',
      json,
      { model: 'llama3.2', prompt: 'Say "hi"', stream: false },
    ],
    [289, 'model-runtime', 'tags', {}, 'GET /api/tags', {}, undefined],
    [
      290,
      'model-runtime',
      'chat',
      { model: 'm', content: 'hi' },
      'POST /v1/chat/completions',
      json,
      { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    ],
    [
      290,
      'llm-proxy',
      'chat',
      { API_KEY: 'sk-1', model: 'm', content: 'hi' },
      'POST /v1/chat/completions',
      { ...json, authorization: 'Bearer sk-1' },
      { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    ],
    [
      290,
      'local-chat-server',
      'chat',
      { model: 'm', content: 'hi' },
      'POST /v1/chat/completions',
      json,
      { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    ],
    [
      292,
      'tts-high-quality',
      'speech',
      { model: 'kokoro', input: 'Say "hi"', voice: 'af_heart' },
      'POST /v1/audio/speech',
      json,
      { model: 'kokoro', input: 'Say "hi"', voice: 'af_heart' },
    ],
    [293, 'tts-light', 'speak', { text: 'Grüß dich.' }, 'POST /api/tts', { 'content-type': 'text/plain' }, 'Grüß dich.'],
    [297, 'idp-enterprise', 'discovery', {}, 'GET /.well-known/openid-configuration', {}, undefined],
    [297, 'idp-server-worker', 'discovery', {}, 'GET /.well-known/openid-configuration', {}, undefined],
    [297, 'idp-cloud-native', 'discovery', {}, 'GET /.well-known/openid-configuration', {}, undefined],
    [297, 'oidc-passkey-provider', 'discovery', {}, 'GET /.well-known/openid-configuration', {}, undefined],
    [297, 'identity-server', 'discovery', {}, 'GET /.well-known/openid-configuration', {}, undefined],
    [298, 'idp-server-worker', 'setup', {}, 'GET /if/flow/initial-setup/', {}, undefined],
    [299, 'oidc-passkey-provider', 'setup', {}, 'GET /admin/setup', {}, undefined],
    [300, 'object-storage', 'put', { ...stored, content: 'hi' }, 'PUT /backups/a%20b', signed, 'hi'],
    [300, 'object-storage', 'get', stored, 'GET /backups/a%20b', signed, undefined],
    [300, 'object-storage', 'delete', stored, 'DELETE /backups/a%20b', signed, undefined],
    [300, 'object-storage', 'list', { ...signature, bucket: 'backups' }, 'GET /backups?list-type=2', signed, undefined],
    [300, 'object-storage', 'multipart', stored, 'POST /backups/a%20b?uploads=', signed, undefined],
    [281, 'document-manager', 'latest', papers, 'GET /api/documents/?ordering=-created', token, undefined],
    [281, 'document-manager', 'find', { ...papers, text: 'a b' }, 'GET /api/documents/?query=a%20b&format=json', token, undefined],
    [
      282,
      'document-manager',
      'share',
      { ...papers, id: '7', expiration: '2026-12-31T00:00:00Z' },
      'POST /api/documents/7/share_link/',
      { ...json, ...token },
      { expiration: '2026-12-31T00:00:00Z' },
    ],
    [301, 'cloud-suite', 'files', person, 'PROPFIND /remote.php/dav/files/ann/', basic, undefined],
    [301, 'cloud-suite', 'makefolder', { ...person, name: 'a b' }, 'MKCOL /remote.php/dav/files/ann/a%20b', basic, undefined],
    [301, 'cloud-suite', 'copy', { ...person, name: 'a', to: 'b' }, 'COPY /remote.php/dav/files/ann/a', basic, undefined],
    [301, 'cloud-suite', 'move', { ...person, name: 'a', to: 'b' }, 'MOVE /remote.php/dav/files/ann/a', basic, undefined],
    [302, 'cloud-suite', 'calendars', person, 'PROPFIND /remote.php/dav/calendars/ann/', basic, undefined],
    [302, 'cloud-suite', 'addressbooks', person, 'PROPFIND /remote.php/dav/addressbooks/users/ann/', basic, undefined],
    [303, 'task-manager', 'caldav', { username: 'ann', token: 'p:w' }, 'PROPFIND /dav', basic, undefined],
  ])('line %i: %s %s', async (_, id, call, values, line, headers, body) => {
    const request = await requestOf(id, call, values);
    expect(request.line).toBe(line);
    expect(request.headers).toMatchObject(headers);
    if (typeof body === 'object') expect(JSON.parse(request.body ?? 'null')).toEqual(body);
    else expect(request.body).toBe(body);
    const credentials = Object.keys(request.headers).filter((name) => /^(?:authorization|cookie|x-.*)$/.test(name));
    expect(credentials.sort()).toEqual(
      Object.keys(headers)
        .filter((name) => name !== 'content-type')
        .sort(),
    );
  });

  it('line 280: a document is sent as a file', async () => {
    const { line, headers, body } = await requestOf('document-manager', 'upload', { ...papers, file: '/tmp/letter.pdf' });
    expect(line).toBe('POST /api/documents/post_document/');
    expect(headers).toMatchObject(token);
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toMatch(/name="document"; filename=/);
  });

  it('line 301: what is copied or moved says where to, and a lock says what for', async () => {
    const { headers } = await requestOf('cloud-suite', 'move', { ...person, name: 'a', to: 'b%20c' });
    expect(headers).toMatchObject({ destination: '/remote.php/dav/files/ann/b%20c', overwrite: 'F' });
    const lock = await requestOf('cloud-suite', 'lock', { ...person, name: 'a' });
    expect(lock).toMatchObject({ line: 'LOCK /remote.php/dav/files/ann/a', headers: { ...basic, 'content-type': 'application/xml' } });
    expect(lock.body).toContain('<d:exclusive/>');
  });

  it('line 283: the feeds are sent as a file', async () => {
    const { line, headers, body } = await requestOf('rss-reader', 'import', { API_KEY: 'k1', file: '/tmp/feeds.opml' });
    expect(line).toBe('POST /v1/import');
    expect(headers['x-auth-token']).toBe('k1');
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toMatch(/name="file"; filename=/);
  });

  it('line 291: the recording is sent as a file', async () => {
    const { line, headers, body } = await requestOf('speech-to-text', 'asr', { audio_file: '/tmp/talk.wav' });
    expect(line).toBe('POST /asr');
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toMatch(/name="audio_file"; filename=/);
  });

  it('a user name that would move the border between name and password is refused', async () => {
    await expect(requestOf('dns-filter-second', 'stats', { user: 'a:b', password: 'x' })).rejects.toThrow(/colon/);
  });
});
