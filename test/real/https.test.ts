import { glob, readFile, writeFile } from 'node:fs/promises';
import { request as queryEngine } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployFixture, pageAt, setFixture } from './deploy-fixture.ts';
import { componentsOf } from './operator.ts';
import {
  describeOnce,
  describePrivate,
  type PrivateEngine,
  type RealEngine,
  type RealEngineKind,
  startPrivateEngine,
} from './real-engines.ts';
import { type Composer, findFreePort } from './stack.ts';

const ways: readonly { kind: RealEngineKind; composers: readonly Composer[] }[] = [
  { kind: 'docker', composers: ['compose-1'] },
  { kind: 'podman', composers: ['compose-2', 'podman-compose'] },
];
const catalogFolder = fileURLToPath(new URL('../../catalog/', import.meta.url));
const images = ['docker.io/vaultwarden/server:latest', 'docker.io/library/caddy:latest'];

for (const { kind, composers } of ways) {
  const group = describeOnce(kind === 'podman', describePrivate);
  group(kind, 'from "I want a password vault" to one behind HTTPS', (shared) => {
    // The reverse proxy has one name and a host's own ports: on an engine of its own it meets no other test's.
    let engine: PrivateEngine;
    beforeAll(async () => {
      engine = await startPrivateEngine(kind);
      await copyImages(shared, engine);
    });
    afterAll(() => engine?.down());

    describe.each(composers)('with %s', (composer) => {
      let fixture: DeployFixture;
      let httpsPort: number;
      let vaultPort: number;

      beforeAll(async () => {
        fixture = await setFixture(engine, composer);
        if (composer === 'podman-compose') await putNewerPodmanCompose(fixture);
        httpsPort = await findFreePort();
        vaultPort = await findFreePort();
        fixture.runHealthChecks('password-vault');
        await fixture.catalog(await proxyAt({ http: await findFreePort(), https: httpsPort, admin: await findFreePort() }));
      });
      afterAll(() => fixture?.leave());
      const yes = async (...args: string[]) => {
        const outcome = await fixture.operator.run([...args, '--yes']);
        expect(outcome.code, outcome.stdout + outcome.stderr).toBe(0);
        return outcome.stdout;
      };

      it('is two deploys, and a browser that trusts the internal authority reaches it by name (R9, R10, R11)', async () => {
        await yes('deploy', 'reverse-proxy');
        const ports = ['--set', `WEB_PORT=${vaultPort}`, '--set', `HUB_PORT=${await findFreePort()}`];
        await yes('deploy', 'password-vault', ...ports, '--set', 'site=vault.lan');

        const { 'password-vault': vault, 'reverse-proxy': proxy } = await componentsOf(fixture.operator);
        expect(vault?.state.label).toBe('sign-ups open');
        expect(proxy?.serviceState).toMatch(/running|healthy/);
        const ca = await internalAuthority(fixture);
        expect(JSON.parse(await overHttps(httpsPort, 'vault.lan', ca))).toMatchObject({ settings: { disableUserRegistration: false } });
        await expect(overHttps(httpsPort, 'other.lan', ca)).rejects.toThrow();
        await expect(overHttps(httpsPort, 'vault.lan', '')).rejects.toThrow(/certificate/);
      });

      it('is removed with its site', async () => {
        await yes('remove', 'password-vault', '--data', 'password-vault');
        expect(await fixture.file('reverse-proxy/files/sites/vault.lan.caddy')).toBeUndefined();
        expect(await pageAt(vaultPort)).toBe('');
        await yes('remove', 'reverse-proxy', '--data', 'reverse-proxy');
        const volumes = JSON.parse((await ask(engine, '/volumes')).body) as { Volumes: unknown[] | null };
        expect(volumes.Volumes ?? []).toEqual([]);
      });
    });
  });
}

/** The catalog's own reverse proxy on other ports: the machine that runs the tests may have a web server. */
async function proxyAt({ http, https, admin }: { http: number; https: number; admin: number }): Promise<Record<string, string>> {
  const folder = `${catalogFolder}networking/`;
  const files: Record<string, string> = {};
  for await (const entry of glob('reverse-proxy/**', { cwd: folder, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files[path.slice(folder.length)] = await readFile(path, 'utf8');
  }
  const rules = files['reverse-proxy/files/Caddyfile'] ?? '';
  files['reverse-proxy/files/Caddyfile'] = rules
    .replace('admin localhost:2019', `admin localhost:${admin}\n\thttp_port ${http}\n\thttps_port ${https}`)
    .replace(':80 {', `:${http} {`);
  files['reverse-proxy/component.yaml'] = (files['reverse-proxy/component.yaml'] ?? '')
    .replaceAll('number: 80,', `number: ${http},`)
    .replaceAll('number: 443,', `number: ${https},`)
    .replaceAll('\\":443\\"', `\\":${https}\\"`);
  return files;
}

/** Debian's 1.0.3 cannot give a container the host's network: preflight says so, and another is wanted. */
async function putNewerPodmanCompose({ operator }: DeployFixture): Promise<void> {
  const [bin = ''] = operator.env['PATH']?.split(':') ?? [];
  const program = join(inject('composeFolder'), 'podman-compose');
  await writeFile(join(bin, 'podman-compose'), `#!/bin/sh\nexec /usr/bin/python3 '${program}' "$@"\n`, { mode: 0o755 });
}

/** What people import on their devices. */
async function internalAuthority({ operator }: DeployFixture): Promise<string> {
  const { stdout, stderr } = await operator.run(['exec', 'reverse-proxy', '--', 'cat', '/data/caddy/pki/authorities/local/root.crt']);
  expect(stdout, stderr).toContain('BEGIN CERTIFICATE');
  return stdout;
}

/** The vault's public configuration, as a device asks for it that trusts this authority. */
async function overHttps(port: number, site: string, ca: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: site, path: '/api/config', headers: { host: site }, ca, agent: false };
    const asked = request({ ...options, signal: AbortSignal.timeout(20_000) }, (answer) => {
      text(answer).then(resolve, reject);
    });
    asked.once('error', reject);
    asked.end();
  });
}

/** Out of one engine, into another. */
async function copyImages(from: RealEngine, to: RealEngine): Promise<void> {
  const names = images.map((name) => `names=${encodeURIComponent(name)}`).join('&');
  await new Promise<void>((resolve, reject) => {
    const load = queryEngine(
      { socketPath: to.socket, path: '/images/load', method: 'POST', headers: { 'Content-Type': 'application/x-tar' } },
      (answer) => text(answer).then((said) => (answer.statusCode === 200 ? resolve() : reject(new Error(said))), reject),
    );
    load.once('error', reject);
    queryEngine({ socketPath: from.socket, path: `/images/get?${names}` }, (archive) => archive.pipe(load))
      .once('error', reject)
      .end();
  });
}
