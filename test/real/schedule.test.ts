import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnless, requiredProgram } from '../required.ts';
import { type DeployFixture, setFixture, webFiles } from './deploy-fixture.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow, runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';

const id = 'scheduled';
const at = '04:45';

describeReal('docker', 'a backup that nobody is there for', (engine) => {
  let fixture: DeployFixture;
  let target: string;

  beforeAll(async () => {
    fixture = await setFixture(engine);
    // A space and a percent sign: cron ends its command at the one, systemd puts something in for the other.
    target = join(fixture.operator.home, '100% of it');
    const saved = 'backup: [{id: data, volume: data, method: copy, why: small files}]\n';
    await fixture.catalog(webFiles(id, { port: await findFreePort(), more: saved }));
    const { code, stdout, stderr } = await fixture.operator.run(['deploy', id, '--yes']);
    expect(code, stdout + stderr).toBe(0);
  });
  afterAll(() => fixture?.leave());
  const schedule = (...more: string[]) => fixture.operator.run(['backup', 'schedule', '--to', target, '--at', at, ...more]);

  it('is made by the line for cron, with nothing but what cron gives it, and its secrets are sealed for who has the key', async () => {
    const recipient = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';
    const { stdout, stderr } = await schedule('--cron', '--recipient', recipient);
    const [, minute, hour, command = ''] = /crontab -e\): (\d+) (\d+) \* \* \* ([\s\S]*)$/.exec(stdout) ?? expect.fail(stdout + stderr);
    expect([minute, hour]).toEqual(['45', '4']);
    // As cron reads it: a line of a crontab, whose percent signs are escaped.
    expect(command.trim()).not.toContain('\n');
    expect(command).not.toMatch(/[^\\]%/);
    const shell = [
      'setsid',
      '--wait',
      'env',
      '-i',
      'HOME=/nonexistent',
      'LOGNAME=root',
      'SHELL=/bin/sh',
      'PATH=/usr/bin:/bin',
      '/bin/sh',
      '-c',
    ];
    const outcome = await runProgram([...shell, command.trim().replaceAll('\\%', '%')], { bare: true, cwd: '/' });
    // All that this engine has is meant, other tests' components too: what becomes of those is not looked at.
    expect(outcome.stdout, outcome.stderr).toContain(`Backed up ${id} to ${target}`);

    const [backup = ''] = await readdir(join(target, id));
    expect(await readdir(join(target, id, backup))).toContain('secrets.age');
    const verified = await fixture.operator.run(['backup', 'verify', id, '--to', target]);
    expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  });

  describeUnless(requiredProgram('systemd-analyze', 'systemd'), 'by a timer', () => {
    let units: string;
    let texts: { service: string; timer: string };
    beforeAll(async () => {
      // Only asked whether it runs: nothing is written in a dry run.
      const [bin = ''] = fixture.operator.env['PATH']?.split(':') ?? [];
      await writeFile(join(bin, 'systemctl'), '#!/bin/sh\n[ "$1" = show-environment ] || exit 1\n', { mode: 0o755 });
      units = join(fixture.operator.home, 'units');
      await mkdir(units);
      const { stdout } = await schedule('--dry-run');
      const [, service = '', timer = ''] =
        /^(# Written by[\s\S]*?)^(# Written by[\s\S]*?^WantedBy=.*\n)/m.exec(stdout) ?? expect.fail(stdout);
      texts = { service, timer };
      await writeFile(join(units, 'quarterdeck-backup-local.service'), service);
      await writeFile(join(units, 'quarterdeck-backup-local.timer'), timer);
    });

    it('whose files systemd finds nothing wrong with', async () => {
      const files = ['service', 'timer'].map((kind) => join(units, `quarterdeck-backup-local.${kind}`));
      const { code, stdout, stderr } = await runProgram(['systemd-analyze', 'verify', '--man=no', ...files], { bare: true });
      const ours = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('quarterdeck-backup'));
      expect(ours).toEqual([]);
      expect(code, stdout + stderr).toBe(0);
    });

    it('which rings once a day, at that time', async () => {
      const [, calendar = ''] = /^OnCalendar=(.*)$/m.exec(texts.timer) ?? [];
      const said = await runOrThrow(['systemd-analyze', 'calendar', '--iterations=3', calendar]);
      expect(
        said
          .match(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g)
          ?.map((time) => time.slice(11))
          .slice(0, 3),
      ).toEqual(Array(3).fill(`${at}:00`));
    });
  });
});
