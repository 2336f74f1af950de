import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expiredClient } from '../../../../test/doubles/expired-client.ts';
import { selfSigned } from '../../../../test/doubles/self-signed.ts';
import { mintGrant } from '../../../grants/mint.ts';
import { openLocalHost } from '../../../hosts/local-host.ts';
import { ClusterApi } from './api-client.ts';
import type { ClusterLogin } from './kubeconfig.ts';

const signal = new AbortController().signal;
const host = openLocalHost();
let server: Server;
let login: ClusterLogin;
/** Headers of the last request. */
let seen: { path: string; authorization: string | undefined; client: string | undefined };
let answer: { status: number; body: string } = { status: 200, body: '{}' };
let hold = false;
let pages: (() => { status: number; body: string })[] = [];

beforeAll(async () => {
  server = createServer(
    { key: selfSigned.key, cert: selfSigned.cert, ca: selfSigned.cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const peer = (request.socket as unknown as { getPeerCertificate(): { subject?: { CN?: string } } }).getPeerCertificate();
      seen = { path: request.url ?? '', authorization: request.headers.authorization, client: peer.subject?.CN };
      if (hold) return;
      const { status, body } = pages.shift()?.() ?? answer;
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  login = {
    context: 'home',
    user: 'u',
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    tls: true,
    basePath: '',
    ca: selfSigned.cert,
    serverName: 'test',
    token: 'letmein',
  };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('the client of a cluster', () => {
  test('speaks TLS to the authority that the kubeconfig names, with token and certificate', async () => {
    answer = { status: 200, body: '{"gitVersion":"v1.31.6"}' };
    const api = new ClusterApi(host, { ...login, cert: selfSigned.cert, key: selfSigned.key, basePath: '/k8s' });
    expect(await api.get('/version', signal)).toEqual({ gitVersion: 'v1.31.6' });
    expect(seen).toEqual({ path: '/k8s/version', authorization: 'Bearer letmein', client: 'test' });
  });

  test.each([
    ['another authority', { ca: expiredClient.cert }, /not issued by the certificate authority in the kubeconfig/, /new kubeconfig/],
    ['another name', { serverName: 'kubernetes' }, /for another name/, /tls-server-name/],
    ['no authority at all', { ca: undefined }, /not issued by the certificate authority/, /new kubeconfig/],
  ])('%s is no cluster of ours', async (_, change, expected, remedy) => {
    const api = new ClusterApi(host, { ...login, ...change });
    seen = { path: '', authorization: undefined, client: undefined };
    await expect(api.get('/version', signal)).rejects.toMatchObject({
      code: 'unreachable.cluster',
      message: expect.stringMatching(expected),
      remedy: expect.stringMatching(remedy),
    });
    // The token was not sent to the unknown server.
    expect(seen.path).toBe('');
  });

  test('a token never goes over plain HTTP to another machine', () => {
    expect(() => new ClusterApi(host, { ...login, tls: false, host: '10.0.0.10' })).toThrowError(
      expect.objectContaining({ code: 'refused.clear' }),
    );
  });

  test('one that does not respond is given up, and so is one that is not there', async () => {
    hold = true;
    await expect(new ClusterApi(host, login, { limitMs: 80 }).get('/version', signal)).rejects.toMatchObject({
      code: 'unreachable.cluster',
      message: expect.stringMatching(/no response within/),
    });
    hold = false;
    await expect(new ClusterApi(host, { ...login, port: 1 }).get('/version', signal)).rejects.toMatchObject({
      code: 'unreachable.cluster',
    });
  });

  test('pages are joined, and a list that expired between two is read anew', async () => {
    const page =
      (items: number[], next = '') =>
      () => ({ status: 200, body: JSON.stringify({ metadata: { continue: next }, items }) });
    const expired = () => ({ status: 410, body: '{"kind":"Status","message":"The provided continue parameter is too old"}' });
    pages = [page([1, 2], 'a'), expired, page([1, 2], 'b'), page([3])];
    const counts: number[] = [];
    expect(
      await new ClusterApi(host, login).list('/api/v1/pods', signal, { fields: 'spec.nodeName=w' }, (count) => counts.push(count)),
    ).toEqual([1, 2, 3]);
    expect(counts).toEqual([2, 2, 3]);
    expect(seen.path).toBe('/api/v1/pods?limit=500&fieldSelector=spec.nodeName%3Dw&continue=b');
    pages = [expired, expired, expired];
    await expect(new ClusterApi(host, login).list('/api/v1/pods', signal)).rejects.toMatchObject({ code: 'failed.expired' });
  });

  test('a response that is too large is reported as such, and not as a cluster that cannot be reached', async () => {
    answer = { status: 200, body: ' '.repeat(64 * 1024 * 1024 + 1) };
    const message = 'The response to GET /metrics is larger than 64 MiB.';
    await expect(new ClusterApi(host, login).text('/metrics', signal)).rejects.toMatchObject({ code: 'failed.cluster', message });
  });

  test.each([
    [401, '{"kind":"Status","message":"Unauthorized"}', 'refused.clusterLogin', /rejects the login/],
    [404, '404 page not found', 'failed.notServed', /does not serve GET \/x/],
    [404, '{"kind":"Status","message":"pods \\"a\\" not found"}', 'failed.notFound', /pods "a" not found/],
    [503, 'service unavailable', 'unreachable.apiGroup', /unavailable \(503\)/],
    [
      500,
      '{"kind":"Status","message":"etcdserver: request timed out"}',
      'failed.cluster',
      /HTTP 500 for .*: etcdserver: request timed out\./,
    ],
    [
      403,
      '{"kind":"Status","message":"pods is forbidden: User \\"ada\\" cannot list resource \\"pods\\" in API group \\"\\" at the cluster scope"}',
      'refused.right',
      /^User ada is not allowed to list pods\.$/,
    ],
    [
      403,
      '{"kind":"Status","message":"deployments.apps \\"x\\" is forbidden: User \\"ada\\" cannot patch resource \\"deployments/scale\\" in API group \\"apps\\" in the namespace \\"web\\""}',
      'refused.right',
      /not allowed to patch deployments\.apps\/scale/,
    ],
    [
      403,
      '{"kind":"Status","message":"forbidden: User \\"ada\\" cannot get path \\"/metrics\\""}',
      'refused.right',
      /not allowed to get \/metrics/,
    ],
    [200, '<html>', 'failed.cluster', /is not JSON/],
  ])('%i %s is %s', async (status, body, code, message) => {
    answer = { status, body };
    await expect(new ClusterApi(host, login).get('/x?limit=1', signal)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test('nothing is sent under a grant that is over', async () => {
    const over = AbortSignal.abort(new Error('over'));
    await expect(new ClusterApi(host, login).patch(mintGrant('a', 'operate', over), '/x', {})).rejects.toThrow('over');
  });
});
