import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { receiveLocal } from '../hosts/local-streams.ts';
import { shown } from '../products/object-storage.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import { objectsGetAbout } from './about-objects.ts';
import type { Flow } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { factsOf, objectAsked, openObjects } from './objects-open.ts';
import { fileOf } from './secrets-exchange.ts';

const usage = 'objects get COMPONENT BUCKET/KEY [FILE]';
export const transferLimitMs = 24 * 3_600_000;

export const objectsGet: Flow = {
  ...objectsGetAbout,
  async run(session, input, world) {
    const [word, written] = wordsUpTo(2, input, { takes: 'One object into one file', remedy: `quarterdeck ${usage}` });
    const name = await objectAsked(session, word, usage);
    const path = fileOf(written ?? `./${posix.basename(name.key)}`);
    const file = cleanLine(path);
    const there = await localFiles.facts(path, session.signal);
    if (there && there.kind !== 'file')
      throw new Fault({ code: 'usage.path', message: `${file} is no plain file.`, remedy: `Name a file: quarterdeck ${usage}` });
    const { store, target } = await openObjects(session, input, world);
    await factsOf(store, name, session.signal);
    const size = await session.act({
      id: 'get',
      right: there ? 'destroy' : 'operate',
      ...(there && { title: `Replace ${file}`, consequences: [`What is in it now is lost: ${bytesText(there.sizeBytes)}.`] }),
      request: `GET ${shown(name)} into ${file}`,
      target,
      limitMs: transferLimitMs,
      run: (grant) =>
        store.read(name, grant.signal, async (body, expected) => {
          let come = 0;
          const size = await receiveLocal(grant, path, body, (count) => {
            come += count;
            session.progress({
              id: 'get',
              label: `Fetching ${shown(name)}, ${bytesText(come)} of ${bytesText(expected)}`,
              fraction: expected === 0 ? 1 : come / expected,
            });
          });
          if (size !== expected)
            throw new Fault({
              code: 'failed.objects',
              message: `${shown(name)} came with ${bytesText(size)} of ${bytesText(expected)}.`,
              remedy: 'Fetch it again.',
            });
          return size;
        }),
    });
    if (size === undefined) return { message: 'Rehearsed: nothing was fetched.' };
    session.progress({ id: 'get', label: 'Fetched', fraction: 1, done: true });
    return { message: `${file}: ${bytesText(size)}.`, data: { file: path, ...name, sizeBytes: size } };
  },
};
