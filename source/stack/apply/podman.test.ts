import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planOf, transactionOf } from '../../../test/doubles/deployed-stack.ts';
import { EngineDouble } from '../../../test/doubles/engine-double.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import { mintGrant } from '../../grants/mint.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import type { Plan } from '../model.ts';
import { applyTransaction } from './apply.ts';

/** Containers are files: id to image. One in `sticky` is not removed by a plain rm, one in `stuck` by no rm at all. */
const programs = {
  podman: `#!/bin/sh
cd "$QD_TEST_CONTAINERS" || exit 1
case "$*" in
  'ps -aq'*) ls ;;
  'ps -a --format'*) [ -z "$(ls)" ] || echo running ;;
  'rm -f '*) shift 2; for id; do [ -e "../stuck/$id" ] || rm -f "$id"; done ;;
  'rm '*) shift; for id; do [ -e "../sticky/$id" ] || [ -e "../stuck/$id" ] || rm -f "$id"; done ;;
esac
`,
  // Like the real one: it continues whatever podman reports, and exits with 0.
  'podman-compose': `#!/bin/sh
image=$(sed -n 's/.*image: *//p' compose.yaml)
case " $* " in *' --force-recreate '*) podman rm $(podman ps -aq) ;; esac
[ -n "$(podman ps -aq)" ] || echo "$image" >"$QD_TEST_CONTAINERS/made-$$"
`,
};

describe('podman-compose leaves a container that it should have made again', () => {
  const grant = mintGrant('apply', 'operate', AbortSignal.timeout(60_000));
  let base: string;
  let tool: ComposeTool;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'qd-podman-'));
    for (const folder of ['bin', 'containers', 'sticky', 'stuck', 'stack/web']) await mkdir(join(base, folder), { recursive: true });
    for (const [name, text] of Object.entries(programs)) await writeFile(join(base, 'bin', name), text, { mode: 0o755 });
    const env = { PATH: `${join(base, 'bin')}:${process.env.PATH}`, QD_TEST_CONTAINERS: join(base, 'containers') };
    tool = { kind: 'podman-compose', generation: 1, version: '1.0.3', argv: ['podman-compose'], env };
    await writeFile(join(base, 'stack', 'web', 'compose.yaml'), 'services:\n  main:\n    image: web:1\n');
    await writeFile(join(base, 'containers', 'old'), 'web:1\n');
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  const apply = () => {
    const before = 'services:\n  main:\n    image: web:1\n';
    const planned = planOf('web', join(base, 'stack'), [{ path: 'web/compose.yaml', before, after: before.replace('web:1', 'web:2') }]);
    const plan: Plan = {
      ...planned,
      services: [{ name: 'main', image: 'web:2', before: undefined, change: 'recreate', why: 'another image', present: true }],
    };
    const transaction = transactionOf('run1', [plan]);
    return applyTransaction(grant, openLocalHost(), { transaction, tool, secrets: { web: {} }, engine: new EngineDouble() }, () => {});
  };
  const images = async () => {
    const names = await readdir(join(base, 'containers'));
    return Promise.all(names.map((name) => readFile(join(base, 'containers', name), 'utf8')));
  };

  it('it is taken away with what it does, and made again', async () => {
    await writeFile(join(base, 'sticky', 'old'), '');
    expect((await apply()).state).toBe('applied');
    expect(await images()).toEqual(['web:2\n']);
  });

  it('one that cannot be removed fails the run, and is not taken for the new one', async () => {
    await writeFile(join(base, 'stuck', 'old'), '');
    await expect(apply()).rejects.toMatchObject({
      code: 'failed.apply',
      message: expect.stringContaining('podman does not remove the containers of before: old'),
    });
    expect(await images()).toEqual(['web:1\n']);
  });
});
