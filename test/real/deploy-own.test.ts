import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DeployStage, setStage } from './deploy-stage.ts';
import { etcdPrograms, missingEtcd } from './etcd-programs.ts';
import { statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findFreePort } from './stack.ts';
import { makeStandIn } from './stand-ins.ts';

const id = 'key-store';
const image = 'quay.io/coreos/etcd';
const tag = 'v3.4.23';

/** As somebody writes it after docs/catalog.md: a call, a probe with words of its own, a volume that is backed up. */
const files = {
  [`${id}/component.yaml`]: `
id: ${id}
group: networking
kind: Key-value store of a cluster
deploy: compose
product: {name: etcd, confidence: sure}
services:
  etcd: {main: true, role: server, tagReason: the release that was chosen here}
ports:
  client: {role: gRPC and JSON API, exposure: loopback}
fields:
  - {name: QUOTA_BYTES, type: integer, goes: environment, default: 104857600, meaning: how large its data may become}
volumes:
  /data: {meaning: all that it keeps}
backup:
  - {id: data, volume: data, way: stop}
calls:
  health:
    title: Is it healthy?
    reads: true
    http: {method: GET, port: client, path: /health}
probe:
  call: health
  says:
    - {when: 'status == 200 && has(json.health) && json.health == "true"', word: answering, tone: good}
    - {when: 'status == 503', word: no leader or no room, tone: bad}
`,
  [`${id}/compose.yaml`]: `services:
  etcd:
    image: ${image}:${tag}
    restart: unless-stopped
    command:
      - /usr/local/bin/etcd
      - --data-dir=/data
      - --listen-client-urls=http://0.0.0.0:2379
      - --advertise-client-urls=http://127.0.0.1:2379
    environment:
      ETCD_QUOTA_BACKEND_BYTES: "\${QUOTA_BYTES:-104857600}"
    ports:
      - "\${CLIENT_BIND:-127.0.0.1}:\${CLIENT_PORT:-2379}:2379/tcp"
    volumes:
      - data:/data
volumes:
  data: {}
`,
};

const missing = missingEtcd();

describe.skipIf(missing)(`an entry of one's own${missing ? ` (${missing})` : ''}`, () => {
  describeReal('docker', 'with a real etcd', (engine) => {
    let stage: DeployStage;
    let folder: string;
    beforeAll(async () => {
      stage = await setStage(engine);
      folder = await mkdtemp(join(tmpdir(), 'qd-own-'));
      await makeStandIn(engine, { name: image, tag, from: 'busybox:latest', files: await etcdPrograms(), changes: [] });
      await stage.catalog(files);
    });
    afterAll(async () => {
      await stage?.leave();
      await rm(folder, { recursive: true, force: true });
    });

    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await stage.operator.run(args);
      expect(code, `${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    };
    const etcdctl = async (...words: string[]) => (await run('exec', id, '--', 'etcdctl', ...words)).trim();

    it('is checked, deployed, asked in its own words, backed up, restored and removed like any other', async () => {
      expect(await run('catalog', 'show', id)).toContain('Key-value store of a cluster');
      const port = await findFreePort();
      await run('deploy', id, '--set', `CLIENT_PORT=${port}`, '--yes');
      await statusUntil(stage.operator, id, ({ word }) => word === 'answering');

      expect(await etcdctl('put', 'lamp', 'on')).toBe('OK');
      const backups = join(folder, 'backups');
      await run('backup', id, '--to', backups, '--yes');
      expect(await etcdctl('put', 'lamp', 'off')).toBe('OK');
      await run('restore', id, '--to', backups, '--yes');
      await statusUntil(stage.operator, id, ({ word }) => word === 'answering');
      expect(await etcdctl('get', 'lamp', '--print-value-only')).toBe('on');

      // Full, it says so itself, and only its own word tells.
      await run('deploy', id, '--set', 'QUOTA_BYTES=16384', '--yes');
      await etcdctl('put', 'large', 'x'.repeat(60_000)).catch(() => '');
      await statusUntil(stage.operator, id, ({ word }) => word === 'no leader or no room');

      await run('remove', id, '--data', id, '--yes');
      expect(await stage.container(id, 'etcd')).toBeUndefined();
    }, 300_000);
  });
});
