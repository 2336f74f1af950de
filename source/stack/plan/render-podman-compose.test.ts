import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { answeredCatalog, deployable, secretsOf, writeRendered } from '../../../test/catalog/rendered.ts';
import { podmanComposes } from '../../../test/doubles/compose-config.ts';
import { describeUnless, requiredProgram } from '../../../test/required.ts';
import { interpolate } from '../../catalog/interpolation.ts';
import { secretFilesOf } from './compose-editor.ts';
import { renderComponent } from './render.ts';

/** 1.0.3, which has no `config`. */
const program = '/usr/lib/python3/dist-packages/podman_compose.py';
const folder = mkdtempSync(join(tmpdir(), 'podman-compose-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A podman that accepts everything. podman-compose prints the calls: the test checks what it makes of our files. */
function yesSayer(): string {
  const path = join(folder, 'podman');
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  return path;
}

describeUnless(requiredProgram(program, 'podman-compose'), 'podman-compose starts what we render', () => {
  it('of every component, and no secret is among the arguments of podman', async () => {
    const take = await answeredCatalog();
    const projects = deployable.map((id) => {
      const { entry, source, answers } = take(id);
      const main = entry.services.find((service) => service.main)?.name ?? '';
      const rendered = renderComponent(entry, source, answers, {
        runtime: 'podman',
        tool: { kind: 'podman-compose' },
        networks: [{ name: 'quarterdeck-shared', services: [{ service: main, aliases: [id] }] }],
      });
      const secrets = secretsOf({ entry, source });
      const secretsFolder = join(folder, 'secrets', id);
      mkdirSync(secretsFolder, { recursive: true });
      for (const [service, templates] of Object.entries(secretFilesOf(rendered.compose))) {
        const lines = Object.entries(templates).map(([name, template]) => `${name}=${interpolate(template, secrets)}\n`);
        writeFileSync(join(secretsFolder, `${service}.env`), lines.join(''));
      }
      return {
        folder: writeRendered(join(folder, id), rendered),
        env: { QUARTERDECK_SECRETS: secretsFolder },
        id,
        entry,
        main,
        takesSecrets: existsSync(join(secretsFolder, `${main}.env`)),
      };
    });
    const podman = yesSayer();
    const outcomes = podmanComposes(program, ['--podman-path', podman, '--dry-run', 'up', '-d'], projects);
    for (const [index, { id, entry, env, main, takesSecrets }] of projects.entries()) {
      expect(outcomes[index], id).toMatchObject({ code: 0 });
      const calls = outcomes[index]?.stdout ?? '';
      const runs = calls.split('\n').filter((call) => call.startsWith(`${podman} run `));
      expect(runs, id).toHaveLength(entry.services.filter((service) => !service.optional).length);
      expect(calls, id).not.toContain('secret-of-');
      expect(runs.join(' '), id).not.toMatch(/\$\{/);
      if (entry.services.some((service) => service.main && service.networkMode !== undefined)) continue;
      const front = runs.find((call) => call.includes(`--name=${id} `)) ?? '';
      expect(front, id).toContain('quarterdeck-shared');
      expect(front, id).toContain(`${id}_default`);
      if (takesSecrets) expect(front, id).toContain(`--env-file ${join(env.QUARTERDECK_SECRETS, `${main}.env`)}`);
    }
  }, 120_000);
});
