import { posix } from 'node:path';
import { HttpClient, httpEndpointOf } from '../../calls/http-client.ts';
import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { watchContainer } from '../../flows/components/service.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { showList } from '../../flows/list-table.ts';
import { digestText } from '../../secrets/password-digest.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { MountedFile } from './client/mounted-file.ts';
import { UsersFile, usersProblems } from './client/sso-users.ts';
import { portalOf } from './sso-target.ts';

/** Time limit for a line in the portal's log. */
const reloadLimitMs = 8_000;
/** The portal ignores a change within half a second of the previous one. */
const againAfterMs = 1_500;
const lookAgainMs = 250;
const startLimitMs = 60_000;

export const ssoUsers: Procedure = async (session, input, context) => {
  const { id, users } = await openUsers(session, input, context);
  const all = users.users;
  showList(session, all, {
    USER: ({ name }) => cleanLine(name),
    NAME: ({ displayName }) => cleanLine(displayName),
    EMAIL: ({ email }) => cleanLine(email),
    GROUPS: ({ groups }) => cleanLine(groups.join(', ')),
    STATE: ({ disabled }) => (disabled ? 'disabled' : 'enabled'),
    PASSWORD: ({ digest }) => digestText(digest) || 'no hash',
  });
  return {
    message: `${id} has ${countText(all.length, 'user')}, ${all.filter(({ disabled }) => disabled).length} of them disabled.`,
    data: { users: all.map(({ digest: _, ...user }) => user) },
  };
};

export type OpenUsers = Awaited<ReturnType<typeof openUsers>>;

/** Throws `refused.directory` if users are in a directory, `config.users` if the file cannot be read. */
export async function openUsers(session: Session, input: FlowInput, context: FlowContext) {
  const running = await portalOf(session, input, context);
  const { config, id } = running;
  if (config.usersFile === undefined) {
    const [known, other] = context.fleet.snapshot().components.filter(({ host, speaks }) => host === input.engineName && speaks === 'ldap');
    const message = `The users of ${id} are in a directory (${cleanLine(config.directory ?? '')}), not in a file.`;
    const how = known && !other ? ` To add a user to ${known.id}: quarterdeck ldap add ${known.id}` : '';
    throw new Fault('refused.directory', message, `Change users in that directory.${how}`);
  }
  const file = new MountedFile(running, config.usersFile);
  const text = await file.read(session.signal);
  if (text === undefined) {
    const message = `${file.shown} does not exist.`;
    throw new Fault('failed.users', message, 'Check the volumes of the component, and authentication_backend.file.path.');
  }
  return { ...running, file, text, users: new UsersFile(text, file.shown) };
}

interface UsersChange {
  id: string;
  /** Description that precedes the name of the file: `write a new password hash of mara`. By default the id. */
  what?: string;
  change: (users: UsersFile) => void;
  isDone: (users: UsersFile) => boolean | Promise<boolean>;
}

/**
 * Writes a change into the users file, which the portal reads by itself if it watches the file, otherwise with a restart. The previous file
 * is kept, and restored if the portal refuses the new one. Returns how the change took effect; undefined in a dry run.
 */
export async function changeUsers(open: OpenUsers, { id, what = id, change, isDone }: UsersChange): Promise<string | undefined> {
  const { session, file, text, config, users } = open;
  change(users);
  const after = users.text;
  const problems = usersProblems(users.users, config.userRules);
  if (problems.length > 0)
    throw new Fault('refused.users', `The portal would reject the file: ${problems.join(' ')}`, `Fix the file first: ${file.shown}`);
  const kept = posix.join(open.stackFolder, '.quarterdeck', 'kept', open.id);
  const stampBefore = (await logLines(open, { tail: 1 })).at(-1)?.stamp ?? '';
  const written = await session.act({
    id,
    right: 'operate',
    request: `${what} in ${file.shown}, and keep the previous file in ${kept}`,
    done: async () => isDone(new UsersFile((await file.read(session.signal)) ?? 'users: {}', file.shown)),
    run: async (grant) => {
      if ((await file.read(grant.signal)) !== text) {
        const message = `${file.shown} was changed in the meantime. Nothing was written.`;
        throw new Fault('failed.changed', message, 'Run the command again to use the current content.');
      }
      await file.keep(grant, kept, text);
      await file.write(grant, after);
      return true;
    },
  });
  if (session.dryRun) return undefined;
  if (!config.watches) return restarted(open);
  return written ? reloaded(open, { id, stampBefore, after }) : readLast(open);
}

async function reloaded(open: OpenUsers, { id, stampBefore, after }: { id: string; stampBefore: string; after: string }): Promise<string> {
  const { session, config, file, text: before } = open;
  session.progress({ id: 'reload', label: 'Waiting for the portal to read the file' });
  const write = (step: string, request: string, content: string) =>
    session.act({ id: `${id} ${step}`, right: 'operate', request, run: (grant) => file.write(grant, content) });
  let word = config.tellsReloads ? await reloadWord(open, stampBefore, againAfterMs) : undefined;
  if (word === undefined && config.tellsReloads) {
    // A change too soon after another one was ignored, and is not read later.
    await write('again', `write ${file.shown} again, because the portal did not report that it loaded the file`, after);
    word = await reloadWord(open, stampBefore, reloadLimitMs);
  }
  session.progress({ id: 'reload', label: word === 'read' ? 'The portal has read the file' : 'Waited for the portal', done: true });
  if (word === 'read') return 'The portal has read the file.';
  if (word === undefined)
    return `The log of the portal does not show whether it loaded the file. If the change has no effect: quarterdeck restart ${open.id}`;
  await write('back', `restore ${file.shown}, because the portal rejected the new file`, before);
  const message = `The portal rejected the file and keeps the previous users: ${word.refused}.`;
  throw new Fault('failed.users', message, `The previous file is restored. Check ${file.shown}.`);
}

/** The previous change was made by an interrupted run or by hand. Throws `failed.users` if the portal refused it. */
async function readLast(open: OpenUsers): Promise<string> {
  const lines = open.config.tellsReloads ? await logLines(open, { sinceMs: open.container.startedMs }) : [];
  const word = wordIn(lines);
  if (word === undefined || word === 'read') return 'The change was already in the file.';
  const remedy = `Fix ${open.file.shown}; earlier versions are kept in the stack folder. Then check the log: quarterdeck logs ${open.id}`;
  throw new Fault('failed.users', `The file already contains the change, but the portal rejected the file: ${word.refused}.`, remedy);
}

type ReloadWord = 'read' | { refused: string } | undefined;

/** Waits for the portal's log, after this line, to report that it read or refused the file; returns undefined after the limit. */
async function reloadWord(open: OpenUsers, stamp: string, limitMs: number): Promise<ReloadWord> {
  for (let waitedMs = 0; ; waitedMs += lookAgainMs) {
    const lines = await logLines(open, { sinceMs: stamp === '' ? undefined : Date.parse(stamp) });
    const word = wordIn(lines.filter((line) => line.stamp > stamp));
    if (word !== undefined || waitedMs >= limitMs) return word;
    await pauseFor(lookAgainMs, open.session.signal);
  }
}

function wordIn(lines: readonly { text: string }[]): ReloadWord {
  const last = lines.findLast(({ text }) => /Reloaded successfully|Error occurred during reload/.test(text))?.text;
  if (last === undefined) return undefined;
  return last.includes('Reloaded successfully') ? 'read' : { refused: reasonIn(last) };
}

function reasonIn(line: string): string {
  const found = /\berror="((?:[^"\\]|\\.)*)"|"error":"((?:[^"\\]|\\.)*)"/.exec(line);
  return cleanLine((found?.[1] ?? found?.[2] ?? line).replaceAll('\\"', '"')).replace(/\.$/, '');
}

async function logLines({ session, engine, container: { id, tty } }: OpenUsers, some: { sinceMs?: number | undefined; tail?: number }) {
  const lines = [];
  for await (const batch of engine.logs(id, { signal: session.signal, follow: false, tty, ...some })) lines.push(...batch);
  return lines;
}

/** Without watching the file, the portal reads it only at its start; a signal has no effect (reference/authelia.md). */
async function restarted(open: OpenUsers): Promise<string> {
  const { session, context, engine, container, id, file } = open;
  const before = container.startedMs;
  const again = await session.act({
    id: `restart ${container.name}`,
    right: 'operate',
    request: `POST /containers/${container.name}/restart, because this portal loads its users only at startup`,
    done: async () => (before ?? 0) > ((await file.writtenMs(session.signal)) ?? Infinity),
    run: async (grant) => {
      await context.fleet.whileStopping(container.id, () => engine.writer(grant).restart(container.id));
      return true;
    },
  });
  if (!again) return 'The change was already in the file, and the portal has been restarted since.';
  const isAnother = (detail?: ContainerDetail) => detail === undefined || detail.startedMs !== before;
  const limit = { limitMs: startLimitMs, otherwise: 'did not restart' };
  const seen = await watchContainer({ engine, signal: session.signal }, container, isAnother, limit);
  session.progress({ id: 'restart', label: 'Waiting for the portal to respond' });
  if (seen?.state !== 'running' || !(await answersAgain(open))) {
    const message = `The file was written, but ${id} does not respond after the restart.`;
    throw new Fault('failed.users', message, `Check its log: quarterdeck logs ${id}`);
  }
  session.progress({ id: 'restart', label: 'The portal responds again', done: true });
  return 'The portal was restarted, because it does not watch the file (authentication_backend.file.watch).';
}

async function answersAgain({ session: { signal }, target, entry }: OpenUsers): Promise<boolean> {
  const http = new HttpClient(httpEndpointOf(target, entry.api?.port ?? 'web'), { secrets: undefined });
  for (const endMs = performance.now() + startLimitMs; performance.now() < endMs; await pauseFor(lookAgainMs, signal)) {
    const answer = await unlessFault(signal, http.send({ method: 'GET', path: '/api/health' }, signal));
    if (answer?.status === 200) return true;
  }
  return false;
}
