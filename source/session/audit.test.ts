import { spawn } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SecretStoreDouble } from '../../test/doubles/secret-store-double.ts';
import { keyFile } from '../secrets/secret-store.ts';
import { type Audit, openAudit } from './audit.ts';
import type { AuditEvent } from './audit-chain.ts';

const identity = { user: 'ada', machine: 'nas' };
let folder: string;
let path: string;
let store: SecretStoreDouble;
let audit: Audit;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-audit-'));
  path = join(folder, 'audit.jsonl');
  store = new SecretStoreDouble();
  audit = openAudit({ path, stores: [store], identity });
});
afterEach(() => rm(folder, { recursive: true }));

function event(act: string): AuditEvent {
  return {
    run: 'r1',
    flow: 'stop',
    act,
    phase: 'after',
    outcome: 'done',
    right: 'operate',
    request: `POST /containers/${act}/stop`,
    host: 'local',
  };
}
async function written(count: number): Promise<string[]> {
  for (let number = 1; number <= count; number++) await audit.record(event(`a${number}`));
  return (await readFile(path, 'utf8')).trimEnd().split('\n');
}
const save = (lines: readonly string[]) => writeFile(path, `${lines.join('\n')}\n`);
const problems = async () => (await audit.verify()).problems.map(({ line, kind }) => ({ line, kind }));

describe('a log that cannot be read', () => {
  test('is said with its path, to whoever reads and to whoever verifies', async () => {
    await mkdir(path);
    await expect(audit.entries()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'config.unreadable',
      where: { file: path },
    });
    await expect(audit.verify()).rejects.toMatchObject({ code: 'config.unreadable', where: { file: path } });
  });
});

describe('audit verify', () => {
  test('an untouched log is whole', async () => {
    await written(5);
    expect(await audit.verify()).toMatchObject({ entries: 5, problems: [], unchecked: 0, keptIn: 'keychain' });
  });

  test('an installation without a log is whole', async () => {
    expect(await audit.verify()).toMatchObject({ entries: 0, problems: [] });
  });

  test.each([0, 2, 4])('a changed entry is named by its line (%i)', async (index) => {
    const lines = await written(5);
    lines[index] = lines[index]?.replace('"outcome":"done"', '"outcome":"failed"') ?? '';
    await save(lines);
    expect(await problems()).toEqual([{ line: index + 1, kind: 'changed' }]);
  });

  test('a change that JSON would not notice is noticed', async () => {
    const lines = await written(3);
    lines[1] = lines[1]?.replace('"n":2,', '"n": 2,') ?? '';
    await save(lines);
    expect(await problems()).toEqual([{ line: 2, kind: 'changed' }]);
  });

  test('a removed entry is named by the line that now stands there', async () => {
    const lines = await written(5);
    await save(lines.toSpliced(1, 2));
    const report = await audit.verify();
    expect(report.problems).toMatchObject([{ line: 2, kind: 'removed', message: 'Entries 2 to 3 are missing before this line.' }]);
  });

  test('the first entry removed', async () => {
    const lines = await written(3);
    await save(lines.slice(1));
    expect(await problems()).toEqual([{ line: 1, kind: 'removed' }]);
  });

  test('an entry put in again elsewhere is named', async () => {
    const lines = await written(4);
    await save(lines.toSpliced(3, 0, lines[1] ?? ''));
    expect(await problems()).toEqual([{ line: 4, kind: 'inserted' }]);
  });

  test('an invented entry is named', async () => {
    const lines = await written(3);
    const invented = (lines[2] ?? '').replace('"n":3', '"n":4').replace('a3', 'a4');
    await save([...lines, invented]);
    expect(await problems()).toEqual([{ line: 4, kind: 'changed' }]);
  });

  test('two entries that changed places are named', async () => {
    const lines = await written(4);
    await save([lines[0], lines[2], lines[1], lines[3]].map(String));
    expect((await problems()).map(({ line }) => line)).toEqual([2, 3]);
  });

  test.each([1, 4])('a log cut short by %i entries is told', async (missing) => {
    const lines = await written(4);
    await writeFile(
      path,
      lines
        .slice(0, 4 - missing)
        .map((line) => `${line}\n`)
        .join(''),
    );
    expect(await problems()).toEqual([{ line: 4 - missing + 1, kind: 'truncated' }]);
  });

  test('a log that is gone is told', async () => {
    await written(2);
    await rm(path);
    expect(await problems()).toEqual([{ line: 1, kind: 'truncated' }]);
  });

  test('going on writing does not heal a log that was cut short', async () => {
    const lines = await written(4);
    await save(lines.slice(0, 2));
    await audit.record(event('later'));
    expect(await problems()).toEqual([{ line: 3, kind: 'removed' }]);
  });

  test('rubbish between entries is named', async () => {
    const lines = await written(3);
    await save(lines.toSpliced(1, 0, 'rubbish'));
    expect(await problems()).toEqual([{ line: 2, kind: 'unreadable' }]);
  });

  test('a line that a crash cut off is no break: the next entry takes its place', async () => {
    await written(2);
    await appendFile(path, '{"n":3,"at":"2026');
    await audit.record(event('a3'));
    expect(await audit.verify()).toMatchObject({ entries: 3, problems: [] });
  });

  test('an entry whose head was not remembered because of a crash is gone on from', async () => {
    await written(1);
    const before = new Map(store.values);
    await audit.record(event('a2'));
    for (const [name, value] of before) store.values.set(name, value);
    expect(await problems()).toEqual([]);
    await audit.record(event('a3'));
    expect(await audit.verify()).toMatchObject({ entries: 3, problems: [] });
  });
});

describe('an end without its newline', () => {
  const beside = () => `${path}.damaged`;

  test('the last entry without its newline stays, and the next follows it', async () => {
    const lines = await written(3);
    await writeFile(path, lines.join('\n'));
    expect(await audit.verify()).toMatchObject({ entries: 3, problems: [] });
    await audit.record(event('a4'));
    expect(await audit.verify()).toMatchObject({ entries: 4, problems: [], damaged: undefined });
  });

  test('what is no entry is moved to a file of its own, readable only by its owner, and reported', async () => {
    const moved: string[] = [];
    audit = openAudit({ path, stores: [store], identity, damageMoved: (to) => moved.push(to) });
    await written(2);
    const torn = Buffer.concat([Buffer.from('{"n":3,"at":"20'), Buffer.from([0, 0xff, 0xfe])]);
    await appendFile(path, torn);
    await audit.record(event('a3'));
    expect(moved).toEqual([beside()]);
    expect(await readFile(beside())).toEqual(Buffer.concat([torn, Buffer.from('\n')]));
    expect((await stat(beside())).mode & 0o777).toBe(0o600);
    expect(await audit.verify()).toMatchObject({ entries: 3, problems: [], damaged: beside() });
    expect(await audit.damaged()).toBe(beside());
  });

  test('a log without any newline is kept whole beside it, and its entries are reported as missing', async () => {
    const lines = await written(3);
    await writeFile(path, lines.join(''));
    await audit.record(event('a4'));
    expect(await readFile(beside(), 'utf8')).toBe(`${lines.join('')}\n`);
    expect(await audit.verify()).toMatchObject({ entries: 1, problems: [{ kind: 'removed' }] });
  });

  test('line separators in a text break no entry', async () => {
    await audit.record({ ...event('a1'), message: 'one\u2028two\u2029three' });
    expect(await audit.verify()).toMatchObject({ entries: 1, problems: [] });
  });
});

describe('who has the account but not the keychain', () => {
  const keyPath = () => join(folder, 'audit-key.json');
  /** The abilities of such an attacker: to write the log, and a key file of their own. */
  const intruder = () => openAudit({ path, stores: [keyFile(keyPath(), 'audit')], identity });
  beforeEach(() => {
    audit = openAudit({ path, stores: [store, keyFile(keyPath(), 'audit')], identity });
  });

  test('cannot begin a chain of their own in its place', async () => {
    await written(5);
    await rm(path);
    for (let number = 1; number <= 7; number++) await intruder().record(event(`forged-${number}`));
    expect(await problems()).toEqual([{ line: 8, kind: 'changed' }]);
    // A later valid entry does not make it valid.
    await audit.record(event('a6'));
    await audit.record(event('a7'));
    expect(await problems()).toEqual([{ line: 8, kind: 'changed' }]);
    expect((await audit.verify()).problems[0]?.message).toContain('written after entry 5');
  });

  test.each([true, false])(
    'cannot go on with a chain of their own and cut off what was there (an honest entry in between: %s)',
    async (between) => {
      const lines = await written(5);
      for (let number = 6; number <= 8; number++) await intruder().record(event(`forged-${number}`));
      if (between) await audit.record(event('a9'));
      const all = (await readFile(path, 'utf8')).trimEnd().split('\n');
      await save(all.slice(lines.length));
      expect(await problems()).toContainEqual({ line: 1, kind: 'removed' });
      await audit.record(event('later'));
      expect(await problems()).toContainEqual({ line: 1, kind: 'removed' });
    },
  );

  test('cannot cut off the end and go on with a key of their own', async () => {
    const lines = await written(5);
    await save(lines.slice(0, 3));
    const other = join(folder, 'other.json');
    const forger = openAudit({ path, stores: [keyFile(other, 'audit')], identity });
    for (let number = 4; number <= 8; number++) await forger.record(event(`forged-${number}`));
    expect(await problems()).toEqual([{ line: 9, kind: 'changed' }]);
    await audit.record(event('a6'));
    expect((await problems()).length).toBeGreaterThan(0);
    await audit.record(event('a7'));
    expect((await problems()).length).toBeGreaterThan(0);
  });

  test('cannot replace entries of the keychain by others once an honest one stands behind them', async () => {
    const lines = await written(3);
    const forger = openAudit({ path, stores: [keyFile(join(folder, 'other.json'), 'audit')], identity });
    await forger.record(event('forged-4'));
    await audit.record(event('a5'));
    expect(await audit.verify()).toMatchObject({ problems: [], unchecked: 1 });
    const all = (await readFile(path, 'utf8')).trimEnd().split('\n');
    // Entries 3 and 4 are replaced by forged ones: their keys are unknown, so only the reference in entry 5 to entry 3 shows it.
    await save(lines.slice(0, 2));
    const again = openAudit({ path, stores: [keyFile(join(folder, 'third.json'), 'audit')], identity });
    await again.record(event('forged-3'));
    await save([...(await readFile(path, 'utf8')).trimEnd().split('\n'), ...all.slice(3)]);
    expect(await problems()).toEqual([{ line: 5, kind: 'changed' }]);
  });

  test('can add entries, which are told apart: the key file alone vouches for them', async () => {
    await written(2);
    await intruder().record(event('forged-3'));
    await audit.record(event('a4'));
    expect(await audit.verify()).toMatchObject({ entries: 4, problems: [], unchecked: 0, byKeyFile: 1 });
  });

  test('cannot make counting impossible with a head of their own', async () => {
    await written(2);
    await intruder().record(event('a3'));
    const stored = JSON.parse(await readFile(keyPath(), 'utf8')) as Record<string, string>;
    const head = Object.keys(stored).find((name) => name.startsWith('audit-head')) ?? '';
    await writeFile(keyPath(), JSON.stringify({ ...stored, [head]: `{"n":9007199254740991,"mac":"${'0'.repeat(64)}"}` }));
    await audit.record(event('a4'));
    expect(await audit.verify()).toMatchObject({ entries: 4, problems: [], away: [{ kind: 'file' }] });
  });

  test('a crash before the head was remembered is no alarm, also twice in a row', async () => {
    await written(1);
    const before = new Map(store.values);
    for (const act of ['a2', 'a3']) {
      await audit.record(event(act));
      for (const [name, value] of before) store.values.set(name, value);
    }
    expect(await problems()).toEqual([]);
    await audit.record(event('a4'));
    expect(await audit.verify()).toMatchObject({ entries: 4, problems: [] });
  });

  test('two machines with a keychain each that share a home raise no alarm', async () => {
    const second = openAudit({ path, stores: [new SecretStoreDouble()], identity: { user: 'ada', machine: 'desk' } });
    for (const one of [audit, second, second, audit, second, audit]) await one.record(event('a'));
    expect(await audit.verify()).toMatchObject({ entries: 6, problems: [], unchecked: 3 });
    expect(await second.verify()).toMatchObject({ entries: 6, problems: [], unchecked: 3 });
  });

  test('a keychain that was set up anew vouches from then on, and the entries before cannot be checked', async () => {
    await written(2);
    const renewed = openAudit({ path, stores: [new SecretStoreDouble()], identity });
    await renewed.record(event('a3'));
    await renewed.record(event('a4'));
    expect(await renewed.verify()).toMatchObject({ entries: 4, problems: [], unchecked: 2 });
  });
});

describe('where the key rests', () => {
  test('two installations that share a keychain do not meet', async () => {
    await written(2);
    const other = openAudit({ path: join(folder, 'other', 'audit.jsonl'), stores: [store], identity });
    await other.record(event('b'));
    expect(await other.verify()).toMatchObject({ entries: 1, problems: [] });
    expect(await audit.verify()).toMatchObject({ entries: 2, problems: [] });
  });

  test('while the keychain is locked the key file vouches, and verify says what it could not check', async () => {
    const file = keyFile(join(folder, 'audit-key.json'), 'audit');
    audit = openAudit({ path, stores: [store, file], identity });
    await audit.record(event('a1'));
    store.locked = true;
    await audit.record(event('a2'));
    await audit.record(event('a3'));
    expect(await audit.verify()).toMatchObject({
      problems: [],
      unchecked: 1,
      keptIn: 'file',
      away: [{ kind: 'keychain', reason: 'The keychain is locked.' }],
    });
    store.locked = false;
    await audit.record(event('a4'));
    expect(await audit.verify()).toMatchObject({ entries: 4, problems: [], unchecked: 0, keptIn: 'keychain', away: [] });
  });

  test('log and key file are readable for their owner alone', async () => {
    const keyPath = join(folder, 'audit-key.json');
    audit = openAudit({ path, stores: [keyFile(keyPath, 'audit')], identity });
    await audit.record(event('a1'));
    for (const own of [path, keyPath]) expect((await stat(own)).mode & 0o777).toBe(0o600);
  });

  test('the key file takes no other secret', async () => {
    await expect(keyFile(join(folder, 'k.json'), 'audit').set('db-password', 'x')).rejects.toMatchObject({ code: 'refused.noKeychain' });
  });

  test('no store at all: nothing is recorded, and that is said', async () => {
    store.locked = true;
    const message = `The audit log ${path} cannot be written: The keychain is locked.`;
    await expect(audit.record({ ...event('a1'), phase: 'before', outcome: undefined })).rejects.toMatchObject({
      ...{ code: 'failed.audit', message },
      remedy: 'Unlock it. Nothing is changed without an audit record.',
    });
    await expect(audit.record(event('a1'))).rejects.toMatchObject({
      ...{ code: 'failed.audit', message },
      remedy: 'Unlock it. The action was carried out, but is not recorded.',
    });
  });
});

describe('several at once', () => {
  test('many writers in one process keep one chain', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => audit.record(event(`a${index}`))));
    expect(await audit.verify()).toMatchObject({ entries: 20, problems: [] });
  });

  test('writers in several processes keep one chain: nothing lost, nothing doubled', async () => {
    const keyPath = join(folder, 'audit-key.json');
    const script = `
      import { openAudit } from ${JSON.stringify(join(import.meta.dirname, 'audit.ts'))};
      import { keyFile } from ${JSON.stringify(join(import.meta.dirname, '../secrets/secret-store.ts'))};
      const audit = openAudit({ path: ${JSON.stringify(path)}, stores: [keyFile(${JSON.stringify(keyPath)}, 'audit')], identity: { user: 'x', machine: 'y' } });
      for (let i = 0; i < 8; i++) await audit.record({ run: 'r', flow: 'f', act: process.argv[1] + '-' + i, phase: 'after', outcome: 'done', right: 'operate', request: 'x', host: 'local' });
    `;
    const ends = await Promise.all(
      ['one', 'two', 'three'].map(
        (name) =>
          new Promise<{ code: number | null; stderr: string }>((resolve) => {
            const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, name], {
              stdio: ['ignore', 'ignore', 'pipe'],
            });
            let stderr = '';
            child.stderr.on('data', (data) => {
              stderr += data;
            });
            child.on('close', (code) => resolve({ code, stderr }));
          }),
      ),
    );
    expect(ends).toEqual(Array(3).fill({ code: 0, stderr: '' }));
    audit = openAudit({ path, stores: [keyFile(keyPath, 'audit')], identity });
    expect(await audit.verify()).toMatchObject({ entries: 24, problems: [] });
    const acts = [];
    for await (const { act } of audit.entries()) acts.push(act);
    expect(acts.sort()).toEqual(['one', 'three', 'two'].flatMap((name) => Array.from({ length: 8 }, (_, index) => `${name}-${index}`)));
  });
});
