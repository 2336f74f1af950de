import { describe, expect, it } from 'vitest';
import { buildRequest } from '../../source/calls/http-call.ts';
import { Inputs } from '../../source/calls/inputs.ts';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';

// Requests exactly as the rows of the specification's endpoint table say (R35): method, path, query, header names, body.

const { entries } = await loadFolder(new URL('../../catalog', import.meta.url).pathname, { own: false });

async function requestOf(id: string, name: string, values: Record<string, string> = {}) {
  const call = entries.find((entry: CatalogEntry) => entry.id === id)?.calls[name];
  if (!call?.http) throw new Error(`${id} has no http call ${name}`);
  const { method, path, headers, body } = buildRequest(call.http, await Inputs.check(call, values));
  return { line: `${method} ${path}`, headers, body: body?.toString('utf8') };
}

const json = { 'content-type': 'application/json' };

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
    [297, 'idp-enterprise', 'discovery', {}, 'GET /.well-known/openid-configuration', {}, undefined],
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

  it('line 283: the feeds are sent as a file', async () => {
    const { line, headers, body } = await requestOf('rss-reader', 'import', { API_KEY: 'k1', file: '/tmp/feeds.opml' });
    expect(line).toBe('POST /v1/import');
    expect(headers['x-auth-token']).toBe('k1');
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toMatch(/name="file"; filename=/);
  });

  it('a user name that would move the border between name and password is refused', async () => {
    await expect(requestOf('dns-filter-second', 'stats', { user: 'a:b', password: 'x' })).rejects.toThrow(/colon/);
  });
});
