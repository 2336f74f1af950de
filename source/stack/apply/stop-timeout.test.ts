import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { EngineDouble } from '../../../test/doubles/engine-double.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import { mintGrant } from '../../grants/mint.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import type { Plan, PlannedService } from '../model.ts';
import { applyTransaction } from './apply.ts';

/** Records its arguments, and prints as `config` the text that a test has stored. */
const dockerCompose = `#!/bin/sh
case " $* " in *' config '*) cat "$QD_TEST_FOLDER/config" 2>/dev/null; exit ;; esac
echo "$*" >>"$QD_TEST_FOLDER/calls"
`;

describe('a compose program that stops containers at once unless it is told how long to wait', () => {
  const grant = mintGrant('apply', 'operate', AbortSignal.timeout(60_000));
  let base: string;
  let tool: ComposeTool;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'qd-timeout-'));
    for (const folder of ['bin', 'stack/web']) await mkdir(join(base, folder), { recursive: true });
    await writeFile(join(base, 'bin', 'docker-compose'), dockerCompose, { mode: 0o755 });
    const env = { PATH: `${join(base, 'bin')}:${process.env.PATH}`, QD_TEST_FOLDER: base };
    tool = { kind: 'docker-compose', generation: 2, version: '2.40.3', argv: ['docker-compose'], env, needsStopTimeout: true };
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  const textWith = (lines = '', image = 'web:1') => `services:\n  main:\n    image: ${image}\n${lines}`;
  const service = (name: string, change: PlannedService['change']): PlannedService => ({
    ...{ name, image: 'web:2', before: undefined, change, why: 'test', present: true },
  });
  const apply = async (before: string, after: string | undefined, overrides: Partial<Plan> = {}) => {
    await writeFile(join(base, 'stack', 'web', 'compose.yaml'), before);
    const plan = planOf('web', join(base, 'stack'), [{ path: 'web/compose.yaml', before, after }], {
      ...{ kind: 'change', services: [service('main', 'recreate')] },
      ...overrides,
    });
    const options = { transaction: transactionOf('run1', [plan]), tool, secrets: { web: {} }, engine: new EngineDouble() };
    await applyTransaction(grant, openLocalHost(), options, () => {});
    const calls = await readFile(join(base, 'calls'), 'utf8');
    return calls
      .trimEnd()
      .split('\n')
      .map((call) => call.replace('-f compose.yaml -p web ', ''));
  };

  it.each([
    ['the file has no grace period', '', '', '', '10'],
    ['it has a shorter one', '', '    stop_grace_period: 1500ms\n', '    stop_grace_period: 1.5s\n', '10'],
    ['it has a longer one', '', "    stop_grace_period: '90s' # a database\n", '    stop_grace_period: 1m30s\n', '90'],
    ['an override file or a variable has one', '', '    stop_grace_period: ${GRACE:-1h}\n', '    stop_grace_period: 1h0m0s\n', '3600'],
    ['one service has a longer one than another', '', '', '    stop_grace_period: 20s\n  b:\n    stop_grace_period: 30s\n', '30'],
    ['what runs until now has a longer one', '    stop_grace_period: 2m\n', '', '', '120'],
    ['it is no duration', '', '    stop_grace_period: 9.5.5s\n', '', '10'],
    ['it has leading zeros', '', '    stop_grace_period: 08s\n', '    stop_grace_period: 8s\n', '10'],
  ])('where %s', async (_, before, after, config, seconds) => {
    await writeFile(join(base, 'config'), `name: web\nservices:\n  a:\n${config}`);
    expect(await apply(textWith(before), textWith(after, 'web:2'))).toEqual([`up --timeout ${seconds} -d --remove-orphans`]);
  });

  it('also what it restarts, and services that leave', async () => {
    const more = '  extra:\n    image: web:1\n    profiles: [more]\n';
    const services = [service('main', 'restart'), service('extra', 'remove')];
    expect(await apply(textWith(more), textWith(more, 'web:2'), { services })).toEqual([
      'stop --timeout 10 extra',
      'rm -s -f extra',
      'up --timeout 10 -d --remove-orphans',
      'restart --timeout 10 main',
    ]);
  });

  it('also what is removed, and what is in the network of another', async () => {
    expect(
      await apply(textWith(), undefined, { kind: 'remove', services: [], joins: { gateway: 'vpn', services: ['main'], starts: false } }),
    ).toEqual(['stop --timeout 10 main', 'rm -s -f main', 'down --timeout 10 --remove-orphans']);
  });

  it('any other is told nothing: each service has its own grace period there', async () => {
    tool = { kind: 'docker-compose', generation: 2, version: '2.40.3', argv: ['docker-compose'], env: tool.env };
    expect(await apply(textWith(), textWith('', 'web:2'))).toEqual(['up -d --remove-orphans']);
  });
});
