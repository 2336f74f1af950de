import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnless } from '../required.ts';
import { makeOperator, type Operator } from './operator.ts';
import { describeBeside } from './real-engines.ts';
import { findServer } from './real-server.ts';
import { runOrThrow, runProgram } from './scripts.ts';

const script = fileURLToPath(new URL('crowdsec', import.meta.url));
const { program: tree = '', missing } = findServer('crowdsec-1.7.8');
const withoutRoot = process.getuid?.() === 0 ? undefined : 'needs root';

/** What came with 1.6.6 and later, on a machine on which CrowdSec runs without a container. */
describeBeside('docker', 'the flows of a real CrowdSec 1.7.8', (engine) => {
  describeUnless(missing ?? withoutRoot, 'as it was built', () => {
    let base: string;
    let operator: Operator;
    const env = { QUARTERDECK_TEST_CROWDSEC_TREE: tree, QUARTERDECK_ENGINES_OWNER: String(process.pid) };
    const message = async (...words: string[]) => (await operator.json<{ message: string }>(words)).message;
    const bans = async () =>
      (await operator.json<{ data: { decisions: { value: string }[] } }>(['decisions'])).data.decisions.map(({ value }) => value).sort();

    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'qd-ban-'));
      const folder = join(base, 'server');
      await runOrThrow([script, 'up', folder], { env });
      await mkdir(join(base, 'bin'));
      const lines = ['#!/bin/sh', `export QUARTERDECK_TEST_CROWDSEC_TREE=${tree}`, `exec ${script} cli ${folder} "$@"`];
      await writeFile(join(base, 'bin', 'cscli'), `${lines.join('\n')}\n`);
      await chmod(join(base, 'bin', 'cscli'), 0o755);
      const path = `${join(base, 'bin')}:${process.env.PATH}`;
      operator = await makeOperator(engine, { PATH: path, SSH_CONNECTION: '198.51.100.9 50000 203.0.113.80 22' });
    }, 120_000);
    afterAll(async () => {
      await runProgram([script, 'down', join(base, 'server')]);
      await rm(base, { recursive: true, force: true });
      await operator.leave();
    });

    it('bans in days, is lifted, and refuses who operates it (R63)', { timeout: 120_000 }, async () => {
      expect(await message('ban', '203.0.113.7', '--for', '7d', '--reason', 'a "quoted", reason')).toMatch(
        /^203\.0\.113\.7 is banned for (?:7d|168h)/,
      );
      await message('ban', '2001:db8:bad::/48', '--for', '4h', '--yes');
      await message('ban', 'FR', '--for', '4h', '--yes');
      expect(await bans()).toEqual(['2001:db8:bad::/48', '203.0.113.7', 'FR']);
      const refused = await operator.run(['ban', '198.51.100.0/24', '--for', '4h']);
      expect([refused.code, refused.stderr]).toEqual([4, expect.stringMatching(/the\s+address\s+from\s+which\s+you\s+connect/)]);
      for (const value of ['203.0.113.7', '2001:db8:bad::/48'])
        expect(await message('unban', value)).toBe(`${value} is no longer blocked.`);
      expect(await message('unban', 'FR')).toBe('France (FR) is no longer blocked.');
      expect(await bans()).toEqual([]);
    });

    it('allowlists: made, filled, looked up; what is on one is not banned unless that is meant', { timeout: 120_000 }, async () => {
      await message('allowlists', 'create', 'crew', '--description', 'ours');
      await message('ban', '192.0.2.80', '--for', '4h');
      expect(await message('allowlists', 'add', 'crew', '192.0.2.0/24', '2001:db8::7', '--comment', 'the crew')).toBe(
        '192.0.2.0/24, 2001:db8::7 are in the allowlist crew.',
      );
      // From 1.6.9 on that ends what decisions there are.
      expect(await bans()).toEqual([]);
      expect(await message('allowlists', 'check', '192.0.2.80')).toMatch(/crew/);
      const { data } = await operator.json<{ data: { allowlists: { name: string; items: { value: string }[] }[] } }>([
        'allowlists',
        'list',
      ]);
      expect(data.allowlists).toMatchObject([{ name: 'crew', description: 'ours' }]);
      expect(data.allowlists[0]?.items.map(({ value }) => value).sort()).toEqual(['192.0.2.0/24', '2001:db8::7']);
      const refused = await operator.run(['ban', '192.0.2.80', '--for', '4h']);
      expect([refused.code, refused.stderr]).toEqual([4, expect.stringMatching(/allowlist.*crew/)]);
      await message('ban', '192.0.2.80', '--for', '4h', '--bypass-allowlist');
      expect(await bans()).toEqual(['192.0.2.80']);
      await message('unban', '192.0.2.80');
      expect(await message('allowlists', 'remove', 'crew', '2001:db8::7')).toBe('Removed 2001:db8::7 from the allowlist crew.');
      expect(await message('allowlists', 'delete', 'crew', '--yes')).toBe('Deleted allowlist crew.');
      const again = await operator.run(['allowlists', 'create', 'crew', '--description', 'ours']);
      expect(again.code, again.stderr).toBe(0);
    });

    it('bouncers, machines, what is installed, metrics; what needs the internet says so', { timeout: 120_000 }, async () => {
      const added = await operator.run(['bouncers', 'add', 'proxy', '--plain']);
      expect(added.stdout.trim(), added.stderr).toMatch(/^\S{20,}$/);
      expect((await operator.run(['bouncers', 'list', '--json'])).stdout).toContain('"proxy"');
      expect(await message('bouncers', 'delete', 'proxy', '--yes')).toBe('Deleted bouncer proxy.');
      const machines = await operator.json<{ data: { machines: { name: string; validated: boolean }[] } }>(['machines', 'list']);
      expect(machines.data.machines).toMatchObject([{ name: 'practice', validated: true }]);
      const items = await operator.json<{ data: { items: { name: string }[] } }>(['collections', 'list', '--all']);
      expect(items.data.items.map(({ name }) => name)).toContain('crowdsecurity/sshd');
      const metrics = await operator.json<{ data: { metrics: unknown } }>(['metrics']);
      expect(metrics.data.metrics).not.toBeNull();
      const update = await operator.run(['hub', 'update']);
      expect([0, 1, 5]).toContain(update.code);
      if (update.code !== 0) expect(update.stderr).toMatch(/hub/);
    });
  });
});
