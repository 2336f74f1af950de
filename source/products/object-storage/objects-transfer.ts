import { basename, posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import type { Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { fileOf } from '../../flows/named-file.ts';
import { replacing } from '../../flows/save-file.ts';
import { openLocalSource, receiveLocal } from '../../hosts/local-streams.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText } from '../../text/quantities.ts';
import { type ObjectName, type ObjectStore, partsAboveBytes, type StoredObject, shown } from './client/object-storage.ts';
import { factsOf, objectNamed, openObjects, promptObject, requireObject } from './objects.ts';

const getUsage = 'objects get COMPONENT BUCKET/KEY [FILE]';
const transferLimitMs = 24 * 3_600_000;

export const objectsGet: Procedure = async (session, input, context) => {
  const [word, written] = wordsUpTo(2, input, { takes: 'Specify one object and one file', remedy: `Usage: quarterdeck ${getUsage}` });
  const name = await requireObject(session, word, getUsage);
  const path = fileOf(written ?? `./${posix.basename(name.key)}`);
  const file = cleanLine(path);
  const replacement = await replacing(path, session.signal);
  const { store } = await openObjects(session, input, context);
  await factsOf(store, name, session.signal);
  const size = await session.act({
    id: 'get',
    right: 'operate',
    ...replacement,
    request: `GET ${shown(name)} into ${file}`,
    limitMs: transferLimitMs,
    run: (grant) =>
      store.read(name, grant.signal, async (body, expected) => {
        let come = 0;
        const size = await receiveLocal(grant, path, body, (count) => {
          come += count;
          const label = `Downloading ${shown(name)}, ${bytesText(come)} of ${bytesText(expected)}`;
          session.progress({ id: 'get', label, fraction: expected === 0 ? 1 : come / expected });
        });
        if (size !== expected)
          throw new Fault('failed.objects', `${shown(name)}: received only ${bytesText(size)} of ${bytesText(expected)}.`, 'Try again.');
        return size;
      }),
  });
  if (size === undefined) return { message: 'Dry run: nothing was downloaded.' };
  session.progress({ id: 'get', label: 'Downloaded', fraction: 1, done: true });
  return { message: `Downloaded ${shown(name)} to ${file}, ${bytesText(size)}.`, data: { file: path, ...name, sizeBytes: size } };
};

const putUsage = 'objects put COMPONENT FILE BUCKET/[KEY]';
/** Step name under which the id of the upload is recorded, in case the run is killed. */
const uploadStep = 'upload';

export const objectsPut: Procedure = async (session, input, context) => {
  const [file, to] = wordsUpTo(2, input, { takes: 'Specify one file at a time', remedy: `Usage: quarterdeck ${putUsage}` });
  const check = (text: string) => (text.trim() === '' ? 'Enter a file path.' : undefined);
  const written = file ?? (await session.ask.text({ id: 'file', label: 'File on this machine', check }));
  const source = await openLocalSource(fileOf(written));
  const word = to ?? (await promptObject(session, 'BUCKET/KEY, or BUCKET/ to use the file name as the key'));
  // The target is a folder or a bucket: the object is named after the file.
  const isFolder = word.endsWith('/') || !word.includes('/');
  const name = objectNamed(isFolder ? `${word.replace(/\/$/, '')}/${basename(source.path)}` : word, putUsage);
  const { store } = await openObjects(session, input, context);
  await giveUpEarlier(session, store, name);
  const there = await store.facts(name, session.signal);
  const inParts = source.sizeBytes > partsAboveBytes;
  let began: Promise<string> | undefined;
  let isJoined = false;
  const size = bytesText(source.sizeBytes);
  const stored = await session.act({
    id: 'put',
    right: there ? 'destroy' : 'operate',
    ...(there && { title: `Replace ${shown(name)}`, consequences: [replaced(there)] }),
    request: `${inParts ? 'POST parts of' : 'PUT'} ${shown(name)}, ${size}`,
    limitMs: transferLimitMs,
    run: async (grant) => {
      session.progress({ id: 'put', label: `Uploading ${shown(name)}, ${size}` });
      if (inParts) {
        began = store.begin(grant, name);
        const upload = await began;
        await session.note(uploadStep, upload);
        await store.putParts(grant, name, upload, source, (part, parts) =>
          session.progress({ id: 'put', label: `Uploading ${shown(name)}, part ${part} of ${parts}`, fraction: part / parts }),
        );
        isJoined = true;
      } else await store.put(grant, name, source);
      return true;
    },
    afterwards: async (grant) => {
      const upload = isJoined ? undefined : await began?.catch(() => undefined);
      if (upload !== undefined) await store.giveUp(grant, name, upload);
    },
  });
  if (!stored) return { message: 'Dry run: nothing was uploaded.' };
  await throwUnlessWhole(store, name, source.sizeBytes, session.signal);
  session.progress({ id: 'put', label: 'Uploaded', fraction: 1, done: true });
  return {
    message: `Uploaded ${shown(name)}, ${size}.`,
    data: { ...name, sizeBytes: source.sizeBytes, inParts, replaced: there !== undefined },
  };
};

/** Aborts uploads of killed runs, whose parts use space that no list shows. */
async function giveUpEarlier(session: Session, store: ObjectStore, name: ObjectName): Promise<void> {
  for (const upload of new Set(session.noted(uploadStep)))
    await session.act({
      id: `abort ${upload}`,
      right: 'operate',
      request: `DELETE the parts of ${shown(name)} left by the interrupted upload`,
      run: (grant) => store.giveUp(grant, name, upload),
    });
}

function replaced({ sizeBytes, changedMs, versioned }: StoredObject): string {
  const age = changedMs === undefined ? '' : `, stored ${agoText(Date.now() - changedMs)}`;
  return versioned
    ? `The bucket keeps the current object (${bytesText(sizeBytes)}${age}) as an earlier version.`
    : `The current object (${bytesText(sizeBytes)}${age}) is lost.`;
}

async function throwUnlessWhole(store: ObjectStore, name: ObjectName, sizeBytes: number, signal: AbortSignal): Promise<void> {
  const found = await store.facts(name, signal);
  if (found?.sizeBytes === sizeBytes) return;
  const message = `${shown(name)} is ${found ? `${bytesText(found.sizeBytes)} on the server instead of ${bytesText(sizeBytes)}` : 'missing on the server'}.`;
  throw new Fault('failed.objects', message, 'Another client may have changed the object. Upload the file again.');
}

const removeUsage = 'objects remove COMPONENT BUCKET/KEY';

export const objectsRemove: Procedure = async (session, input, context) => {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one object at a time', remedy: `Usage: quarterdeck ${removeUsage}` });
  const name = await requireObject(session, word, removeUsage);
  const { store } = await openObjects(session, input, context);
  const there = await factsOf(store, name, session.signal);
  const removed = await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove ${shown(name)}`,
    request: `DELETE ${shown(name)}`,
    consequences: [replaced(there)],
    done: async () => (await store.facts(name, session.signal)) === undefined,
    run: async (grant) => {
      await store.remove(grant, name);
      return true;
    },
  });
  if (!removed) return { message: 'Dry run: nothing was removed.' };
  if (await store.facts(name, session.signal)) {
    const remedy = 'Another client may have stored the object again, or the bucket has object lock enabled.';
    throw new Fault('failed.objects', `${shown(name)} still exists.`, remedy);
  }
  return { message: `Removed ${shown(name)}.`, data: name };
};
