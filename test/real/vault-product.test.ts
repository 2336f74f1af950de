import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Terminal } from '../pty/terminal.ts';
import { describeUnless } from '../required.ts';
import { ask } from './ask.ts';
import { type DeployFixture, setFixture } from './deploy-fixture.ts';
import { launcher, statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findServer } from './real-server.ts';
import { runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';
import { asInTheCatalog, makeStandIn } from './stand-ins.ts';

const id = 'secrets-manager-path';
const { program = '', missing } = findServer('openbao');
const limitMs = 90_000;

describeUnless(missing, 'a real OpenBao in a container', () => {
  // The program is the real one; the image around it is made here, since none can be pulled.
  describeReal('docker', 'from new to unsealed after a restart', (engine) => {
    let fixture: DeployFixture;
    let terminal: Terminal | undefined;
    let port: number;
    const shown: Record<string, string> = {};
    const shares = () => [1, 2, 3, 4, 5].map((number) => shown[`Key share ${number} of 5`] ?? '');
    const root = () => shown['Root token'] ?? '';
    const verb = async (words: string[], answers: object = {}) => {
      const outcome = await runProgram([launcher, ...words, '--answers', '-'], {
        env: fixture.operator.env,
        bare: true,
        input: JSON.stringify(answers),
        limitMs,
      });
      expect(outcome.code, `${words.join(' ')}: ${outcome.stdout}${outcome.stderr}`).toBe(0);
      return outcome.stdout;
    };

    beforeAll(async () => {
      await makeStandIn(engine, {
        name: 'quay.io/openbao/openbao',
        tag: 'latest',
        from: 'postgres:16-alpine',
        files: {
          'bin/bao': await readFile(program),
          'etc/passwd': 'root:x:0:0:root:/:/bin/sh\nopenbao:x:100:1000::/:/bin/sh\n',
          'etc/group': 'root:x:0:\nopenbao:x:1000:\n',
        },
        changes: ['ENTRYPOINT []', 'CMD []', 'USER openbao'],
      });
      fixture = await setFixture(engine);
      await fixture.catalog(await asInTheCatalog('security', id));
      port = await findFreePort();
    });
    afterAll(async () => {
      await terminal?.close();
      await fixture?.leave();
    });

    it('is deployed and initialised in a terminal: each share is seen once, typed again, and gone', { timeout: 3 * limitMs }, async () => {
      await verb(['deploy', id, '--yes', '--set', `API_PORT=${port}`]);
      await statusUntil(fixture.operator, id, ({ state }) => state.label === 'not initialised', limitMs);
      terminal = fixture.operator.open(['init', id]);
      for (const question of ['Total number of key shares', 'Number of shares required to unseal', 'Create 5 key shares']) {
        await terminal.sees(question, limitMs);
        terminal.press('enter');
      }
      for (const label of [...[1, 2, 3, 4, 5].map((number) => `Key share ${number} of 5`), 'Root token']) {
        await terminal.sees(`${label}: is`, limitMs);
        terminal.press('enter');
        await terminal.sees('Write the secret down now', limitMs);
        const lines = terminal.screen().map((line) => line.trim());
        const from = lines.indexOf(`${label}:`);
        shown[label] = lines.slice(from + 1).find((line) => line !== '') ?? '';
        expect(shown[label], lines.join('\n')).toMatch(/^\S{20,}$/);
        terminal.press('enter');
        await terminal.sees(/Type (?:key share|root token)[^\n]* as you wrote it down/, limitMs);
        terminal.type(shown[label] ?? '');
        terminal.press('enter');
      }
      expect(await terminal.exit(limitMs)).toMatchObject({ code: 0 });
      const left = [...terminal.scrollback(), ...terminal.screen()].join('\n');
      for (const secret of Object.values(shown)) expect(left).not.toContain(secret);
    });

    it('is unsealed, sealed by a restart, and unsealed again; what was stored is there', { timeout: 5 * limitMs }, async () => {
      await verb(['unseal', id], { share: shares().slice(0, 3) });
      await statusUntil(fixture.operator, id, ({ state }) => state.label === 'healthy', limitMs);
      await verb(['vault', 'login', id, '--method', 'token'], { token: root(), keep: 'yes' });
      const mounted = await fetch(`http://127.0.0.1:${port}/v1/sys/mounts/legacy`, {
        method: 'POST',
        headers: { 'X-Vault-Token': root() },
        body: JSON.stringify({ type: 'kv' }),
      });
      expect(mounted.status).toBe(204);
      await verb(['vault', 'write', id, 'legacy/web', 'password'], { 'value-password': 'a value that is marked' });
      await verb(['restart', id]);
      await statusUntil(fixture.operator, id, ({ state }) => state.id === 'sealed', limitMs);
      await verb(['unseal', id], { share: shares().slice(2, 5) });
      await statusUntil(fixture.operator, id, ({ state }) => state.label === 'healthy', limitMs);
      expect(await verb(['vault', 'read', id, 'legacy/web', '--field', 'password', '--plain'])).toBe('a value that is marked\n');
    });

    it('nothing of it is in the configuration of the container, in what the engine tells, in its log, or in our files', async () => {
      const container = await fixture.container(id, 'openbao');
      const since = Math.floor(Date.now() / 1000) - 3600;
      const { body: events } = await ask(engine, `/events?since=${since}&until=${Math.floor(Date.now() / 1000)}`);
      const { body: log } = await ask(engine, `/containers/${container?.Id}/logs?stdout=1&stderr=1`);
      const engines = { events, log, inspect: JSON.stringify(container), files: await fixture.operator.ownFiles() };
      expect(events).toContain(container?.Id);
      for (const [where, text] of Object.entries(engines))
        for (const secret of [...Object.values(shown), 'a value that is marked']) expect(text.includes(secret), where).toBe(false);
    });
  });
});
