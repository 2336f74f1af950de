// Becomes dist/main.js, which loads the rest of the bundle. Node's own compile cache takes a module down before it runs, without the functions in it: each start
// compiled what it needs of React, Ink and the console anew, 40 ms of it. This one is taken down a while after the start, with all that was needed.
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { ownPaths } from '../source/config/paths.ts';

/** The start is over by then. */
const keepAfterMs = 2000;
/** Each of the first runs may have come by something that those before did not need. */
const runsThatKeep = 3;
/** Of other versions of node or of this program. */
const forgottenMs = 7 * 24 * 60 * 60_000;
/** Checksum of what follows, and how many runs have added to it. */
const headBytes = 8;

const cache = join(ownPaths(process.env, process.env.HOME || homedir()).cache, 'compiled');
// V8 itself refuses what another version of it made, or one with other options.
const folder = join(cache, `${process.version}-${process.arch}-${process.env.QUARTERDECK_BUILD}`);
const chunks = join(__dirname, 'chunks');
const trusted = belongsToUs();
const loaded = new Map();
/** Chunk to the file that holds it with others. */
const parts = process.env.QUARTERDECK_PARTS;
const opened = new Map();
/** Scripts that are to be kept, with the number of runs that went into them. */
const unkept = [];

/** What is in there is run: in a folder that somebody else can write to, or behind a symbolic link, nothing of it is. */
function belongsToUs() {
  try {
    const uid = process.getuid();
    return [cache, folder].every((path) => {
      const facts = lstatSync(path);
      return facts.isDirectory() && facts.uid === uid && (facts.mode & 0o022) === 0;
    });
  } catch {
    return false;
  }
}

/** Root with the home of another user leaves nothing there that this user could not remove. */
function inAnothersHome() {
  for (let path = folder; ; path = dirname(path)) {
    try {
      return statSync(path).uid !== process.getuid();
    } catch {
      if (dirname(path) === path) return true;
    }
  }
}

function compiledOf(name) {
  if (!trusted) return undefined;
  try {
    const kept = readFileSync(join(folder, name));
    const compiled = kept.subarray(headBytes);
    // V8 takes it on trust.
    if (compiled.length === 0 || kept.readUInt32LE(0) !== crc32(compiled)) return undefined;
    return { compiled, runs: kept.readUInt32LE(4) };
  } catch {
    return undefined;
  }
}

/** What a file of chunks is when it has run: a function, or one for each chunk that it holds. */
function open(name) {
  const filename = join(chunks, name);
  const kept = compiledOf(name);
  // The build writes ASCII alone.
  const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData: kept?.compiled });
  const runs = kept && !script.cachedDataRejected ? kept.runs : 0;
  if (runs < runsThatKeep) unkept.push({ name, script, runs: runs + 1, before: runs > 0 ? kept.compiled : undefined });
  return script.runInThisContext();
}

function functionOf(name) {
  const part = parts[name];
  if (part === undefined) return open(name);
  if (!opened.has(part)) opened.set(part, open(part));
  return opened.get(part)[name];
}

/** The screen asks for these without using them. */
const late = new Set(['child_process']);

function builtin(name) {
  const bare = name.replace(/^node:/, '');
  return late.has(bare) ? new Proxy({}, { get: (_, key) => require(bare)[key] }) : require(name);
}

function load(name) {
  const known = loaded.get(name);
  if (known) return known.exports;
  const module = { exports: {} };
  loaded.set(name, module);
  const ask = (wanted) => (wanted.startsWith('./') ? load(wanted.slice(2)) : builtin(wanted));
  functionOf(name)(module.exports, ask, module, join(chunks, name), chunks);
  return module.exports;
}

function keepNext() {
  const next = unkept.shift();
  if (!next) return false;
  try {
    if (!trusted) {
      if (process.getuid() === 0 && inAnothersHome()) throw new Error('not ours');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!belongsToUs()) throw new Error('not ours');
    }
    const made = next.script.createCachedData();
    // Under a flood V8 soon throws away what nobody calls any more, and a start is never called again.
    const compiled = next.before && next.before.length > made.length ? next.before : made;
    const head = Buffer.alloc(headBytes);
    head.writeUInt32LE(crc32(compiled), 0);
    head.writeUInt32LE(next.runs, 4);
    const draft = join(folder, `${next.name}.${process.pid}`);
    writeFileSync(draft, Buffer.concat([head, compiled]), { mode: 0o600, flag: 'wx' });
    renameSync(draft, join(folder, next.name));
  } catch {
    // The next start takes as long as this one did.
    unkept.length = 0;
  }
  return true;
}

function forgetOthers() {
  if (!belongsToUs()) return;
  try {
    for (const name of readdirSync(cache)) {
      const other = join(cache, name);
      if (/^v\d+\./.test(name) && other !== folder && statSync(other).mtimeMs < Date.now() - forgottenMs)
        rmSync(other, { recursive: true, force: true });
    }
  } catch {
    // They are in nobody's way.
  }
}

/** A piece at a time, so that a key finds its way in between. */
function keepInPieces() {
  if (keepNext()) setImmediate(keepInPieces).unref();
  else if (!trusted) forgetOthers();
}
setTimeout(keepInPieces, keepAfterMs).unref();
process.on('exit', () => {
  while (keepNext());
});

load(process.env.QUARTERDECK_MAIN);
