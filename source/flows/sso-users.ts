import { posix } from 'node:path';
import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { httpPlaceOf, sendTo } from '../products/component-http.ts';
import { MountedFile } from '../products/mounted-file.ts';
import { digestText } from '../products/password-digest.ts';
import { UsersFile, usersProblems } from '../products/sso-users.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { ssoUsersAbout } from './about-sso.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';
import { watchContainer } from './watch-container.ts';

/** After this long without a word of the portal's log nothing more is waited for. */
const reloadLimitMs = 8_000;
/** The portal leaves out what comes within half a second of the last time. */
const againAfterMs = 1_500;
const lookAgainMs = 250;
const startLimitMs = 60_000;

export const ssoUsers: Flow = {
  ...ssoUsersAbout,
  async run(session, input, world) {
    const { id, users } = await openUsers(session, input, world);
    const all = users.users;
    session.show({
      kind: 'table',
      columns: ['user', 'name', 'email', 'groups', 'state', 'password'],
      rows: all.map(({ name, displayName, email, groups, disabled, digest }) =>
        [name, displayName, email, groups.join(', '), disabled ? 'disabled' : 'enabled', digestText(digest) || 'no hash'].map(cleanLine),
      ),
    });
    return {
      message: `${id} has ${countText(all.length, 'user')}, ${all.filter(({ disabled }) => disabled).length} of them disabled.`,
      data: {
        users: all.map(({ name, displayName, email, groups, disabled }) => ({ name, displayName, email, groups: [...groups], disabled })),
      },
    };
  },
};

/** The users file of a portal, as it is now. */
export interface OpenUsers extends RunningPortal {
  file: MountedFile;
  text: string;
  users: UsersFile;
}

/** Throws `refused.directory` where people are in a directory, `config.users` for a file that cannot be read. */
export async function openUsers(session: Session, input: FlowInput, world: FlowWorld): Promise<OpenUsers> {
  const running = await portalOf(session, input, world);
  const { config, id } = running;
  if (config.usersFile === undefined) {
    const [known, other] = world.fleet.snapshot().components.filter(({ host, speaks }) => host === input.place && speaks === 'ldap');
    throw new Fault({
      code: 'refused.directory',
      message: `The users of ${id} are in a directory (${cleanLine(config.directory ?? '')}), not in a file.`,
      remedy: `Change them in that directory.${known && !other ? ` To add one to ${known.id}: quarterdeck ldap add ${known.id}` : ''}`,
    });
  }
  const file = new MountedFile(running, config.usersFile);
  const text = await file.read(session.signal);
  if (text === undefined) {
    throw new Fault({
      code: 'failed.users',
      message: `There is no users file at ${file.shown}.`,
      remedy: 'Look at the volumes of the component, and at authentication_backend.file.path.',
    });
  }
  return { ...running, file, text, users: new UsersFile(text, file.shown) };
}

/** A change of the users file, ready to be written. */
export interface UsersChange {
  /** Unique in the run. */
  id: string;
  /** `add mara to the users`: stands before the name of the file. */
  what: string;
  change: (users: UsersFile) => void;
  /** Does the file that is there say so already? */
  isDone: (users: UsersFile) => boolean | Promise<boolean>;
}

/**
 * Writes a change into the users file and has the portal read it, as the running release does that: by itself where it watches the file, with a restart where
 * not. What was there is kept; it is put back where the portal refuses the new one. Answers how it came into force, undefined in a rehearsal.
 */
export async function changeUsers(
  session: Session,
  open: OpenUsers,
  { id, what, change, isDone }: UsersChange,
): Promise<string | undefined> {
  const { file, text, config, users } = open;
  change(users);
  const after = users.text;
  const problems = usersProblems(users.users, config.userRules);
  if (problems.length > 0) {
    throw new Fault({
      code: 'refused.users',
      message: `The portal would refuse the file: ${problems.join(' ')}`,
      remedy: `Mend it first: ${file.shown}`,
    });
  }
  const target = { host: open.place, component: open.id };
  const kept = posix.join(open.stackFolder, '.quarterdeck', 'kept', open.id);
  const stampBefore = await lastStamp(open.engine, open.container, session.signal);
  const written = await session.act({
    id,
    right: 'operate',
    request: `${what} in ${file.shown}, and keep what is there in ${kept}`,
    target,
    done: async () => isDone(new UsersFile((await file.read(session.signal)) ?? 'users: {}', file.shown)),
    run: async (grant) => {
      if ((await file.read(grant.signal)) !== text) throw changedMeanwhile(file.shown);
      await file.keep(grant, kept, text);
      await file.write(grant, after);
      return true;
    },
  });
  if (session.rehearsing) return undefined;
  if (!config.watches) return restarted(session, open);
  return written ? reloaded(session, open, { id, stampBefore, before: text, after }) : readLast(session, open);
}

/** Somebody else, or the portal itself, has written it while questions were answered. */
function changedMeanwhile(shown: string): Fault {
  return new Fault({
    code: 'failed.changed',
    message: `${shown} was changed meanwhile, by somebody else or by the portal itself. Nothing was written.`,
    remedy: 'Do it again: it begins with what stands there now.',
  });
}

async function reloaded(
  session: Session,
  open: OpenUsers,
  { id, stampBefore, before, after }: { id: string; stampBefore: string; before: string; after: string },
): Promise<string> {
  const { engine, container, config, file } = open;
  session.progress({ id: 'reload', label: 'Waiting until the portal has read the file' });
  let word = config.tellsReloads ? await reloadWord(engine, container, stampBefore, againAfterMs, session.signal) : undefined;
  if (word === undefined && config.tellsReloads) {
    // What came too soon after another change was left out, and is not read later.
    await session.act({
      id: `${id} again`,
      right: 'operate',
      request: `write ${file.shown} once more: the portal did not say that it read it`,
      target: { host: open.place, component: open.id },
      run: (grant) => file.write(grant, after),
    });
    word = await reloadWord(engine, container, stampBefore, reloadLimitMs, session.signal);
  }
  session.progress({ id: 'reload', label: word === 'read' ? 'The portal has read the file' : 'Waited for the portal', done: true });
  if (word === 'read') return 'The portal has read it.';
  if (word === undefined) {
    return `Its log does not tell whether it has read it. If it does not work: quarterdeck restart ${open.id}`;
  }
  await session.act({
    id: `${id} back`,
    right: 'operate',
    request: `put back what was in ${file.shown}: the portal refused the new one`,
    target: { host: open.place, component: open.id },
    run: (grant) => file.write(grant, before),
  });
  throw new Fault({
    code: 'failed.users',
    message: `The portal refused the file, and goes on with the users of before: ${word.refused}.`,
    remedy: `What was there is put back. Look at ${file.shown}.`,
  });
}

/** Of what was written before: by a run that broke off, or by hand. */
async function readLast(session: Session, { engine, container, config, file, id }: OpenUsers): Promise<string> {
  const word = config.tellsReloads ? wordIn(await linesSince(engine, container, container.startedMs, session.signal)) : undefined;
  if (word === undefined || word === 'read') return 'It was in the file already.';
  throw new Fault({
    code: 'failed.users',
    message: `It is in the file already, but the portal refused the file when it read it last: ${word.refused}.`,
    remedy: `Mend ${file.shown}; what was there before is kept beside the stack. What it says then: quarterdeck logs ${id}`,
  });
}

type ReloadWord = 'read' | { refused: string } | undefined;

async function reloadWord(
  engine: Engine,
  container: ContainerDetail,
  stampBefore: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<ReloadWord> {
  for (let waitedMs = 0; ; waitedMs += lookAgainMs) {
    const word = wordIn(await linesAfter(engine, container, stampBefore, signal));
    if (word !== undefined || waitedMs >= limitMs) return word;
    await pauseFor(lookAgainMs, signal);
  }
}

function wordIn(lines: readonly string[]): ReloadWord {
  const last = lines.findLast((line) => /Reloaded successfully|Error occurred during reload/.test(line));
  if (last === undefined) return undefined;
  return last.includes('Reloaded successfully') ? 'read' : { refused: reasonIn(last) };
}

/** `... error="failed to reload: error decoding ..."`, or the same in JSON. */
function reasonIn(line: string): string {
  const found = /\berror="((?:[^"\\]|\\.)*)"|"error":"((?:[^"\\]|\\.)*)"/.exec(line);
  return cleanLine((found?.[1] ?? found?.[2] ?? line).replaceAll('\\"', '"')).replace(/\.$/, '');
}

async function lastStamp(engine: Engine, { id, tty }: ContainerDetail, signal: AbortSignal): Promise<string> {
  let stamp = '';
  for await (const batch of engine.logs(id, { signal, follow: false, tail: 1, tty })) for (const line of batch) stamp = line.stamp;
  return stamp;
}

async function linesAfter(engine: Engine, container: ContainerDetail, stamp: string, signal: AbortSignal): Promise<string[]> {
  return linesSince(engine, container, stamp === '' ? undefined : Date.parse(stamp), signal, stamp);
}

async function linesSince(
  engine: Engine,
  { id, tty }: ContainerDetail,
  sinceMs: number | undefined,
  signal: AbortSignal,
  stamp = '',
): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of engine.logs(id, { signal, follow: false, tty, ...(sinceMs !== undefined && { sinceMs }) }))
    for (const line of batch) if (line.stamp > stamp) lines.push(line.text);
  return lines;
}

/** Where nothing watches the file it is read at the start alone; a signal does not help (reference/authelia.md). */
async function restarted(session: Session, open: OpenUsers): Promise<string> {
  const { engine, container, place, id, file, fleet } = open;
  const before = container.startedMs;
  const again = await session.act({
    id: `restart ${container.name}`,
    right: 'operate',
    request: `POST /containers/${container.name}/restart: this portal reads its users at its start alone`,
    target: { host: place, component: id },
    done: async () => (before ?? 0) > ((await file.writtenMs(session.signal)) ?? Infinity),
    run: async (grant) => {
      await fleet.whileStopping(container.id, () => engine.writer(grant).restart(container.id));
      return true;
    },
  });
  if (!again) return 'It was in the file already, and the portal has started since.';
  const seen = await watchContainer(engine, container.id, (detail) => detail === undefined || detail.startedMs !== before, {
    signal: session.signal,
    limitMs: startLimitMs,
    otherwise: 'was not seen to start anew',
    name: container.name,
  });
  session.progress({ id: 'restart', label: 'Waiting until the portal answers again' });
  if (seen?.state !== 'running' || !(await answersAgain(open, session.signal))) {
    throw new Fault({
      code: 'failed.users',
      message: `The file is written, and ${id} does not answer after its restart.`,
      remedy: `Look at its log: quarterdeck logs ${id}`,
    });
  }
  session.progress({ id: 'restart', label: 'The portal answers again', done: true });
  return 'The portal was restarted, since it does not watch the file (authentication_backend.file.watch).';
}

async function answersAgain({ target, entry }: OpenUsers, signal: AbortSignal): Promise<boolean> {
  const place = httpPlaceOf(target, entry.speaks?.port ?? 'web');
  for (const endMs = performance.now() + startLimitMs; performance.now() < endMs; await pauseFor(lookAgainMs, signal)) {
    const answer = await sendTo(place, { method: 'GET', path: '/api/health' }, signal).catch((thrown: unknown) => {
      signal.throwIfAborted();
      if (thrown instanceof Fault) return undefined;
      throw thrown;
    });
    if (answer?.status === 200) return true;
  }
  return false;
}
