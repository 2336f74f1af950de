import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type { Engine, PullProgress } from '../../source/engine/engine.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { describeBeside, describeOnce, type RealEngineKind } from './real-engines.ts';
import { describeWithRegistry } from './registry.ts';

const signal = (limitMs = 60_000) => AbortSignal.timeout(limitMs);
const name = `quarterdeck/pull-${randomBytes(3).toString('hex')}`;
/** docker-rootless lives in a network of its own, which does not reach the registry. */
const kinds: readonly RealEngineKind[] = ['docker', 'podman', 'podman-rootless'];
/** Podman tells the full name. */
const familiar = (tag: string) => tag.replace(/^docker\.io\//, '');

describeWithRegistry('pulling', (registry) => {
  for (const kind of kinds) {
    const group = describeOnce(kind === 'podman-rootless', describeBeside);
    group(kind, 'from a registry', (real) => {
      let engine: Engine;
      const writer = () => engine.writer(mintGrant('test', 'operate', signal()));
      const pulled = async (reference: string): Promise<PullProgress[]> => {
        const reported: PullProgress[] = [];
        await writer().pull(reference, (progress) => reported.push(progress));
        return reported;
      };
      beforeAll(() => {
        engine = openEngine({ url: real.url, origin: 'test' }, openLocalHost());
      });
      afterAll(async () => {
        for (const image of await engine.images(signal())) {
          if (image.tags.some((tag) => tag.includes(name)) || image.labels['qd-pull'] === name)
            await writer()
              .removeImage(image.id)
              .catch(() => undefined);
        }
        engine.close();
      });

      test('an image comes with progress, then a newer one under the same tag, and the older one by its digest', async () => {
        const labels = { 'qd-pull': name, kind };
        const older = await registry.push(`${name}:1`, {
          from: 'busybox:latest',
          files: { 'big.txt': `${kind} ${'x'.repeat(3_000_000)}` },
          labels,
        });
        expect(await engine.image(`${name}:1`, signal())).toBeUndefined();
        const reported = await pulled(`${name}:1`);
        // The root may be here already, the layer with the file is not. Podman counts the configuration too.
        expect(reported.at(-1)).toMatchObject({
          text: expect.stringMatching(kind === 'docker' ? /^2 of 2 layers, / : /^3 of 3 layers/),
          fraction: 1,
        });
        const fractions = reported.flatMap(({ fraction }) => fraction ?? []);
        expect(fractions).toEqual([...fractions].sort((a, b) => a - b));

        const first = await engine.image(`${name}:1`, signal());
        expect(first).toMatchObject({ architecture: expect.stringMatching(/^(amd64|arm64)$/), labels: { kind } });
        expect(first?.tags.map(familiar)).toEqual([`${name}:1`]);
        expect(first?.digests.map(familiar)).toEqual([`${name}@${older}`]);

        const newer = await registry.push(`${name}:1`, { from: 'busybox:latest', files: { 'big.txt': `${kind} second` }, labels });
        expect(newer).not.toBe(older);
        // Podman cannot ask without pulling.
        expect(await engine.registryDigest(`${name}:1`, signal())).toBe(kind === 'docker' ? newer : undefined);
        await pulled(`${name}:1`);
        const second = await engine.image(`${name}:1`, signal());
        expect(second?.id).not.toBe(first?.id);
        expect(second?.digests.map(familiar)).toEqual([`${name}@${newer}`]);

        // The way back: by digest, and by the id that is still here.
        await pulled(`${name}@${older}`);
        expect((await engine.image(`${name}@${older}`, signal()))?.id).toBe(first?.id);
        await writer().tagImage(first?.id ?? '', `${name}:kept`);
        expect((await engine.image(`${name}:kept`, signal()))?.id).toBe(first?.id);
        expect((await engine.image(first?.id ?? '', signal()))?.tags.map(familiar)).toContain(`${name}:kept`);
      });

      test('without a tag the one called latest comes, and no other', async () => {
        await registry.push(`${name}-tags:latest`, { from: 'busybox:latest', labels: { 'qd-pull': name, which: `${kind} latest` } });
        await registry.push(`${name}-tags:old`, { from: 'busybox:latest', labels: { 'qd-pull': name, which: `${kind} old` } });
        await pulled(`${name}-tags`);
        expect((await engine.image(`${name}-tags`, signal()))?.labels).toMatchObject({ which: `${kind} latest` });
        expect(await engine.image(`${name}-tags:old`, signal())).toBeUndefined();
      });

      test('what the registry does not have is said with its reason, whatever the form of the answer', async () => {
        const absent = `${registry.address}/quarterdeck/absent:9`;
        await expect(pulled(absent)).rejects.toMatchObject({
          code: 'engine.pull',
          message: expect.stringMatching(/absent:9 cannot be pulled: .*(manifest unknown|not found)/),
          remedy: expect.stringContaining('Check the name and the tag'),
        });
        await expect(pulled('quarterdeck/nowhere:9')).rejects.toMatchObject({ code: 'engine.pull' });
        if (kind === 'docker') await expect(engine.registryDigest(absent, signal())).rejects.toMatchObject({ code: 'engine.registry' });
      });

      test('a pull ends with its grant', async () => {
        const ending = new AbortController();
        const pulling = engine.writer(mintGrant('test', 'operate', ending.signal)).pull('caddy:latest', () => undefined);
        ending.abort(new Error('enough'));
        await expect(pulling).rejects.toThrow('enough');
      });
    });
  }
});
