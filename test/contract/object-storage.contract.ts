import { createHash } from 'node:crypto';
import { mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Grant } from '../../source/grants/grant.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { openLocalSource, receiveLocal } from '../../source/hosts/local-streams.ts';
import { ObjectStore, partsAboveBytes, tryLink } from '../../source/products/object-storage/client/object-storage.ts';

/** A server under test, with the empty bucket `crate` and these keys for it. */
export interface ObjectServer {
  port: number;
  accessKey: string;
  secretKey: string;
  close(): Promise<void>;
}

/** What our client relies on of the S3 API (R40): run against the double and against a real MinIO. One story, in order. */
export function objectStorageContract(openServer: () => Promise<ObjectServer>): void {
  const host = openLocalHost();
  const signal = AbortSignal.timeout(170_000);
  const grant = { signal } as Grant;
  const bucket = 'crate';
  let server: ObjectServer;
  let folder: string;
  const storeWith = (keys: Partial<{ accessKey: string; secretKey: string }> = {}, now?: () => number) =>
    new ObjectStore(
      { host, address: { host: '127.0.0.1', port: server.port, near: true }, tls: false, shown: 'the server under test' },
      { accessKey: server.accessKey, secretKey: server.secretKey, region: 'us-east-1', ...keys },
      now,
    );
  const write = async (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    await writeFile(path, content);
    return openLocalSource(path);
  };
  const read = async (key: string, file = 'read') => {
    const path = join(folder, file);
    await storeWith().read({ bucket, key }, signal, (body) => receiveLocal(grant, path, body, () => undefined));
    return readFile(path);
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-objects-'));
    server = await openServer();
  });
  afterAll(async () => {
    await server?.close();
    await host.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('the bucket is listed, and is empty (R40)', async () => {
    expect(await storeWith().buckets(signal)).toMatchObject([{ name: bucket }]);
    expect(await storeWith().list(bucket, '', 1000, signal)).toEqual({ objects: [], more: false });
  });

  test('what is stored is read back, byte for byte, whatever it is called (R40)', async () => {
    for (const key of ['a.txt', 'folder/ü ber (1)*!~+&=.txt', "it's 100 %.txt", '世界/👩‍👩‍👧.bin']) {
      const content = Buffer.from(`content of ${key}\0\xff`, 'latin1');
      await storeWith().put(grant, { bucket, key }, await write('sent', content));
      expect(await read(key)).toEqual(content);
      expect(await storeWith().facts({ bucket, key }, signal)).toMatchObject({ key, sizeBytes: content.length });
    }
    const { objects } = await storeWith().list(bucket, 'folder/', 1000, signal);
    expect(objects).toMatchObject([{ key: 'folder/ü ber (1)*!~+&=.txt' }]);
    expect(Math.abs(Date.now() - (objects[0]?.changedMs ?? 0))).toBeLessThan(60_000);
  });

  test('an empty one is one too', async () => {
    await storeWith().put(grant, { bucket, key: 'empty' }, await write('nothing', ''));
    expect(await read('empty')).toEqual(Buffer.alloc(0));
  });

  test('long lists come in pages, and a part of them where no more is wanted (R40)', async () => {
    expect((await storeWith().list(bucket, '', 2, signal)).objects.map(({ key }) => key)).toEqual(['a.txt', 'empty']);
    expect((await storeWith().list(bucket, '', 2, signal)).more).toBe(true);
    expect((await storeWith().list(bucket, '', 1000, signal)).objects).toHaveLength(5);
  });

  test('what is not there is said, object and bucket', async () => {
    expect(await storeWith().facts({ bucket, key: 'none' }, signal)).toBeUndefined();
    await expect(read('none')).rejects.toMatchObject({ code: 'usage.object' });
    await expect(storeWith().list('no-such-crate', '', 1, signal)).rejects.toMatchObject({ code: 'usage.bucket' });
    await expect(storeWith().facts({ bucket: 'no-such-crate', key: 'a' }, signal)).rejects.toMatchObject({ code: 'usage.bucket' });
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('wrong keys, and a clock that is off, are told apart (R40)', async () => {
    await expect(storeWith({ secretKey: 'wrong-wrong' }).buckets(signal)).rejects.toMatchObject({ code: 'refused.login' });
    await expect(storeWith({ accessKey: 'nobody' }).buckets(signal)).rejects.toMatchObject({ code: 'refused.login' });
    await expect(storeWith({}, () => Date.now() - 20 * 60_000).buckets(signal)).rejects.toMatchObject({ code: 'refused.clock' });
  });

  test('removed is removed, and removing it again is no mistake (R40)', async () => {
    await storeWith().remove(grant, { bucket, key: 'a.txt' });
    await storeWith().remove(grant, { bucket, key: 'a.txt' });
    expect(await storeWith().facts({ bucket, key: 'a.txt' }, signal)).toBeUndefined();
  });

  const follow = (url: URL) => tryLink(storeWith().endpoint, url, signal);
  const base = () => new URL(`http://127.0.0.1:${server.port}`);

  test('a link lets in without keys while it holds, and for this object alone (R40)', async () => {
    await storeWith().put(grant, { bucket, key: 'for you/ü.txt' }, await write('sent', 'hello'));
    const { url, untilMs } = storeWith().link({ bucket, key: 'for you/ü.txt' }, 60, base());
    expect(untilMs - Date.now()).toBeGreaterThan(50_000);
    expect(await (await fetch(url)).text()).toBe('hello');
    expect(await follow(new URL(url))).toBeUndefined();
    expect(await follow(new URL(url.replace('for%20you', 'for%20me')))).toMatchObject({ code: 'refused.login' });
    const mine = await fetch(url, { method: 'PUT', body: 'mine now' });
    expect(await mine.text()).toContain('SignatureDoesNotMatch');
    expect(mine.status).toBe(403);
  });

  test('behind another name it is signed for that one', async () => {
    const { url } = storeWith().link({ bucket, key: 'for you/ü.txt' }, 60, new URL('https://s3.example.org'));
    expect(await follow(new URL(url))).toBeUndefined();
    expect(await follow(new URL(url.replace('s3.example.org', 'other.example.org')))).toMatchObject({ code: 'refused.login' });
  });

  test('past its window the server says that it has expired, and we say so (R40)', async () => {
    const { url } = storeWith({}, () => Date.now() - 61_000).link({ bucket, key: 'for you/ü.txt' }, 60, base());
    expect(await follow(new URL(url))).toMatchObject({ code: 'refused.expired' });
  });

  test('101 MB go in parts, from a file and with flat memory, and come back the same (R40)', { timeout: 170_000 }, async () => {
    const path = join(folder, 'large');
    await writeFile(path, '');
    await truncate(path, 101_000_000);
    // Parts that differ: one in the place of another would be seen.
    await using file = await open(path, 'r+');
    for (let at = 0; at < 101_000_000; at += 9_999_991) await file.write(`here is ${at}`, at);
    const source = await openLocalSource(path);
    expect(source.sizeBytes).toBeGreaterThan(partsAboveBytes);
    const key = 'large.bin';
    const before = process.memoryUsage();
    let most = 0;
    const upload = await storeWith().begin(grant, { bucket, key });
    const parts: string[] = [];
    await storeWith().putParts(grant, { bucket, key }, upload, source, (part, all) => {
      parts.push(`${part} of ${all}`);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before.arrayBuffers);
    });
    expect(parts.at(-1)).toBe('7 of 7');
    expect(await storeWith().facts({ bucket, key }, signal)).toMatchObject({ sizeBytes: 101_000_000 });
    const back = join(folder, 'back');
    let got = 0;
    await storeWith().read({ bucket, key }, signal, (body, size) => {
      expect(size).toBe(101_000_000);
      return receiveLocal(grant, back, body, (count) => {
        got += count;
      });
    });
    expect(got).toBe((await stat(back)).size);
    const sum = async (name: string) =>
      createHash('sha256')
        .update(await readFile(name))
        .digest('hex');
    expect(await sum(back)).toBe(await sum(path));
    if (server.close.name !== 'closeDouble') expect(most).toBeLessThan(48 * 1024 * 1024);
  });

  test('an upload that is given up leaves nothing, and giving it up again is no mistake (R40)', async () => {
    const name = { bucket, key: 'given up' };
    const upload = await storeWith().begin(grant, name);
    await storeWith().giveUp(grant, name, upload);
    await storeWith().giveUp(grant, name, upload);
    await expect(storeWith().putParts(grant, name, upload, await write('sent', 'x'), () => undefined)).rejects.toMatchObject({
      code: expect.stringMatching(/^(failed|usage)\./),
    });
    expect(await storeWith().facts(name, signal)).toBeUndefined();
  });
}
