import { Fault, messageOf } from '../faults/fault.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Keytar = typeof import('keytar');

/** An unlock prompt of the desktop can block for as long as the user does not answer it. */
const limitMs = 3_000;

/**
 * A keychain that did not respond is not waited for again for a while: every action would begin with a delay of three seconds. It is not
 * queried at all while a query is still pending: each pending query blocks a thread that Node reads files with, and there are four.
 */
const silenceMs = 60_000;
let silent: { fault: Fault; sinceMs: number; open: boolean } | undefined;

const startOne = 'Start a secret service (gnome-keyring, KWallet) in this session.';

/** `absent`: this session has no keychain at all. A locked or failing one may still hold secrets. */
type KeychainState = 'absent' | 'locked' | 'failing';

class KeychainFault extends Fault {
  constructor(
    readonly state: KeychainState,
    reason: string,
    remedy = 'Unlock the keychain, or start a secret service (gnome-keyring, KWallet).',
    cause?: unknown,
  ) {
    super('failed.keychain', `The system keychain is not available: ${reason}.`, remedy, { cause });
  }
}

/** Error messages of libsecret and its providers, with a description. Seen with gnome-keyring 42 and libsecret 0.20. */
const reasons: readonly { pattern: RegExp; reason: string; remedy: string; state?: KeychainState }[] = [
  {
    pattern: /autolaunch D-Bus|Could not connect|Failed to connect/i,
    reason: 'this session has no D-Bus',
    remedy: startOne,
    state: 'absent',
  },
  {
    pattern: /not provided by any \.service|ServiceUnknown|NameHasNoOwner|Failed to execute program/i,
    reason: 'no secret service is installed',
    state: 'absent',
    remedy: 'Install gnome-keyring or KWallet, and start it in this session.',
  },
  {
    pattern: /does not exist at path|No such (?:secret )?collection/i,
    reason: 'it has no keyring yet',
    remedy: 'Log in to the desktop once, or create a default keyring (seahorse, "New keyring").',
  },
  { pattern: /locked/i, reason: 'it is locked', remedy: 'Unlock the keychain and try again.', state: 'locked' },
  { pattern: /prompt (?:was )?dismissed/i, reason: 'its prompt was dismissed', remedy: 'Unlock the keychain and try again.' },
  {
    pattern: /Failed to load keytar native addon|libsecret/i,
    reason: 'the libsecret library is missing',
    state: 'absent',
    remedy: 'Install libsecret: apt install libsecret-1-0, dnf install libsecret, pacman -S libsecret.',
  },
];

export function keychainFault(message: string, cause?: unknown): Fault {
  const { reason = message.replace(/\.$/, ''), remedy, state = 'failing' } = reasons.find(({ pattern }) => pattern.test(message)) ?? {};
  return new KeychainFault(state, reason, remedy, cause);
}

export const isKeychainAbsent = (thrown: unknown): boolean => thrown instanceof KeychainFault && thrown.state === 'absent';

export const isKeychainLocked = (thrown: unknown): boolean => thrown instanceof KeychainFault && thrown.state === 'locked';

/** Returns why there can be no keychain here, without loading the library; undefined if it is worth a query. */
export function keychainAbsence(env: Environment): Fault | undefined {
  if (env.QUARTERDECK_KEYCHAIN === 'off')
    return new KeychainFault('absent', 'QUARTERDECK_KEYCHAIN is set to off', 'Unset QUARTERDECK_KEYCHAIN.');
  if (process.platform !== 'linux') return undefined;
  // The three locations where libsecret looks for a bus.
  const hasBus = env.DBUS_SESSION_BUS_ADDRESS || env.XDG_RUNTIME_DIR || env.DISPLAY;
  return hasBus ? undefined : new KeychainFault('absent', 'this session has no D-Bus');
}

/** About an item, not about a collection: libsecret's search had found it, and another program removed it before it was read. */
const removedMeanwhile = /(?:No such interface|does not exist at path).*\/collection\/[^/\s]+\/\w/i;
const tries = 8;

/** Another console creates and removes its own items to check whether the keychain is unlocked: such a failure is repeated. */
async function overOthers<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === tries || !removedMeanwhile.test(messageOf(error))) throw error;
    }
  }
}

/** Sends one query to the keychain of the operating system. Throws `failed.keychain`, after three seconds at most. */
export async function queryKeychain<T>(env: Environment, use: (keytar: Keytar) => Promise<T>): Promise<T> {
  const absence = keychainAbsence(env);
  if (absence) throw absence;
  if (silent && (silent.open || performance.now() - silent.sinceMs < silenceMs)) throw silent.fault;
  let timer: NodeJS.Timeout | undefined;
  let late = false;
  let asking: Promise<T> | undefined;
  try {
    const overdue = Promise.withResolvers<never>();
    timer = setTimeout(() => {
      late = true;
      overdue.reject(new Error(`no response within ${limitMs / 1000} seconds`));
    }, limitMs);
    overdue.promise.catch(() => {});
    // A namespace import type-checks but lacks the functions at run time.
    const { default: keytar } = (await import('keytar')) as unknown as { default: Keytar };
    asking = overOthers(() => use(keytar));
    return await Promise.race([asking, overdue.promise]);
  } catch (error) {
    const fault = keychainFault(messageOf(error), error);
    if (late) {
      const silence = { fault, sinceMs: performance.now(), open: asking !== undefined };
      silent = silence;
      asking?.then(
        () => {
          // The user unlocked it: the next query is answered at once.
          if (silent === silence) silent = undefined;
        },
        () => {
          silence.open = false;
        },
      );
    }
    throw fault;
  } finally {
    clearTimeout(timer);
  }
}

const probeAccount = 'unlock check';

/** A locked keyring of the Secret Service answers as if it were empty. Only a write request fails on it, so one is sent. */
export async function checkUnlocked(env: Environment, service: string): Promise<void> {
  if (process.platform !== 'linux') return;
  // With a service name of its own: keytar's `findCredentials` in another console ends its process if an item is removed meanwhile.
  const probe = `${service}, ${probeAccount}`;
  await queryKeychain(env, (keytar) => keytar.setPassword(probe, probeAccount, 'unlocked'));
  await queryKeychain(env, (keytar) => keytar.deletePassword(probe, probeAccount));
}
