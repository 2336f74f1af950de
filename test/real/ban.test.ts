import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { describeUnless, requiredInCi } from '../required.ts';
import { ask } from './ask.ts';
import { makeOperator, type Operator } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow, runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';

const script = fileURLToPath(new URL('crowdsec', import.meta.url));
const missing = requiredInCi((await runProgram([script, 'fetch'])).code === 0 ? undefined : 'there is no package of CrowdSec');

interface Listed {
  message: string;
  data: { decisions: { value: string; scope: string; origin: string; reason: string; until: string }[] };
}
const valuesOf = ({ data }: Listed) => data.decisions.map(({ value }) => value).sort();
/** Of `cscli decisions list -o json`: the other way to know. */
const bannedIn = (text: string): string[] =>
  ((JSON.parse(text || 'null') ?? []) as { decisions: { value: string }[] }[])
    .flatMap(({ decisions }) => decisions.map(({ value }) => value))
    .sort();

describeReal('docker', 'bans with a real CrowdSec in a container', (engine) => {
  const name = `qd-crowdsec-${process.pid}`;
  let operator: Operator;
  const cscli = async (...words: string[]) => (await operator.run(['exec', name, '--', 'cscli', ...words])).stdout;

  beforeAll(async () => {
    operator = await makeOperator(engine, { SSH_CONNECTION: '198.51.100.9 50000 203.0.113.80 22' });
    const port = await findFreePort();
    const created = await ask(engine, `/containers/create?name=${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        Image: 'crowdsecurity/crowdsec:latest',
        Env: ['DISABLE_ONLINE_API=true'],
        ExposedPorts: { '8080/tcp': {} },
        HostConfig: {
          PortBindings: { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: String(port) }] },
          Binds: [`${name}:/var/lib/crowdsec/data`],
        },
      }),
    });
    expect(created.status, created.body).toBe(201);
    expect((await ask(engine, `/containers/${name}/start`, { method: 'POST' })).status).toBe(204);
    await vi.waitFor(async () => expect((await operator.run(['exec', name, '--', 'cscli', 'lapi', 'status'])).code).toBe(0), {
      timeout: 60_000,
      interval: 500,
    });
  }, 120_000);
  afterAll(async () => {
    await ask(engine, `/containers/${name}?force=true&v=true`, { method: 'DELETE' });
    await ask(engine, `/volumes/${name}?force=true`, { method: 'DELETE' });
    await operator.leave();
  });

  it('an address and a range are banned and freed again (R63)', { timeout: 120_000 }, async () => {
    await operator.json(['ban', '203.0.113.7', '--for', '7d', '--reason', 'a "quoted", reason']);
    await operator.json(['ban', '2001:db8:bad::/48', '--for', '4h']);
    const listed = await operator.json<Listed>(['decisions']);
    expect(valuesOf(listed)).toEqual(['2001:db8:bad::/48', '203.0.113.7']);
    expect(listed.data.decisions.find(({ value }) => value === '203.0.113.7')).toMatchObject({
      scope: 'Ip',
      origin: 'cscli',
      reason: 'a "quoted", reason',
    });
    expect(bannedIn(await cscli('decisions', 'list', '-o', 'json'))).toEqual(['2001:db8:bad::/48', '203.0.113.7']);
    // What is so already is not done again.
    await operator.json(['ban', '203.0.113.7', '--for', '7d']);
    expect((await cscli('decisions', 'list', '-i', '203.0.113.7')).match(/203\.0\.113\.7/g)).toHaveLength(1);
    // The same over the local API, without anything being run in the container.
    expect(valuesOf(await operator.json<Listed>(['decisions', '--read-only']))).toEqual(['2001:db8:bad::/48', '203.0.113.7']);

    await operator.json(['unban', '203.0.113.7']);
    const { message } = await operator.json<{ message: string }>(['unban', '2001:db8:bad::/48']);
    expect(message).toBe('2001:db8:bad::/48 is no longer blocked.');
    expect(bannedIn(await cscli('decisions', 'list', '-o', 'json'))).toEqual([]);
  });

  it('two consoles that ban one address both report what is in force, and a longer ban is replaced on request alone (R63)', {
    timeout: 120_000,
  }, async () => {
    const message = async (...words: string[]) => (await operator.json<{ message: string }>(['ban', '203.0.113.7', ...words])).message;
    const both = await Promise.all([message('--for', '24h'), message('--for', '2h')]);
    for (const one of both) expect(one).toMatch(/^203\.0\.113\.7 is (?:already )?banned /);
    expect(await message('--for', '1h')).toMatch(/already banned until .* The ban for 1h was not sent/);
    expect(await message('--for', '1h', '--replace')).toBe('203.0.113.7 is banned for 1h.');
    // What was imported is listed too, which this version does only when asked for it by name.
    await operator.run([
      'exec',
      name,
      '--',
      'sh',
      '-c',
      'printf "value\\n203.0.113.60\\n" >/tmp/list.csv && cscli decisions import -i /tmp/list.csv',
    ]);
    const listed = await operator.json<Listed>(['decisions']);
    expect(listed.message).toContain('(cscli 1, cscli-import 1)');
    expect(valuesOf(listed)).toEqual(['203.0.113.60', '203.0.113.7']);
    const replaced = listed.data.decisions.find(({ value }) => value === '203.0.113.7');
    expect(Date.parse(replaced?.until ?? '')).toBeLessThanOrEqual(Date.now() + 3_600_000);
    await cscli('decisions', 'delete', '--all');
  });

  it('whoever would be locked out is not banned', { timeout: 120_000 }, async () => {
    const network = await ask(engine, '/networks/bridge');
    const { IPAM } = JSON.parse(network.body) as { IPAM: { Config: { Subnet: string; Gateway?: string }[] } };
    const [{ Subnet } = { Subnet: '' }] = IPAM.Config;
    const inside = Subnet.replace(/\.\d+\/\d+$/, '.77');
    for (const target of ['198.51.100.9', '198.51.100.0/24', inside, '0.0.0.0/0', '::1']) {
      const { code, stderr } = await operator.run(['ban', target, '--for', '4h', '--yes']);
      expect([target, code, stderr]).toEqual([target, 4, expect.stringContaining('it could lock you out')]);
    }
    expect(bannedIn(await cscli('decisions', 'list', '-o', 'json'))).toEqual([]);
  });

  it("a bouncer's key is seen once, and is in no argv, file, log or event of the engine", { timeout: 120_000 }, async () => {
    const sinceSeconds = Math.floor(Date.now() / 1000) - 5;
    onTestFinished(() => void operator.run(['bouncers', 'delete', 'proxy', '--yes']));
    const { outcome, execs } = await operator.traceExec(['bouncers', 'add', 'proxy', '--plain']);
    expect(outcome.code, outcome.stderr).toBe(0);
    const key = outcome.stdout.trim();
    expect(key).toMatch(/^\S{20,}$/);
    const listed = await operator.run(['bouncers', 'list', '--json']);
    expect(listed.stdout).toContain('"proxy"');
    const untilSeconds = Math.floor(Date.now() / 1000);
    const events = await ask(engine, `/events?since=${sinceSeconds}&until=${untilSeconds}`);
    const log = await ask(engine, `/containers/${name}/logs?stdout=true&stderr=true`);
    for (const text of [execs.join('\n'), await operator.ownFiles(), events.body, log.body, listed.stdout, outcome.stderr])
      expect(text).not.toContain(key);
  });

  it('the login that lists are read with is in no argv and in no file', { timeout: 120_000 }, async () => {
    const credentials = await operator.run(['exec', name, '--', 'cat', '/etc/crowdsec/local_api_credentials.yaml']);
    const password = /^password: (\S+)$/m.exec(credentials.stdout)?.[1] ?? '';
    expect(password).toMatch(/^\S{20,}$/);
    const { outcome, execs } = await operator.traceExec(['decisions', '--json']);
    expect(outcome.code, outcome.stderr).toBe(0);
    for (const text of [execs.join('\n'), await operator.ownFiles(), outcome.stdout, outcome.stderr]) expect(text).not.toContain(password);
    // The engine stays known by its own version.
    const machines = await operator.json<{ data: { machines: { version: string }[] } }>(['machines', 'list']);
    expect(machines.data.machines[0]?.version).toMatch(/^v1\.4\.6/);
  });

  it('what this version cannot is said', { timeout: 120_000 }, async () => {
    const { code, stderr } = await operator.run(['allowlists', 'list']);
    expect([code, stderr]).toEqual([4, expect.stringMatching(/too old.*allowlists[\s\S]*1\.6\.6/)]);
    const metrics = await operator.json<{ data: { metrics: unknown } }>(['metrics']);
    expect(metrics.data.metrics).not.toBeNull();
    const machines = await operator.json<{ data: { machines: { name: string; validated: boolean }[] } }>(['machines', 'list']);
    expect(machines.data.machines).toMatchObject([{ name: 'localhost', validated: true }]);
  });
});

// A machine on which CrowdSec runs without a container; the engine beside it is only what makes it a place.
describeReal('docker', 'bans with a real CrowdSec on the machine itself', (engine) => {
  describeUnless(missing, 'from its package', () => {
    let base: string;
    let operator: Operator;
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'qd-ban-'));
      const folder = join(base, 'server');
      await runOrThrow([script, 'up', folder], { env: { QUARTERDECK_ENGINES_OWNER: String(process.pid) } });
      await mkdir(join(base, 'bin'));
      await writeFile(join(base, 'bin', 'cscli'), `#!/bin/sh\nexec ${script} cli ${folder} "$@"\n`);
      await chmod(join(base, 'bin', 'cscli'), 0o755);
      operator = await makeOperator(engine, {
        PATH: `${join(base, 'bin')}:${process.env.PATH}`,
        SSH_CONNECTION: '198.51.100.9 50000 203.0.113.80 22',
      });
    }, 120_000);
    afterAll(async () => {
      await runOrThrow([script, 'down', join(base, 'server')]);
      await rm(base, { recursive: true, force: true });
      await operator.leave();
    });

    it.skipIf(process.getuid?.() !== 0)(
      'an address is banned and freed again, and who operates it is not (R63)',
      { timeout: 120_000 },
      async () => {
        await operator.json(['ban', '203.0.113.7', '--for', '90m', '--reason', 'scans']);
        expect(valuesOf(await operator.json<Listed>(['decisions']))).toEqual(['203.0.113.7']);
        const own = await runOrThrow([script, 'cli', join(base, 'server'), 'decisions', 'list', '-o', 'json']);
        expect(bannedIn(own)).toEqual(['203.0.113.7']);
        const refused = await operator.run(['ban', '198.51.100.9', '--for', '4h']);
        expect([refused.code, refused.stderr]).toEqual([4, expect.stringMatching(/the\s+address\s+from\s+which\s+you\s+connect/)]);
        expect((await operator.json<{ message: string }>(['unban', '203.0.113.7'])).message).toBe('203.0.113.7 is no longer blocked.');
        expect(valuesOf(await operator.json<Listed>(['decisions']))).toEqual([]);
      },
    );
  });
});
