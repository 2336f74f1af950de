// Becomes dist/main.js, which loads the chunks. Node's own compile cache writes a module before it runs, without its functions. This one is written after a
// start, with every function that was needed: 40 ms of 160, medians of alternating starts on an idle machine.
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { ownPaths } from '../source/config/paths.ts';

const chunks = join(__dirname, 'chunks');
const cache = join(ownPaths(process.env, process.env.HOME || homedir()).cache, 'compiled');
// V8 refuses what another version of it compiled, or the same version with other options.
const folder = join(cache, `${process.version}-${process.arch}-${process.env.QUARTERDECK_START.build}`);
const files = new Map();
const loaded = new Map();
const unkept = [];

/** The cache is executed: not from a folder that others can write to, or behind a symbolic link. */
const isOurs = () =>
  [cache, folder].every((path) => {
    const facts = lstatSync(path);
    return facts.isDirectory() && facts.uid === process.getuid() && (facts.mode & 0o022) === 0;
  });
const ownerOf = (path) => statSync(path, { throwIfNoEntry: false })?.uid ?? ownerOf(dirname(path));

/** V8 does not verify what it is given. */
function readCompiled(name) {
  try {
    const kept = isOurs() && readFileSync(join(folder, name));
    if (kept && kept.readUInt32LE(0) === crc32(kept.subarray(4))) return { runs: kept.readUInt32LE(4), compiled: kept.subarray(8) };
  } catch {}
  return { runs: 0 };
}

/** Runs a file: an object with the function of each of its chunks. Each of the first three runs may need other functions than those before. */
function open(name) {
  const filename = join(chunks, name);
  const { runs, compiled } = readCompiled(name);
  // The build writes ASCII only.
  const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData: compiled });
  if (script.cachedDataRejected) unkept.push({ name, script, runs: 1 });
  else if (runs < 3) unkept.push({ name, script, runs: runs + 1, before: compiled });
  return script.runInThisContext();
}

/** Loaded when it is used, as hardly any start does: 5 ms. */
const late = { 'node:child_process': new Proxy({}, { get: (_, key) => require('node:child_process')[key] }) };
function load(name) {
  if (loaded.has(name)) return loaded.get(name).exports;
  const module = { exports: {} };
  loaded.set(name, module);
  const file = process.env.QUARTERDECK_START.parts[name] ?? name;
  if (!files.has(file)) files.set(file, open(file));
  const requireFrom = (wanted) => (wanted.startsWith('./') ? load(wanted.slice(2)) : (late[wanted] ?? require(wanted)));
  files.get(file)[name](module.exports, requireFrom, module, join(chunks, name), chunks);
  return module.exports;
}

function keepNext() {
  const { name, script, runs, before } = unkept.shift();
  try {
    // Root leaves nothing in the home of another user, who could not remove it.
    if (process.getuid() === 0 && ownerOf(folder) !== 0) throw new Error('not ours');
    const isNew = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOurs()) throw new Error('not ours');
    for (const other of isNew ? readdirSync(cache).map((build) => join(cache, build)) : [])
      if (statSync(other).mtimeMs < Date.now() - 7 * 24 * 3600_000) rmSync(other, { recursive: true, force: true });
    const now = script.createCachedData();
    // Under a flood V8 soon drops functions that are not called again.
    const kept = Buffer.concat([Buffer.alloc(8), before && before.length > now.length ? before : now]);
    kept.writeUInt32LE(runs, 4);
    kept.writeUInt32LE(crc32(kept.subarray(4)));
    const draft = join(folder, `${name}.${process.pid}`);
    writeFileSync(draft, kept, { mode: 0o600, flag: 'wx' });
    renameSync(draft, join(folder, name));
  } catch {
    // The next start takes as long as this one.
    unkept.length = 0;
  }
}
setTimeout(async () => {
  // A key is served in between.
  for (; unkept.length > 0; await new Promise(setImmediate)) keepNext();
}, 2000).unref();
process.on('exit', () => {
  while (unkept.length > 0) keepNext();
});

load('main.js');
