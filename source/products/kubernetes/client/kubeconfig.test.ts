import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { expiredClient } from '../../../../test/doubles/expired-client.ts';
import { selfSigned } from '../../../../test/doubles/self-signed.ts';
import { mintGrant } from '../../../grants/mint.ts';
import { openLocalHost } from '../../../hosts/local-host.ts';
import { checkLogin, loginOf, readKubeconfig, runPlugin } from './kubeconfig.ts';

const signal = new AbortController().signal;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'quarterdeck-kube-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const base64 = (text: string) => Buffer.from(text).toString('base64');
const config = (user: object, cluster: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.10:6443', ...cluster } }],
  users: [{ name: 'u', user }],
  contexts: [{ name: 'home', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'home',
});
const host = (env: Record<string, string> = {}) => openLocalHost({ env: { HOME: home, ...env } });
async function put(name: string, value: unknown): Promise<string> {
  const path = join(home, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, typeof value === 'string' ? value : stringify(value), { mode: 0o600 });
  return path;
}
async function login(user: object, cluster: object = {}, context = 'home') {
  await put('.kube/config', config(user, cluster));
  return loginOf(host(), await readKubeconfig(host(), undefined, signal), context, signal);
}

describe('the kubeconfig', () => {
  test('is the one of the home, or what KUBECONFIG lists, the first that says something first', async () => {
    await put('.kube/config', config({ token: 'of-the-home' }));
    const own = await readKubeconfig(host(), undefined, signal);
    expect(own.contexts).toEqual([{ name: 'home', server: 'https://10.0.0.10:6443', user: 'u', current: true }]);
    const work = await put('work.yaml', {
      kind: 'Config',
      clusters: [
        { name: 'c', cluster: { server: 'https://10.9.9.9' } },
        { name: 'w', cluster: { server: 'https://[fd00::1]:6443/k8s/clusters/c-1' } },
      ],
      users: [{ name: 'u', user: { token: 'of-work' } }],
      contexts: [{ name: 'work', context: { cluster: 'w', user: 'u' } }],
    });
    const listed = host({ KUBECONFIG: `${work}:${join(home, '.kube/config')}:${join(home, 'missing')}` });
    const both = await readKubeconfig(listed, undefined, signal);
    expect(both.contexts.map(({ name, current }) => [name, current])).toEqual([
      ['work', false],
      ['home', true],
    ]);
    expect(await loginOf(listed, both, 'work', signal)).toMatchObject({
      host: 'fd00::1',
      port: 6443,
      tls: true,
      basePath: '/k8s/clusters/c-1',
      token: 'of-work',
    });
    // Its cluster is defined in the first file.
    expect(await loginOf(listed, both, 'home', signal)).toMatchObject({ host: '10.9.9.9', port: 443, token: 'of-work' });
  });

  test('certificates stand in it, or in files beside it', async () => {
    await put('.kube/ca.crt', selfSigned.cert);
    await put('.kube/me.crt', selfSigned.cert);
    await put('.kube/me.key', selfSigned.key);
    const beside = await login(
      { 'client-certificate': 'me.crt', 'client-key': 'me.key' },
      { 'certificate-authority': 'ca.crt', 'tls-server-name': 'kubernetes' },
    );
    expect(beside).toMatchObject({ ca: selfSigned.cert, cert: selfSigned.cert, key: selfSigned.key, serverName: 'kubernetes' });
    const inside = await login({ 'client-certificate-data': base64(selfSigned.cert), 'client-key-data': base64(selfSigned.key) });
    expect(inside).toMatchObject({ cert: selfSigned.cert, key: selfSigned.key });
    await put('.kube/token', 'from-a-file\n');
    expect(await login({ tokenFile: 'token' })).toMatchObject({ token: 'from-a-file' });
  });

  test.each([
    ['no YAML', 'clusters: [', /invalid YAML/],
    ['another kind', 'kind: Pod\n', /not a kubeconfig/],
    ['a list', '- 1\n', /not a kubeconfig/],
  ])('%s is refused with its place', async (_, text, expected) => {
    const file = await put('.kube/config', text);
    await expect(readKubeconfig(host(), undefined, signal)).rejects.toMatchObject({
      code: 'config.kubeconfig',
      message: expect.stringMatching(expected),
      where: { file },
    });
  });

  test.each([
    ['an auth-provider', { 'auth-provider': { name: 'oidc' } }, {}, /an auth-provider, which is not supported/],
    ['a password', { username: 'a', password: 'b' }, {}, /removed in Kubernetes 1\.19/],
    ['a certificate without its key', { 'client-certificate-data': base64(selfSigned.cert) }, {}, /requires both/],
    [
      'rubbish for a certificate',
      { 'client-certificate-data': 'aGVsbG8=', 'client-key-data': base64(selfSigned.key) },
      {},
      /contains no PEM data/,
    ],
    ['a file that is not there', { tokenFile: 'nowhere' }, {}, /which does not exist/],
    ['a proxy', { token: 't' }, { 'proxy-url': 'http://proxy:3128' }, /uses a proxy/],
    ['no address', { token: 't' }, { server: 'ftp://x' }, /has no valid server URL/],
    ['a plugin that wants a terminal', { exec: { command: 'login', interactiveMode: 'Always' } }, {}, /requires a terminal/],
  ])('%s is refused with a sentence', async (_, user, cluster, expected) => {
    await expect(login(user, cluster)).rejects.toMatchObject({ code: 'config.kubeconfig', message: expect.stringMatching(expected) });
  });

  test('a context that is not there is answered with the nearest one', async () => {
    await expect(login({ token: 't' }, {}, 'hoem')).rejects.toMatchObject({ code: 'usage.context', remedy: expect.stringMatching(/home/) });
  });

  test('none at all says where it was looked for', async () => {
    await expect(readKubeconfig(host(), join(home, 'nowhere'), signal)).rejects.toMatchObject({
      code: 'usage.kubeconfig',
      message: `No kubeconfig found: checked ${join(home, 'nowhere')}.`,
    });
  });
});

describe('who logs in', () => {
  test('a client certificate that has ended is named before anything is asked', async () => {
    const found = await login({ 'client-certificate-data': base64(expiredClient.cert), 'client-key-data': base64(expiredClient.key) });
    expect(() => checkLogin(found, Date.UTC(2026, 10, 22))).toThrowError(
      expect.objectContaining({
        code: 'refused.certificate',
        message: 'The client certificate of context home (kubernetes-admin) expired on 2025-03-01.',
        remedy: expect.stringMatching(/kubeadm certs renew admin\.conf/),
      }),
    );
    expect(() => checkLogin(found, Date.UTC(2024, 10, 22))).not.toThrow();
    const authority = await login({ token: 't' }, { 'certificate-authority-data': base64(expiredClient.cert) });
    expect(() => checkLogin(authority, Date.UTC(2026, 10, 22))).toThrowError(/^The CA certificate .* expired on 2025-03-01/);
    // During a rotation, the old authority is beside the new one.
    const both = await login({ token: 't' }, { 'certificate-authority-data': base64(`${expiredClient.cert}\n${selfSigned.cert}`) });
    expect(() => checkLogin(both, Date.UTC(2026, 10, 22))).not.toThrow();
  });

  const plugin = async (script: string, more: object = {}) => {
    const path = await put('.kube/plugin', `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o700);
    return login({
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: './plugin',
        args: ['get-token'],
        env: [{ name: 'REGION', value: 'eu' }],
        installHint: 'Install it.',
        ...more,
      },
    });
  };
  const grant = mintGrant('plugin', 'reveal', signal);

  test('a plugin is given what it needs and hands out a token', async () => {
    const found = await plugin(
      `printf '{"kind":"ExecCredential","status":{"token":"%s-%s-%s"}}' "$1" "$REGION" "$(printf %s "$KUBERNETES_EXEC_INFO" | grep -c '"interactive":false')"`,
    );
    expect(found.exec?.argv).toEqual([join(home, '.kube/plugin'), 'get-token']);
    expect(await runPlugin(grant, host(), found)).toEqual({ token: 'get-token-eu-1' });
  });

  test.each([
    ['fails', 'echo "no session: log in" >&2; exit 3', /exited with code 3: no session: log in\.$/],
    ['fails without a word', 'exit 3', /exited with code 3\.$/],
    ['answers rubbish', 'echo secret-rubbish', /returned no credentials\.$/],
    ['answers without credentials', 'echo \'{"kind":"ExecCredential","status":{}}\'', /returned no credentials\.$/],
  ])('one that %s is told, without what it wrote', async (_, script, expected) => {
    await expect(runPlugin(grant, host(), await plugin(script))).rejects.toMatchObject({
      code: 'refused.plugin',
      message: expect.stringMatching(expected),
      // It is installed.
      remedy: expect.stringMatching(/^Log in with the plugin in a shell first/),
    });
  });

  test('one that is not installed is told with how to install it', async () => {
    const found = await plugin('exit 0', { command: './elsewhere' });
    await expect(runPlugin(grant, host(), found)).rejects.toMatchObject({
      code: 'refused.plugin',
      message: expect.stringMatching(/is not installed\.$/),
      remedy: 'Install it.',
    });
  });
});
