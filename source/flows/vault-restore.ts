import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { localFiles } from '../hosts/local-files.ts';
import { readSnapshot, restoreSnapshot, snapshotLimitBytes, takeSnapshot } from '../products/raft-snapshot.ts';
import type { SealStatus } from '../products/secrets-manager.ts';
import { VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import { vaultRestoreAbout } from './about-vault.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { fileOf } from './secrets-exchange.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const limitMs = 15 * 60_000;
/** It loads all that it stores anew, and does not answer or stands by meanwhile. */
const settlingMs = 60_000;
const againMs = 500;
/** Under which a run notes that the snapshot is in place, and that what was there is saved. */
const restoredStep = 'restored';
const savedStep = 'saved';

export const vaultRestore: Flow = {
  ...vaultRestoreAbout,
  async run(session, input, world) {
    const written = input.words[0] ?? (await askFile(session));
    const file = fileOf(written);
    const shown = cleanLine(file);
    const bytes = await localFiles.read(file, { signal: session.signal, limitBytes: snapshotLimitBytes });
    if (!bytes) throw new Fault({ code: 'usage.path', message: `There is no file ${shown}.`, remedy: 'Name a snapshot that was taken.' });
    const { index, stateBytes } = await readSnapshot(Buffer.from(bytes), session.signal);
    session.show({
      kind: 'item',
      id: 'snapshot',
      title: shown,
      state: 'ok',
      evidence: `whole, as of index ${index}, ${bytesText(stateBytes)} of state`,
    });
    if (session.noted(restoredStep).length > 0) return { message: `${shown} was put in place before the run broke off.` };
    const vault = await openVaultOf(session, input, world);
    const { component, place, target } = vault;
    if (session.rehearsing) {
      session.show({
        kind: 'text',
        text: `Would ask for a token, save what is there now, and send POST /v1/sys/storage/raft/snapshot with ${shown}`,
      });
      return { message: `Rehearsed: ${component.id} is as it was.` };
    }
    const { token } = await tokenFor(session, world, target, { may: 'update on sys/storage/raft/snapshot' });
    const before = await saveBefore(session, input, vault, token, file);
    const force = input.options['force'] === true;
    await session.act({
      id: 'restore',
      right: 'destroy',
      title: `Put ${shown} in the place of all that ${component.id} holds`,
      request: `POST /v1/sys/storage/raft/snapshot${force ? '-force' : ''} with ${shown}`,
      target,
      consequences: [
        `All that was written there since is lost: secrets, policies, roles, tokens. ${before === undefined ? 'What is there now was not saved.' : `What is there now is in ${before}.`}`,
        'Tokens that were made since open nothing any more, and those of then do again.',
        ...(force ? ['It may be sealed afterwards, and opens with the key shares of the snapshot alone.'] : []),
      ],
      limitMs,
      run: async (grant) => {
        session.progress({ id: 'restore', label: 'Putting the snapshot in place' });
        await restoreSnapshot(grant, place, token, bytes, force);
        await session.note(restoredStep, shown);
      },
    });
    session.progress({ id: 'restore', label: 'In place', done: true });
    const now = await settled(session, vault);
    return outcomeOf(component.id, shown, index, before, now, await isKnown(session, vault, token, now));
  },
};

function askFile(session: Session): Promise<string> {
  return session.ask.text({
    id: 'file',
    label: 'Which snapshot, a file of this machine?',
    help: 'It is looked through before anything is sent.',
    check: (path) => (path.trim() === '' ? 'Name a file.' : undefined),
  });
}

/** A way back, should the snapshot be the wrong one. Undefined where somebody said that none is wanted. */
async function saveBefore(
  session: Session,
  { options }: FlowInput,
  vault: OpenVault,
  token: string,
  file: string,
): Promise<string | undefined> {
  const [saved] = session.noted(savedStep);
  if (saved !== undefined) return saved;
  if (options['without-before'] === true) return undefined;
  const { component, place, target } = vault;
  const usual = `./${component.id}-before-${new Date().toISOString().slice(0, 16).replace(/[T:]/g, '-')}.snap`;
  const written =
    typeof options['before'] === 'string'
      ? options['before']
      : await session.ask.text({
          id: 'before',
          label: 'Save what is there now to which file first?',
          help: 'The way back, should the snapshot be the wrong one. Empty: it is not saved.',
          initial: usual,
        });
  if (written.trim() === '') return undefined;
  const path = fileOf(written);
  const shown = cleanLine(path);
  if (path === file || (await localFiles.facts(path, session.signal)))
    throw new Fault({
      code: 'refused.fileThere',
      message: `${shown} is there already.`,
      remedy: 'Name another file. Nothing was changed.',
    });
  await session.act({
    id: 'save-before',
    right: 'reveal',
    request: `GET /v1/sys/storage/raft/snapshot into ${shown}`,
    target,
    limitMs,
    run: async (grant) => {
      const { bytes } = await takeSnapshot(place, token, grant.signal);
      await localFiles.write(grant, path, bytes, { mode: 0o600 });
      await session.note(savedStep, shown);
    },
  });
  return shown;
}

/** Its state, as soon as it answers again. */
async function settled(session: Session, { manager }: OpenVault): Promise<SealStatus> {
  const endMs = performance.now() + settlingMs;
  while (true) {
    try {
      return await manager.seal(session.signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || session.signal.aborted || performance.now() > endMs) throw thrown;
      session.progress({ id: 'settle', label: 'It does not answer yet; waiting for it' });
      await pauseFor(againMs, session.signal);
    }
  }
}

/** Whether the token that put it there is one of the snapshot too. Undefined where nobody can ask. */
async function isKnown(session: Session, { place }: OpenVault, token: string, { sealed }: SealStatus): Promise<boolean | undefined> {
  if (sealed) return undefined;
  try {
    return (await new VaultTokens(place, token).self(session.signal)) !== undefined;
  } catch (thrown) {
    // A node that elects itself anew stands by for a moment.
    if (session.signal.aborted || !(thrown instanceof Fault)) throw thrown;
    return undefined;
  }
}

function outcomeOf(
  id: string,
  shown: string,
  index: number,
  before: string | undefined,
  { sealed, threshold, shares }: SealStatus,
  known: boolean | undefined,
): FlowOutcome {
  const state = sealed
    ? ` It is sealed: ${threshold} of the ${shares} key shares of the snapshot open it. Where it says that it cannot set up the key, restart it first.`
    : ' It is open.';
  const login = known === false ? ' The token that was given is none of the snapshot: log in anew.' : '';
  return {
    message: `${id} is as it was in ${shown} (index ${index}).${state}${login}`,
    data: { file: shown, index, sealed, ...(before !== undefined && { before }) },
    ...(sealed && {
      todo: {
        component: id,
        items: [{ id: 'unseal', title: 'Unseal it with the shares of the snapshot', detail: `quarterdeck unseal ${id}`, byHand: false }],
      },
    }),
  };
}
