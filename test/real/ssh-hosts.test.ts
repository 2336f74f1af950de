import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { practiceEngine, type RemoteDesk, sitDown } from './remote-desk.ts';
import { runOrThrow, type ScriptOutcome } from './scripts.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const seenMs = 40_000;
/** As docs/json.md shows it. */
const documented = async (name: string): Promise<unknown> => {
  const text = await readFile(join(import.meta.dirname, '../../docs/json.md'), 'utf8');
  return JSON.parse(new RegExp(`\`\`\`json ${name}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? 'null');
};

/** Every path of keys in a value; lists count as one of their kind. */
function keyPaths(value: unknown, path = ''): Set<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((item) => [...keyPaths(item, `${path}[]`)]));
  if (typeof value !== 'object' || value === null) return new Set();
  return new Set(Object.entries(value).flatMap(([key, member]) => [`${path}.${key}`, ...keyPaths(member, `${path}.${key}`)]));
}

const faultOf = ({ stdout, stderr, code }: ScriptOutcome) => ({
  code: (JSON.parse(stdout || stderr) as { error?: { code: string } }).error?.code,
  exitCode: code,
});

const configured = `# Mine.
theme: dark  # at night

hosts:
  # The one in the cupboard.
  old:
    ssh: old   # by its name
    stackFolder: ~/stack
# The end.
`;

describeSshd('hosts, as commands', () => {
  let practice: Awaited<ReturnType<typeof practiceEngine>>;
  let sshd: Sshd;
  beforeAll(async () => {
    practice = await practiceEngine();
    sshd = await startSshd({ env: practice.env });
  });
  afterAll(async () => {
    await sshd?.leave();
    await practice?.[Symbol.asyncDispose]();
  });

  it('are added by an address or by a Host of ssh, listed, checked and removed, and the file keeps what else is in it', async () => {
    const desk = await sitDown(sshd, { nas: {}, old: {}, '127.0.0.1': {} }, { listed: [] });
    await desk.writeConfig(configured);
    const added = await desk.run(['hosts', 'add', 'cupboard', `root@127.0.0.1:${sshd.port}`]);
    expect(added.code, added.stdout + added.stderr).toBe(0);
    expect(added.stdout).toMatch(/Added cupboard/);
    const json = await desk.json<{ data: { name: string; ssh: string; report: { connected: boolean } } }>([
      'hosts',
      'add',
      'nas',
      '--stack-folder',
      '~/other',
    ]);
    expect(json.data).toMatchObject({ name: 'nas', ssh: 'nas', stackFolder: '~/other', report: { connected: true, user: 'root' } });
    const line = `  cupboard: { ssh: root@127.0.0.1:${sshd.port} }\n  nas: { ssh: nas, stackFolder: ~/other }\n`;
    expect(await desk.config()).toBe(configured.replace('# The end.\n', `${line}# The end.\n`));

    const listed = await desk.json<{ data: { hosts: { name: string; state: string; roundTripMs: number | null }[] } }>(['hosts', 'list']);
    expect(keyPaths(listed)).toEqual(keyPaths(await documented('hosts-list')));
    expect(listed.data.hosts.filter(({ name }) => name !== 'local').map(({ name, state }) => [name, state])).toEqual([
      ['old', 'connected'],
      ['cupboard', 'connected'],
      ['nas', 'connected'],
    ]);
    const checked = await desk.json<{ data: { hosts: { name: string; findings: { id: string; state: string }[] }[] } }>([
      'hosts',
      'check',
      'nas',
    ]);
    expect(keyPaths(checked)).toEqual(keyPaths(await documented('hosts-check')));
    expect(checked.data.hosts[0]?.findings.find(({ id }) => id === 'connect')?.state).toBe('ok');

    expect((await desk.run(['status', '--host', 'nas'])).code).toBe(0);
    await access(join(desk.home, 'state/engines/nas.json'));
    expect((await desk.run(['hosts', 'remove', 'nas'])).code).toBe(0);
    expect((await desk.run(['hosts', 'remove', 'cupboard'])).code).toBe(0);
    expect(await desk.config()).toBe(configured);
    await expect(access(join(desk.home, 'state/engines/nas.json'))).rejects.toThrow();
    expect(faultOf(await desk.run(['hosts', 'remove', 'nas', '--json']))).toEqual({ code: 'usage.host', exitCode: 2 });
    // What was there before is written back as it was, also without the last one.
    expect((await desk.run(['hosts', 'remove', 'old'])).code).toBe(0);
    expect(await desk.config()).not.toContain('hosts:');
    expect(await desk.config()).toMatch(/^# Mine\.\ntheme: dark {2}# at night\n[\s\S]*# The end\.\n$/);
  });

  it.each([
    [['a b'], 'usage.destination'],
    [['a b', 'nas'], 'usage.hostName'],
    [['-nas', 'nas'], 'usage.commandLine'],
    [['--', '-oProxyCommand=touch x'], 'usage.destination'],
    [['all', 'nas'], 'usage.hostName'],
    [['nas', '--', '-oProxyCommand=touch x'], 'usage.destination'],
    [['nas', 'root@'], 'usage.destination'],
    [['nas', 'nas:99999'], 'usage.destination'],
    [['nas', 'op@nas', 'more'], 'usage.words'],
    [['op@nas'], 'usage.hostName'],
    [['nas', 'nas', '--stack-folder', 'stack'], 'usage.stackFolder'],
    [[], 'usage.host'],
  ] as const)('hosts add %j is refused with 2, and nothing is written', async (words, code) => {
    const desk = await sitDown(sshd, { nas: {} }, { listed: [] });
    await desk.writeConfig(configured);
    expect(faultOf(await desk.run(['--json', 'hosts', 'add', ...words]))).toEqual({ code, exitCode: 2 });
    expect(await desk.config()).toBe(configured);
  });

  it('of a name that is taken are refused with 4, and those that cannot be reached are added with 3', async () => {
    const desk = await sitDown(sshd, { nas: {}, off: { port: 9 } });
    expect(faultOf(await desk.run(['hosts', 'add', 'nas', 'elsewhere', '--json']))).toEqual({ code: 'refused.hostThere', exitCode: 4 });
    await desk.writeConfig('hosts: {}\n');
    const away = await desk.run(['hosts', 'add', 'off']);
    expect([away.code, away.stdout]).toEqual([3, expect.stringContaining('To check again: quarterdeck hosts check off')]);
    expect((await desk.run(['hosts', 'check', 'off'])).code).toBe(3);
    const list = await desk.run(['hosts', 'list', '--json']);
    expect([list.code, JSON.parse(list.stdout).data.hosts]).toMatchObject([
      0,
      expect.arrayContaining([
        expect.objectContaining({ name: 'off', state: 'away', fault: expect.objectContaining({ code: 'unreachable.host' }) }),
      ]),
    ]);
    const dryRunResult = await desk.run(['hosts', 'remove', 'off', '--dry-run']);
    expect([dryRunResult.code, await desk.config()]).toEqual([0, expect.stringContaining('off')]);
    expect((await desk.run(['hosts', 'add', 'more', 'nas', '--unchecked'])).code).toBe(0);
    expect(await desk.config()).toContain('more: { ssh: nas }');
  });
});

/** As ssh shows it: `SHA256:...`. */
async function fingerprint(folder: string): Promise<string> {
  return (await runOrThrow(['ssh-keygen', '-l', '-f', join(folder, 'host-key.pub')])).split(' ')[1] ?? '';
}

describeSshd('a host key that is not known', () => {
  let practice: Awaited<ReturnType<typeof practiceEngine>>;
  let sshd: Sshd;
  let desk: RemoteDesk;
  beforeAll(async () => {
    practice = await practiceEngine();
    sshd = await startSshd({ env: practice.env });
  });
  afterAll(async () => {
    await sshd?.leave();
    await practice?.[Symbol.asyncDispose]();
  });

  it('is refused where nobody is asked, with its fingerprint, and nothing is kept', async () => {
    desk = await sitDown(sshd, { nas: { unknown: true } });
    const { code, stderr } = await desk.run(['hosts', 'check', 'nas', '--json']);
    expect(code).toBe(4);
    const checked = await desk.run(['hosts', 'check', 'nas']);
    expect(checked.stdout + checked.stderr + stderr).toContain(await fingerprint(sshd.folder));
    expect(await desk.known()).toEqual([]);
  });

  it('is asked on the terminal as ssh asks: no, a fingerprint that is another, and the right one', async () => {
    desk = await sitDown(sshd, { nas: { unknown: true } });
    const shown = await fingerprint(sshd.folder);
    const declining = desk.open(['hosts', 'check', 'nas']);
    onTestFinished(async () => await declining.close());
    await declining.sees('Is this the host key?', seenMs);
    await declining.sees(`ED25519 key fingerprint is ${shown}.`, seenMs);
    declining.type('perhaps\r');
    await declining.sees('Answer yes or no, or paste the fingerprint', seenMs);
    declining.type('no\r');
    expect((await declining.exit(seenMs)).code).toBe(4);
    expect(await desk.known()).toEqual([]);

    const comparing = desk.open(['hosts', 'check', 'nas']);
    onTestFinished(async () => await comparing.close());
    await comparing.sees('Is this the host key?', seenMs);
    comparing.type(`SHA256:${'A'.repeat(43)}\r`);
    await comparing.sees('The fingerprint does not match the host key.', seenMs);
    comparing.type(`${shown}\r`);
    expect((await comparing.exit(seenMs)).code).toBe(0);
    expect(await desk.known()).toEqual([`[127.0.0.1]:${sshd.port} ${sshd.hostKey}`.trim()]);
    expect((await desk.run(['hosts', 'check', 'nas'])).code).toBe(0);
  });

  it('is asked in the console, where a fingerprint can be pasted', async () => {
    desk = await sitDown(sshd, { nas: { unknown: true } });
    const shown = await fingerprint(sshd.folder);
    const terminal = desk.open();
    onTestFinished(async () => await terminal.close());
    await terminal.sees('Is this the host key of nas?', seenMs);
    await terminal.sees(shown, seenMs);
    terminal.paste(`SHA256:${'A'.repeat(43)}`);
    terminal.press('enter');
    await terminal.sees('The fingerprint does not match the host key.', seenMs);
    terminal.paste(shown);
    terminal.press('enter');
    await terminal.sees('password-vault', seenMs);
    expect(await desk.known()).toHaveLength(1);
    terminal.press('q');
    expect((await terminal.exit(seenMs)).code).toBe(0);
  });
});

describeSshd('a host key that has changed', () => {
  let practice: Awaited<ReturnType<typeof practiceEngine>>;
  let sshd: Sshd;
  beforeAll(async () => {
    practice = await practiceEngine();
    sshd = await startSshd({ env: practice.env });
  });
  afterAll(async () => {
    await sshd?.leave();
    await practice?.[Symbol.asyncDispose]();
  });

  /** Somebody who knows another key of it, among keys of others; ssh looks into two files. */
  async function withOldKey(): Promise<{ desk: RemoteDesk; others: string; elsewhere: string; before: string; now: string }> {
    const before = await fingerprint(sshd.folder);
    const elsewhere = join(sshd.folder, `more-known-${Date.now()}`);
    const desk = await sitDown(sshd, { nas: { config: [`UserKnownHostsFile ${elsewhere} ${join(sshd.folder, 'known')}`] } });
    const others = `# keys of others\nother.example.org ${sshd.hostKey}\n`;
    await writeFile(elsewhere, others);
    await writeFile(join(sshd.folder, 'known'), `${others}[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`);
    await sshd.kill();
    await sshd.changeHostKey();
    await sshd.start();
    return { desk, others, elsewhere, before, now: await fingerprint(sshd.folder) };
  }

  it('is refused, and trust walks to its end: both fingerprints, the name typed, the old line gone out of its file, the new key compared', async () => {
    const { desk, others, elsewhere, before, now } = await withOldKey();
    const file = join(sshd.folder, 'known');
    const refused = await desk.run(['hosts', 'check', 'nas', '--json']);
    expect([refused.code, JSON.parse(refused.stdout).data.hosts[0].fault]).toMatchObject([
      4,
      { code: 'refused.hostKeyChanged', remedy: expect.stringContaining('quarterdeck hosts trust nas') },
    ]);
    const alone = await desk.run(['hosts', 'trust', 'nas', '--yes', '--json']);
    expect(faultOf(alone)).toEqual({ code: 'refused.notConfirmed', exitCode: 4 });
    expect(await readFile(file, 'utf8')).toContain(`[127.0.0.1]:${sshd.port}`);

    const terminal = desk.open(['hosts', 'trust', 'nas']);
    onTestFinished(async () => await terminal.close());
    await terminal.sees('Type nas to remove the old key', seenMs);
    await terminal.sees(`ED25519 ${before}`, seenMs);
    await terminal.sees(`ED25519 ${now}`, seenMs);
    terminal.type('yes\r');
    await terminal.sees('The text does not match "nas"', seenMs);
    terminal.type('nas\r');
    await terminal.sees('Is this the host key?', seenMs);
    expect(await readFile(file, 'utf8')).toBe(others);
    terminal.type(`${now}\r`);
    expect((await terminal.exit(seenMs)).code).toBe(0);
    expect(await readFile(`${file}.old`, 'utf8')).toContain(`[127.0.0.1]:${sshd.port}`);
    // ssh writes a new key into the first of its files.
    expect(await readFile(elsewhere, 'utf8')).toBe(`${others}[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`);
    expect((await desk.run(['hosts', 'check', 'nas'])).code).toBe(0);
    const again = await desk.run(['hosts', 'trust', 'nas']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('No changed host key')]);
  });

  it('is refused in the console too, and trusted there to the end', async () => {
    const { desk, before, now } = await withOldKey();
    const terminal = desk.open();
    onTestFinished(async () => await terminal.close());
    await terminal.sees('has changed', seenMs);
    terminal.type(':');
    terminal.type('trust a new host key');
    await terminal.sees('Trust a new host key', seenMs);
    terminal.press('enter');
    await terminal.sees(/Which host|Type nas/, seenMs);
    if (/Which host/.test(terminal.text())) terminal.press('enter');
    await terminal.sees('Type nas to remove the old key', seenMs);
    await terminal.sees(before, seenMs);
    await terminal.sees(now, seenMs);
    terminal.type('nas');
    terminal.press('enter');
    await terminal.sees('Is this the host key of nas?', seenMs);
    terminal.type('yes');
    terminal.press('enter');
    await terminal.sees('Removed the old key of nas', seenMs);
    terminal.press('enter');
    await terminal.sees('password-vault', seenMs);
    terminal.press('q');
    expect((await terminal.exit(seenMs)).code).toBe(0);
  });
});

describeSshd('a host key that is revoked', () => {
  it('is refused as that, and nothing is forgotten', async () => {
    const sshd = await startSshd();
    onTestFinished(async () => await sshd.leave());
    const desk = await sitDown(sshd, { nas: {} });
    const lines = `@revoked [127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`;
    await writeFile(desk.client.knownHosts, lines);
    const refused = await desk.run(['hosts', 'check', 'nas', '--json']);
    expect([refused.code, JSON.parse(refused.stdout).data.hosts[0].fault.code]).toEqual([4, 'refused.hostKeyRevoked']);
    expect((await desk.run(['hosts', 'trust', 'nas'])).stdout).toContain('No changed host key');
    expect(await readFile(desk.client.knownHosts, 'utf8')).toBe(lines);
  });
});

describeSshd('a console that runs', () => {
  let practice: Awaited<ReturnType<typeof practiceEngine>>;
  let sshd: Sshd;
  beforeAll(async () => {
    practice = await practiceEngine();
    sshd = await startSshd({ env: practice.env });
  });
  afterAll(async () => {
    await sshd?.leave();
    await practice?.[Symbol.asyncDispose]();
  });

  it('shows a host that another terminal adds, with what it asks, and no longer one that is removed there', async () => {
    const desk = await sitDown(sshd, { nas: {}, vps: { config: ['HostKeyAlias vps'] } }, { listed: ['nas'] });
    const terminal = desk.open();
    onTestFinished(async () => await terminal.close());
    await terminal.sees('password-vault', seenMs);
    expect((await desk.run(['hosts', 'add', 'vps', '--unchecked'])).code).toBe(0);
    // In the console nothing was pressed yet: it asks at once.
    await terminal.sees('Is this the host key of vps?', seenMs);
    terminal.type('yes');
    terminal.press('enter');
    await terminal.seesNot('Is this the host key of vps?', seenMs);
    terminal.press('H');
    await terminal.sees(/vps +ssh \d+ ms/, seenMs);
    expect((await desk.run(['hosts', 'remove', 'nas'])).code).toBe(0);
    await terminal.seesNot(/^.{0,4}nas\b/m, seenMs);
    await terminal.sees(/vps +ssh \d+ ms/, seenMs);
    terminal.press('q');
    terminal.press('q');
    expect((await terminal.exit(seenMs)).code).toBe(0);
  });

  it('shows a host that is added in it, connected once', async () => {
    const desk = await sitDown(sshd, { nas: {}, vps: {} }, { listed: ['nas'] });
    const terminal = desk.open();
    onTestFinished(async () => await terminal.close());
    await terminal.sees('password-vault', seenMs);
    const logins = () => sshd.log.split('\n').filter((line) => /^Accepted publickey/.test(line)).length;
    const before = logins();
    terminal.type(':');
    terminal.type('add a host');
    await terminal.sees('Add a host', seenMs);
    terminal.press('enter');
    await terminal.sees('Address', seenMs);
    terminal.type('vps');
    terminal.press('enter');
    await terminal.sees('Name', seenMs);
    terminal.press('enter');
    await terminal.sees('Added vps. The host appears in the console', seenMs);
    terminal.press('enter', 'H');
    await terminal.sees(/vps +ssh \d+ ms/, seenMs);
    expect(logins() - before).toBe(1);
    terminal.press('q');
    terminal.press('q');
    expect((await terminal.exit(seenMs)).code).toBe(0);
  });
});
