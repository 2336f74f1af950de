import { basename } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { openLocalSource } from '../hosts/local-streams.ts';
import { type ObjectName, type ObjectStore, partsAboveBytes, type StoredObject, shown } from '../products/object-storage.ts';
import type { Session } from '../session/session.ts';
import { agoText, bytesText } from '../text/quantities.ts';
import { objectsPutAbout } from './about-objects.ts';
import type { Flow } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { transferLimitMs } from './objects-get.ts';
import { type OpenObjects, objectNamed, openObjects } from './objects-open.ts';
import { fileOf } from './secrets-exchange.ts';

const usage = 'objects put COMPONENT FILE BUCKET/[KEY]';
/** Under which it is kept which upload has begun, for the case that the run is killed. */
const uploadStep = 'upload';

export const objectsPut: Flow = {
  ...objectsPutAbout,
  async run(session, input, world) {
    const [file, to] = wordsUpTo(2, input, { takes: 'One file at a time', remedy: `quarterdeck ${usage}` });
    const written =
      file ??
      (await session.ask.text({
        id: 'file',
        label: 'Which file of this machine?',
        check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
      }));
    const source = await openLocalSource(fileOf(written));
    const word =
      to ??
      (await session.ask.text({
        id: 'object',
        label: 'As which object?',
        help: 'BUCKET/KEY, or BUCKET/ for the name of the file',
        check: (text) => (text.includes('/') ? undefined : 'Write BUCKET/KEY.'),
      }));
    // A folder's name, or a bucket's alone: the file keeps its own.
    const name = objectNamed(
      word.endsWith('/') || !word.includes('/') ? `${word.replace(/\/$/, '')}/${basename(source.path)}` : word,
      usage,
    );
    const open = await openObjects(session, input, world);
    const { store, target } = open;
    await giveUpEarlier(session, open, name);
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
      target,
      limitMs: transferLimitMs,
      run: async (grant) => {
        session.progress({ id: 'put', label: `Storing ${shown(name)}, ${size}` });
        if (inParts) {
          began = store.begin(grant, name);
          const upload = await began;
          await session.note(uploadStep, upload);
          await store.putParts(grant, name, upload, source, (part, parts) =>
            session.progress({ id: 'put', label: `Storing ${shown(name)}, part ${part} of ${parts}`, fraction: part / parts }),
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
    if (!stored) return { message: 'Rehearsed: nothing was stored.' };
    await throwUnlessWhole(store, name, source.sizeBytes, session.signal);
    session.progress({ id: 'put', label: 'Stored', fraction: 1, done: true });
    return {
      message: `${shown(name)} is stored, ${size}.`,
      data: { ...name, sizeBytes: source.sizeBytes, inParts, replaced: there !== undefined },
    };
  },
};

/** What was killed on its way left parts that take room and that nobody sees. */
async function giveUpEarlier(session: Session, { store, target }: OpenObjects, name: ObjectName): Promise<void> {
  for (const upload of new Set(session.noted(uploadStep)))
    await session.act({
      id: `give up ${upload}`,
      right: 'operate',
      request: `DELETE the parts of ${shown(name)} that came before`,
      target,
      run: (grant) => store.giveUp(grant, name, upload),
    });
}

export function replaced({ sizeBytes, changedMs, versioned }: StoredObject): string {
  const age = changedMs === undefined ? '' : `, stored ${agoText(Date.now() - changedMs)}`;
  return versioned
    ? `What is there now (${bytesText(sizeBytes)}${age}) is kept by the bucket as an earlier version.`
    : `What is there now is lost: ${bytesText(sizeBytes)}${age}.`;
}

async function throwUnlessWhole(store: ObjectStore, name: ObjectName, sizeBytes: number, signal: AbortSignal): Promise<void> {
  const found = await store.facts(name, signal);
  if (found?.sizeBytes === sizeBytes) return;
  throw new Fault({
    code: 'failed.objects',
    message: `${shown(name)} is ${found ? `${bytesText(found.sizeBytes)} there, and not ${bytesText(sizeBytes)}` : 'not there'}.`,
    remedy: 'Somebody else may write it too. Store it again.',
  });
}
