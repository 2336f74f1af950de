import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { vi } from 'vitest';
import { emptyHash, signedHeaders } from '../../source/products/object-storage/client/request-signature.ts';
import { objectStorageContract } from '../contract/object-storage.contract.ts';
import { describeContract } from './describe-contract.ts';
import { findServer, freePort, runServer } from './real-server.ts';
import { runOrThrow } from './scripts.ts';

const { program = '', missing } = findServer('minio');
/** One that `servers` built from its module names Go's version alone: then it is of the day that is pinned there. */
async function version(): Promise<string> {
  const reported = await runOrThrow([program, '--version']);
  if (!reported.includes('DEVELOPMENT')) return reported;
  const pinned = await readFile(resolve(import.meta.dirname, 'servers'), 'utf8');
  return pinned.replace(/^.*minio_version=\S*-(\d{4})(\d\d)(\d\d)\d+-.*$/ms, '$1-$2-$3');
}

describeContract('object-storage', { name: 'MinIO', missing, version }, () => {
  objectStorageContract(async () => {
    const home = await mkdtemp(join(tmpdir(), 'qd-minio-'));
    const [port, page] = [await freePort(), await freePort()];
    const keys = { accessKey: 'storage-root', secretKey: 'geheim-geheim-4711' };
    const server = await runServer(
      program,
      ['server', '--address', `127.0.0.1:${port}`, '--console-address', `127.0.0.1:${page}`, join(home, 'data')],
      {
        cwd: home,
        answers: `http://127.0.0.1:${port}/minio/health/ready`,
        limitMs: 60_000,
        env: {
          PATH: process.env['PATH'],
          HOME: home,
          MINIO_ROOT_USER: keys.accessKey,
          MINIO_ROOT_PASSWORD: keys.secretKey,
          MINIO_UPDATE: 'off',
        },
      },
    );
    const close = async () => {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    };
    const makeBucket = async () => {
      const part = { method: 'PUT', path: '/crate', query: {}, headers: { host: `127.0.0.1:${port}` } };
      const { host: _, ...headers } = signedHeaders(part, { ...keys, region: 'us-east-1' }, emptyHash, Date.now());
      const made = await fetch(`http://127.0.0.1:${port}/crate`, { method: 'PUT', headers });
      const said = await made.text();
      if (!made.ok) throw new Error(`no bucket: ${made.status} ${said}`);
    };
    // It answers before it is ready.
    await vi.waitFor(makeBucket, { timeout: 60_000, interval: 100 }).catch(async (thrown: unknown) => {
      await close();
      throw thrown;
    });
    return { port, ...keys, close };
  });
});
