import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { request } from 'node:http';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { inject } from 'vitest';
import { describeUnless, requiredInCi } from '../required.ts';
import { runOrThrow } from './scripts.ts';

/** What makes a version of an image differ from the one that `test/real/images` builds. */
export interface ImageChanges {
  /** Added to the image's environment: `{ VAULTWARDEN_VERSION: '1.38.0' }`. */
  env?: Readonly<Record<string, string>>;
  labels?: Readonly<Record<string, string>>;
  /** In the place of what the image runs: `['sh', '-c', 'exit 1']`. Its entrypoint goes too. */
  command?: readonly string[];
  /** Laid over the image, by path without the slash at its beginning. */
  files?: Readonly<Record<string, string>>;
}

/** The registry that the private engines pull docker.io's names from (docker, podman and podman-rootless; docker-rootless does not reach it). */
export interface TestRegistry {
  /** `127.0.0.1:27180`; before a name it reaches the same repositories: `127.0.0.1:27180/library/caddy:latest`. */
  address: string;
  /**
   * Puts one of the images under a name: `push('vaultwarden/server:latest')`, `push('caddy:2', { from: 'caddy:latest', files })`. What had the name before stays
   * there by its digest. Returns the digest.
   */
  push(name: string, changes?: ImageChanges & { from?: string }): Promise<string>;
  /** Takes the name away; a pull of it fails from then on. Other names of the same image go with it. */
  remove(name: string): Promise<void>;
  /** What the name has now, undefined where it is not there. */
  digestOf(name: string): Promise<string | undefined>;
}

interface ImageConfig {
  created?: string;
  config: { Env?: string[]; Cmd?: string[]; Entrypoint?: string[]; Labels?: Record<string, string> };
  rootfs: { type: 'layers'; diff_ids: string[] };
}

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';

/** The registry of this run. Throws with the reason where there is none: use `describeWithRegistry` to skip. */
export function testRegistry(): TestRegistry {
  const offer = inject('registryOffer');
  if ('missing' in offer) throw new Error(`no registry: ${offer.missing}`);
  return openTestRegistry(offer.address, inject('composeFolder'));
}

/** A group of tests that need the registry; skipped with the reason where there is none, failed under QUARTERDECK_REQUIRE_REAL=1. */
export function describeWithRegistry(name: string, tests: (registry: TestRegistry) => void): void {
  const offer = inject('registryOffer');
  const missing = 'missing' in offer ? offer.missing : undefined;
  const address = 'address' in offer ? offer.address : '127.0.0.1:1';
  describeUnless(requiredInCi(missing), name, () => tests(openTestRegistry(address, inject('composeFolder'))));
}

/** @param imagesFolder what `test/real/images path` prints */
export function openTestRegistry(address: string, imagesFolder: string): TestRegistry {
  const archive = `${imagesFolder}/images.tar`;
  const member = (path: string) => runOrThrow(['tar', '-x', '-O', '-f', archive, path]);

  async function ask(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: Readable | Buffer } = {},
  ): Promise<{ status: number; headers: Record<string, string | string[] | undefined>; text: string }> {
    return await new Promise((resolve, reject) => {
      const asking = request(new URL(path, `http://${address}`), { method, headers }, (answer) => {
        buffer(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: bytes.toString() }),
          reject,
        );
      });
      asking.once('error', reject);
      if (body === undefined || Buffer.isBuffer(body)) asking.end(body);
      else body.once('error', reject).pipe(asking);
    });
  }
  const must = async (expected: number, ...[method, path, options]: Parameters<typeof ask>) => {
    const answer = await ask(method, path, options);
    if (answer.status !== expected) throw new Error(`registry: ${method} ${path} was answered with ${answer.status}: ${answer.text}`);
    return answer;
  };

  async function putBlob(repository: string, digest: string, open: () => Readable | Buffer): Promise<void> {
    if ((await ask('HEAD', `/v2/${repository}/blobs/${digest}`)).status === 200) return;
    const { headers } = await must(202, 'POST', `/v2/${repository}/blobs/uploads/`);
    const engineName = new URL(String(headers.location), `http://${address}`);
    engineName.searchParams.set('digest', digest);
    await must(201, 'PUT', `${engineName.pathname}${engineName.search}`, {
      headers: { 'Content-Type': 'application/octet-stream' },
      body: open(),
    });
  }

  const manifestOf = (name: string) => {
    const { repository, tag } = engineNameOf(name);
    return `/v2/${repository}/manifests/${tag}`;
  };
  const digestOf = async (name: string): Promise<string | undefined> => {
    const { status, headers } = await ask('HEAD', manifestOf(name), { headers: { Accept: manifestType } });
    return status === 200 ? String(headers['docker-content-digest']) : undefined;
  };

  return {
    address,
    digestOf,
    async push(name, { from = name, ...changes } = {}) {
      const { repository, tag } = engineNameOf(name);
      const wanted = `docker.io/${engineNameOf(from).repository}:${engineNameOf(from).tag}`;
      const entries = JSON.parse(await member('manifest.json')) as { Config: string; RepoTags: string[]; Layers: string[] }[];
      const entry = entries.find(({ RepoTags }) => RepoTags.includes(wanted));
      if (!entry) throw new Error(`test/real/images builds no ${wanted}`);
      const config = JSON.parse(await member(entry.Config)) as ImageConfig;

      const layers: { digest: string; size: number }[] = [];
      for (const [index, file] of entry.Layers.entries()) {
        // Layers are not compressed, so their digests are those that the image names already.
        const digest = config.rootfs.diff_ids[index] ?? '';
        const { size, open } = await layerIn(archive, file);
        await putBlob(repository, digest, open);
        layers.push({ digest, size });
      }
      if (changes.files) {
        const layer = await layerOf(changes.files);
        const digest = digestOfBytes(layer);
        await putBlob(repository, digest, () => layer);
        layers.push({ digest, size: layer.length });
        config.rootfs.diff_ids.push(digest);
      }
      change(config, changes);
      const configBytes = Buffer.from(JSON.stringify(config));
      const configDigest = digestOfBytes(configBytes);
      await putBlob(repository, configDigest, () => configBytes);
      const { headers } = await must(201, 'PUT', `/v2/${repository}/manifests/${tag}`, {
        headers: { 'Content-Type': manifestType },
        body: Buffer.from(
          JSON.stringify({
            schemaVersion: 2,
            mediaType: manifestType,
            config: { mediaType: 'application/vnd.docker.container.image.v1+json', size: configBytes.length, digest: configDigest },
            layers: layers.map((layer) => ({ mediaType: 'application/vnd.docker.image.rootfs.diff.tar', ...layer })),
          }),
        ),
      });
      return String(headers['docker-content-digest']);
    },
    async remove(name) {
      const digest = await digestOf(name);
      if (digest) await must(202, 'DELETE', `/v2/${engineNameOf(name).repository}/manifests/${digest}`);
    },
  };
}

/** `caddy` is `library/caddy` and `latest`. */
function engineNameOf(name: string): { repository: string; tag: string } {
  const [, repository = name, tag = 'latest'] = /^(.+?)(?::([^/:]+))?$/.exec(name) ?? [];
  return { repository: repository.includes('/') ? repository : `library/${repository}`, tag };
}

function digestOfBytes(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** A file inside the archive, read where it lies. */
async function layerIn(archive: string, file: string): Promise<{ size: number; open: () => Readable }> {
  const listed = await runOrThrow(['tar', '--list', '--verbose', '--block-number', '-f', archive, file]);
  // `block 12: -rw-r--r-- root/root 5345280 2026-11-21 22:35 base.tar`
  const [, block, size] = /^block (\d+): \S+\s+\S+\s+(\d+) /m.exec(listed) ?? [];
  if (block === undefined || size === undefined) throw new Error(`no ${file} in ${archive}: ${listed}`);
  const start = (Number(block) + 1) * 512;
  return { size: Number(size), open: () => createReadStream(archive, { start, end: start + Number(size) - 1 }) };
}

async function layerOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name, mode: 0o644, mtime: new Date(0) }, content);
  archive.finalize();
  return await buffer(archive);
}

function change(config: ImageConfig, { env = {}, labels, command }: ImageChanges): void {
  const kept = (config.config.Env ?? []).filter((one) => !(one.slice(0, one.indexOf('=')) in env));
  config.config.Env = [...kept, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  if (labels) config.config.Labels = { ...config.config.Labels, ...labels };
  if (command) {
    config.config.Cmd = [...command];
    delete config.config.Entrypoint;
  }
}
