import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { componentView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { ObjectStoreDouble } from '../../../test/doubles/object-store-double.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import type { Flow, FlowInput } from '../../flows/flow.ts';
import { openLocalHost } from '../../hosts/local-host.ts';

const objectsGet = flowOf('objects-get');
const objectsCheck = flowOf('objects-check');
const objectsLink = flowOf('objects-link');
const objectsList = flowOf('objects-list');
const objectsPut = flowOf('objects-put');
const objectsRemove = flowOf('objects-remove');

const { entries } = await wholeCatalog();
const id = 'object-storage';
const component = componentView(id, { project: id, speaks: 's3' });

let fixture: FlowFixture;
let server: ObjectStoreDouble;
beforeEach(async () => {
  [fixture, server] = await Promise.all([FlowFixture.open(), ObjectStoreDouble.open()]);
  fixture.host = openLocalHost();
  fixture.catalog = catalogOf(entries, []);
  fixture.engine.add('minio', {
    labels: { 'com.docker.compose.project': id, 'com.docker.compose.service': 'minio' },
    env: [['MINIO_ROOT_USER', server.accessKey]],
    ports: [{ address: '127.0.0.1', hostPort: server.port, containerPort: 9000, protocol: 'tcp', ipv6: false }],
  });
  await fixture.vault.write(undefined, `local/${id}/MINIO_ROOT_PASSWORD`, server.secretKey, 'generated');
  server.buckets.set('crate', new Map());
});
afterEach(async () => {
  await fixture.host?.close();
  await server.close();
  await fixture.close();
});

function run(
  flow: Flow,
  words: readonly string[] = [],
  options: FlowInput['options'] = {},
  operator = new OperatorDouble('unattended'),
  signal?: AbortSignal,
) {
  fixture.operator = operator;
  return fixture.run(flow, component, { words, options }, signal);
}
const file = async (name: string, content: string) => {
  const path = join(fixture.folder, name);
  await writeFile(path, content);
  return path;
};
const stored = (key: string) => server.buckets.get('crate')?.get(key)?.body.toString();
const largeFile = async () => {
  const path = await file('large', '');
  await truncate(path, 101_000_000);
  return path;
};

describe('objects of the object storage (R40)', () => {
  test('stored, listed, fetched, removed, with what is lost told before', async () => {
    const path = await file('a.txt', 'hello');
    expect(await run(objectsPut, [path, 'crate/'])).toMatchObject({
      message: 'Uploaded crate/a.txt, 5 B.',
      data: { inParts: false, replaced: false },
    });
    expect(stored('a.txt')).toBe('hello');
    expect(await run(objectsList)).toMatchObject({ data: { buckets: [{ name: 'crate' }] } });
    expect(await run(objectsList, ['crate/a'])).toMatchObject({ data: { objects: [{ key: 'a.txt', sizeBytes: 5 }], more: false } });
    const back = join(fixture.folder, 'back.txt');
    expect((await run(objectsGet, ['crate/a.txt', back])).message).toContain('back.txt, 5 B.');
    expect(await readFile(back, 'utf8')).toBe('hello');

    await run(objectsPut, [await file('b.txt', 'other'), 'crate/a.txt']);
    expect(fixture.operator.confirmations[0]).toMatchObject({
      title: 'Replace crate/a.txt',
      consequences: [expect.stringMatching(/^The current object \(5 B, stored .*\) is lost\.$/)],
    });
    expect((await run(objectsRemove, ['crate/a.txt'])).message).toBe('Removed crate/a.txt.');
    expect(fixture.operator.confirmations[0]).toMatchObject({ title: 'Remove crate/a.txt' });
    expect(stored('a.txt')).toBeUndefined();
    await expect(run(objectsRemove, ['crate/a.txt'])).rejects.toMatchObject({ code: 'usage.object' });
  });

  test('over 100 MB goes in parts, joined at the end (R40)', { timeout: 60_000 }, async () => {
    const { data } = await run(objectsPut, [await largeFile(), 'crate/large']);
    expect(data).toMatchObject({ inParts: true, sizeBytes: 101_000_000 });
    expect(server.buckets.get('crate')?.get('large')?.body.length).toBe(101_000_000);
    expect(server.requests.filter((request) => request.includes('partNumber='))).toHaveLength(7);
    expect(server.uploads.size).toBe(0);
    expect(fixture.operator.steps.some(({ label }) => label === 'Uploading crate/large, part 3 of 7')).toBe(true);
  });

  test('a part that is refused, and a cancel in the middle, leave nothing there (R40)', { timeout: 60_000 }, async () => {
    const path = await largeFile();
    server.refuseAt = 4;
    await expect(run(objectsPut, [path, 'crate/large'])).rejects.toMatchObject({
      code: 'failed.objects',
      message: expect.stringContaining('XMinioStorageFull'),
    });
    expect(server.uploads.size).toBe(0);
    const leaving = new AbortController();
    server.holdFromPart = 3;
    server.held = () => leaving.abort();
    await expect(run(objectsPut, [path, 'crate/large'], {}, new OperatorDouble('unattended'), leaving.signal)).rejects.toThrow();
    expect(server.uploads.size).toBe(0);
    expect(stored('large')).toBeUndefined();
  });

  test('what was killed in the middle is given up by whoever goes on with it (R40)', { timeout: 60_000 }, async () => {
    const path = await file('small', 'x');
    const upload = 'upload-of-before';
    server.uploads.set(upload, { bucket: 'crate', key: 'small', parts: new Map() });
    const killed: Flow = {
      ...objectsPut,
      async run(session) {
        await session.note('upload', upload);
        throw new Error('killed');
      },
    };
    await expect(run(killed, [path, 'crate/small'])).rejects.toThrow('killed');
    const [runId = ''] = (await readdir(fixture.journal)).map((name) => name.replace(/\.\w+$/, ''));
    fixture.resume = runId;
    await run(objectsPut, [path, 'crate/small']);
    expect(server.uploads.size).toBe(0);
    expect(stored('small')).toBe('x');
  });

  test('what breaks off on its way here leaves no half file, and the old one stays', async () => {
    await run(objectsPut, [await file('a.txt', 'x'.repeat(100_000)), 'crate/a.txt']);
    const back = await file('back.txt', 'before');
    server.breakAfterBytes = 50_000;
    await expect(run(objectsGet, ['crate/a.txt', back])).rejects.toMatchObject({ code: 'unreachable.component' });
    expect(await readFile(back, 'utf8')).toBe('before');
    expect((await readdir(fixture.folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('names that are none are refused before anything is asked', async () => {
    for (const [flow, words] of [
      [objectsList, ['Not A Bucket']],
      [objectsGet, ['crate']],
      [objectsRemove, ['crate/']],
      [objectsRemove, [`crate/${'x'.repeat(1025)}`]],
    ] as const)
      await expect(run(flow, words)).rejects.toMatchObject({ code: 'usage.object' });
    await expect(run(objectsPut, ['/nowhere/at/all', 'crate/a'])).rejects.toMatchObject({ code: 'usage.path' });
    await expect(run(objectsPut, [fixture.folder, 'crate/a'])).rejects.toMatchObject({ code: 'usage.path' });
    expect(server.requests).toEqual([]);
  });
});

describe('links (R40)', () => {
  const linkOf = () => {
    const secret = fixture.operator.shown.find(({ kind }) => kind === 'secret');
    return secret?.kind === 'secret' ? secret.value : '';
  };
  const check = (link: string) => {
    fixture.operator = new OperatorDouble('unattended');
    return fixture.run(objectsCheck, component, { words: [], options: { stdin: true }, stdin: Buffer.from(`${link}\n`) });
  };
  beforeEach(async () => {
    await run(objectsPut, [await file('a.txt', 'hello'), 'crate/a.txt']);
  });

  test('a link lets in for as long as it was said, and is kept nowhere', async () => {
    const { message, data } = await run(objectsLink, ['crate/a.txt'], { for: '10m' });
    expect(message).toMatch(/^Anyone with the link can read crate\/a\.txt until .* Use --base to set an address that others can reach\.$/);
    expect(Date.parse((data as { until: string }).until) - Date.now()).toBeGreaterThan(9 * 60_000);
    const link = linkOf();
    expect(await (await fetch(link)).text()).toBe('hello');
    expect(await check(link)).toMatchObject({ exitCode: 0, data: { holds: true, asked: true, object: 'crate/a.txt' } });
    const signature = new URL(link).searchParams.get('X-Amz-Signature') ?? '';
    expect(signature).toHaveLength(64);
    const left = [JSON.stringify(await fixture.audited()), JSON.stringify(fixture.operator.shown), JSON.stringify(data)];
    for (const name of await readdir(fixture.journal, { recursive: true }))
      left.push(await readFile(join(fixture.journal, name), 'utf8').catch(() => ''));
    expect(left.join('\n')).not.toContain(signature);
    expect(left.join('\n')).not.toContain(server.secretKey);
  });

  test('past its window it is reported expired, without asking anybody (R40)', async () => {
    await run(objectsLink, ['crate/a.txt'], { for: '1s' });
    const link = linkOf().replace(/X-Amz-Date=\d{8}T\d{6}Z/, 'X-Amz-Date=20260101T000000Z');
    const before = server.requests.length;
    const { message, exitCode } = await check(link);
    expect(message).toMatch(/^The link to crate\/a\.txt expired .* ago\.$/);
    expect(exitCode).toBe(1);
    expect(server.requests.length).toBe(before);
  });

  test('where the server says that it has expired, that counts (R40)', async () => {
    await run(objectsLink, ['crate/a.txt'], { for: '1m' });
    const link = linkOf();
    server.now = () => Date.now() + 61_000;
    expect(await check(link)).toMatchObject({
      exitCode: 1,
      message: 'The link to crate/a.txt has expired according to the server, but not according to the clock of this machine.',
    });
  });

  test('for another address it is signed for that one; nonsense is refused', async () => {
    await run(objectsLink, ['crate/a.txt'], { base: 'https://s3.example.org' });
    expect(linkOf()).toMatch(/^https:\/\/s3\.example\.org\/crate\/a\.txt\?X-Amz-Algorithm=/);
    const link = linkOf();
    expect(await check(link)).toMatchObject({ exitCode: 0 });
    await expect(check(link.replace('s3.example.org', 'other.example.org'))).rejects.toMatchObject({
      code: 'refused.login',
      message: expect.stringContaining('does not accept the signature of the link'),
    });
    await expect(run(objectsLink, ['crate/a.txt'], { base: 'https://example.org/s3' })).rejects.toMatchObject({ code: 'usage.base' });
    for (const written of ['8d', '0s', 'soon'])
      await expect(run(objectsLink, ['crate/a.txt'], { for: written })).rejects.toMatchObject({ code: 'usage.for' });
    await expect(run(objectsLink, ['crate/none'])).rejects.toMatchObject({ code: 'usage.object' });
    await expect(check('https://example.org/a')).rejects.toMatchObject({ code: 'usage.link' });
    await expect(check('no link')).rejects.toMatchObject({ code: 'usage.link' });
  });
});

describe('keys', () => {
  test('are asked for where nobody keeps them, and wrong ones are told', async () => {
    const operator = new OperatorDouble('unattended');
    operator.answers = { 'secret-key': [server.secretKey] };
    expect(await run(objectsList, ['crate'], { 'access-key': server.accessKey }, operator)).toMatchObject({ data: { objects: [] } });
    const wrong = new OperatorDouble('unattended');
    wrong.answers = { 'secret-key': ['something else'] };
    await expect(run(objectsList, ['crate'], { 'access-key': server.accessKey }, wrong)).rejects.toMatchObject({ code: 'refused.login' });
  });
});
