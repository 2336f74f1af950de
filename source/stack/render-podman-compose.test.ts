import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { compileCatalog } from '../catalog/compile.ts';
import { interpolate } from '../catalog/interpolation.ts';
import { answersOf } from './answers.ts';
import { readComponentSource } from './component-source.ts';
import { secretFilesOf } from './compose-editor.ts';
import { renderComponent } from './render.ts';
import { variablesOf } from './variables.ts';

const program = '/usr/bin/podman-compose';
const folder = mkdtempSync(join(tmpdir(), 'podman-compose-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A podman that says yes to everything and writes down what it was called with: here it counts what podman-compose makes of our files. */
function recorder(log: string): string {
  const path = join(folder, 'podman');
  writeFileSync(path, `#!/bin/sh\nprintf '%s ' "$@" >>'${log}'\necho >>'${log}'\n[ "$1" != --version ] || echo 'podman version 4.3.1'\n`);
  chmodSync(path, 0o755);
  return path;
}

it.skipIf(!existsSync(program))(
  'podman-compose starts what we render, and no secret is among the arguments of podman',
  async () => {
    const { entries } = await compileCatalog('catalog');
    for (const id of ['rss-reader', 'sso-portal', 'llm-proxy', 'media-server']) {
      const entry = entries.find((one) => one.id === id);
      if (!entry) throw new Error(`${id} did not compile`);
      const source = await readComponentSource(entry, join(process.cwd(), 'catalog'));
      const context = { source, others: [], secretsKnown: {}, hasData: false, runtime: 'podman' as const };
      const main = entry.services.find((service) => service.main)?.name ?? '';
      const rendered = renderComponent(entry, source, answersOf(entry, context, { SESSION_DOMAIN: 'a.lan', site: 'x.a.lan' }), {
        runtime: 'podman',
        tool: { kind: 'podman-compose' },
        networks: [{ name: 'quarterdeck-shared', services: [{ service: main, aliases: [id] }] }],
      });
      const secrets = Object.fromEntries(
        variablesOf(entry, source).flatMap(({ name, kind }) => (kind === 'secret' ? [[name, `S3CRET-${name}`]] : [])),
      );
      const texts = {
        ...Object.fromEntries(
          Object.entries({ 'compose.yaml': rendered.compose, '.env': rendered.env, ...rendered.files }).map(([path, text]) => [
            `${id}/${path}`,
            text,
          ]),
        ),
        ...Object.fromEntries(
          Object.entries(secretFilesOf(rendered.compose)).map(([service, templates]) => [
            `secrets/${service}.env`,
            Object.entries(templates)
              .map(([name, template]) => `${name}=${interpolate(template, secrets)}\n`)
              .join(''),
          ]),
        ),
      };
      for (const [path, text] of Object.entries(texts)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      const log = join(folder, `${id}.log`);
      const { PATH = '', HOME = '' } = process.env;
      execFileSync(program, ['--podman-path', recorder(log), 'up', '-d'], {
        cwd: join(folder, id),
        env: { PATH, HOME, QUARTERDECK_SECRETS: join(folder, 'secrets') },
        stdio: 'ignore',
        timeout: 60_000,
      });
      const calls = readFileSync(log, 'utf8');
      const runs = calls.split('\n').filter((call) => call.startsWith('run '));
      expect(runs).toHaveLength(entry.services.filter((service) => !service.optional).length);
      expect(calls).not.toContain('S3CRET-');
      expect(runs.join(' ')).not.toMatch(/\$\{/);
      const front = runs.find((call) => call.includes(`--name=${id} `)) ?? '';
      expect(front).toContain('quarterdeck-shared');
      expect(front).toContain(`${id}_default`);
      if (Object.keys(secrets).length > 0) expect(front).toContain(`--env-file ${join(folder, 'secrets', `${main}.env`)}`);
    }
  },
  60_000,
);
