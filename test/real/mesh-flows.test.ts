import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnless } from '../required.ts';
import { ask } from './ask.ts';
import { offerControlServer } from './control-server.ts';
import { type DeployFixture, setFixture } from './deploy-fixture.ts';
import { launcher, statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findServer } from './real-server.ts';
import { runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';

const id = 'mesh-control-server';

describeUnless(findServer('headscale').missing, 'the mesh control server', () => {
  describeReal('docker', 'with a real Headscale in its container', (engine) => {
    let fixture: DeployFixture;

    beforeAll(async () => {
      fixture = await setFixture(engine);
      await offerControlServer(engine, fixture);
    });
    afterAll(() => fixture?.leave());

    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await fixture.operator.run(args);
      expect(code, stdout + stderr).toBe(0);
      return stdout;
    };
    const data = async <T>(...args: string[]) => (await fixture.operator.json<{ data: T }>(args)).data;
    const typed = (input: string, ...args: string[]) => runProgram([launcher, ...args], { env: fixture.operator.env, bare: true, input });
    const headscale = (...args: string[]) => run('exec', id, '--service', 'control', '--', 'headscale', ...args, '-o', 'json');

    it('is deployed from the catalog, and lets this console in with a key that its command made', async () => {
      const ports = await Promise.all(['HTTP_PORT', 'GRPC_PORT', 'WEB_PORT'].map(async (name) => `${name}=${await findFreePort()}`));
      await run('deploy', id, ...ports.flatMap((port) => ['--set', port]), '--yes');
      await statusUntil(fixture.operator, id, ({ state }) => state.label === 'healthy');
      // Of a try before this one.
      await fixture.operator.run(['secrets', 'remove', `${id}.login`, 'API_KEY', '--yes']);
      const refused = await fixture.operator.run(['mesh', 'nodes', id]);
      expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining(`quarterdeck mesh access ${id}`) });
      expect(await data('mesh', 'access', id)).toMatchObject({
        version: expect.stringMatching(/^0\.29\./),
        apiKey: expect.stringMatching(/^hskey-api-.{12}-\*\*\*$/),
      });
      expect(await data('mesh', 'nodes', id)).toEqual({ nodes: [] });
    });

    it('users, and keys that are shown once, kept, listed and expired (R61); no key is in the arguments of any program, in what the engine tells, or in our files', async () => {
      await run('mesh', 'user', id, 'create', 'ann');
      const since = Math.floor(Date.now() / 1000);
      const { outcome, execs } = await fixture.operator.traceExec(['key', id, '--user', 'ann', '--tags', 'tag:server', '--plain']);
      const key = outcome.stdout.trim();
      expect(key, outcome.stderr).toMatch(/^hskey-auth-[\w-]{12}-[\w-]{64}$/);
      const renewed = await fixture.operator.traceExec(['mesh', 'access', id, '--renew']);
      expect(renewed.outcome.code, renewed.outcome.stderr).toBe(0);
      expect(renewed.execs.join('\n')).not.toMatch(/hskey-/);
      expect(execs.join('\n')).not.toContain(key);
      const { body: events } = await ask(engine, `/events?since=${since}&until=${Math.ceil(Date.now() / 1000)}`);
      expect(events).toContain('apikeys create');
      expect(events).not.toMatch(/hskey-/);
      expect(await fixture.operator.ownFiles()).not.toMatch(/hskey-(?:auth|api)-[\w-]{12}-[\w-]{64}/);
      expect((await run('secrets', 'reveal', `${id}.join`, 'KEY', '--plain')).trim()).toBe(key);
      const newest = async () => (await data<{ keys: Record<string, unknown>[] }>('mesh', 'keys', id)).keys.at(-1);
      const listed = await newest();
      expect(listed).toMatchObject({ user: 'ann', state: 'valid', tags: ['tag:server'], key: `${key.slice(0, 23)}-***` });
      await run('mesh', 'expire-key', id, String(listed?.['id']), '--yes');
      expect(await newest()).toMatchObject({ id: listed?.['id'], state: 'expired' });
    });

    it('the policy is checked, set, and reads back with its comments (R62)', async () => {
      const policy =
        '// The crew.\n{\n  "tagOwners": {"tag:server": ["ann@"]},\n  "acls": [\n    {"action": "accept", "src": ["ann@"], "dst": ["tag:server:*"]},\n  ],\n}\n';
      const bad = policy.replace('"tag:server:*"', '"tag:web:*"');
      const refused = await typed(bad, 'mesh', 'edit-policy', id, '--stdin', '--yes', '--json');
      expect(refused).toMatchObject({
        code: 4,
        stderr: expect.stringMatching(/Line 5, column 51: .*tag:web.* is not defined under tagOwners/),
      });
      expect(refused.stderr).toMatch(/The control server reports: .*tag not found/);
      const set = await typed(policy, 'mesh', 'edit-policy', id, '--stdin', '--yes');
      expect(set.code, set.stderr).toBe(0);
      expect(await data('mesh', 'policy', id)).toMatchObject({ policy, findings: [] });
      expect(await run('exec', id, '--service', 'control', '--', 'headscale', 'policy', 'get')).toContain('// The crew.');
      const named = await fixture.operator.run(['mesh', 'user', id, 'delete', 'ann', '--yes', '--json']);
      expect(named).toMatchObject({ code: 4, stderr: expect.stringMatching(/The policy refers to ann/) });
    });

    it('a node that waits is registered, tagged, given routes, renamed, expired and deleted', async () => {
      for (const left of (await data<{ nodes: Record<string, unknown>[] }>('mesh', 'nodes', id)).nodes)
        await run('mesh', 'node', id, String(left['id']), 'delete', '--yes');
      const authId = `hskey-authreq-${'A'.repeat(24)}`;
      await headscale('debug', 'create-node', '--name', 'laptop', '--user', 'ann', '--key', authId, '--route', '10.2.0.0/16');
      await run('mesh', 'register', id, `https://mesh.example.org/register/${authId}`, '--user', 'ann');
      const node = async () => (await data<{ nodes: Record<string, unknown>[] }>('mesh', 'nodes', id)).nodes[0];
      expect(await node()).toMatchObject({ name: 'laptop', user: 'ann', online: false, tags: [] });
      await run('mesh', 'node', id, 'laptop', 'expires', '30d');
      await run('mesh', 'node', id, 'laptop', 'keep');
      expect(await node()).toMatchObject({ expiresAt: null });
      await run('mesh', 'node', id, 'laptop', 'rename', 'bridge');
      await run('mesh', 'node', id, 'bridge', 'tags', 'tag:server', '--yes');
      expect(await node()).toMatchObject({ name: 'bridge', hostname: 'laptop', user: null, tags: ['tag:server'] });
      await run('mesh', 'node', id, 'bridge', 'expire', '--yes');
      expect(await node()).toMatchObject({ expired: true });
      await run('mesh', 'node', id, 'bridge', 'delete', '--yes');
      expect(await node()).toBeUndefined();
      const again = await fixture.operator.run(['mesh', 'register', id, authId, '--user', 'ann']);
      expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/no node is waiting with this key/) });
    });

    it('restarted in the middle it is waited for by nobody: what is asked meanwhile is refused in a sentence, and works afterwards', async () => {
      await run('stop', id, '--yes');
      const away = await fixture.operator.run(['mesh', 'nodes', id]);
      expect(away.code).toBeGreaterThan(0);
      expect(away.stderr).not.toMatch(/ at \S+:\d+:\d+/);
      await run('start', id);
      await statusUntil(fixture.operator, id, ({ state }) => state.label === 'healthy');
      expect(await data('mesh', 'nodes', id)).toEqual({ nodes: [] });
    });
  });
});
