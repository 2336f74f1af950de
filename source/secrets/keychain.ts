import { Fault, messageOf } from '../faults/fault.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Keytar = typeof import('keytar');

/** An unlock prompt of the desktop can block for as long as nobody looks. */
const limitMs = 3_000;

/**
 * One that kept silent is not waited for again so soon: every act would begin with three seconds of nothing. And not at all while a question is still
 * open: each of them holds a thread that node reads files with, and there are four.
 */
const silenceMs = 60_000;
let silent: { fault: Fault; sinceMs: number; open: boolean } | undefined;

const switchedOff = 'QUARTERDECK_KEYCHAIN is off';
const startOne = 'Start a secret service (gnome-keyring, KWallet) in this session.';

/** What libsecret and its providers write when they cannot, in words. Seen with gnome-keyring 42 and libsecret 0.20. */
const reasons: readonly { pattern: RegExp; reason: string; remedy: string; absent?: true }[] = [
  { pattern: /autolaunch D-Bus|Could not connect|Failed to connect/i, reason: 'this session has no D-Bus', remedy: startOne, absent: true },
  {
    pattern: /not provided by any \.service|ServiceUnknown|NameHasNoOwner|Failed to execute program/i,
    reason: 'no program here keeps secrets',
    absent: true,
    remedy: `Install gnome-keyring or KWallet. ${startOne}`,
  },
  {
    pattern: /does not exist at path|No such (?:secret )?collection/i,
    reason: 'it holds no keyring yet',
    remedy: 'Log in at the desktop once, or make a default keyring (seahorse, "New keyring").',
  },
  { pattern: /locked/i, reason: 'it is locked', remedy: 'Unlock it, and try again.' },
  {
    pattern: /prompt (?:was )?dismissed/i,
    reason: 'its prompt was dismissed',
    remedy: 'Unlock it, and try again.',
  },
  {
    pattern: /Failed to load keytar native addon|libsecret/i,
    reason: 'the library libsecret is missing',
    absent: true,
    remedy: 'Install it: apt install libsecret-1-0, dnf install libsecret, pacman -S libsecret.',
  },
];

export function keychainFault(message: string, cause?: unknown): Fault {
  const known = reasons.find(({ pattern }) => pattern.test(message));
  return new Fault({
    code: 'failed.keychain',
    message: `The system's keychain does not answer: ${known?.reason ?? message.replace(/\.$/, '')}.`,
    remedy: known?.remedy ?? `Unlock it, or start a secret service (gnome-keyring, KWallet) in this session.`,
    cause,
  });
}

/** Does this session have no keychain at all? One that is locked or silent may hold something all the same. */
export function isKeychainAbsent(thrown: unknown): boolean {
  const absences = [switchedOff, ...reasons.flatMap(({ reason, absent }) => (absent ? [reason] : []))];
  return thrown instanceof Fault && thrown.code === 'failed.keychain' && absences.some((reason) => thrown.message.endsWith(`${reason}.`));
}

/** Why there can be no keychain here, told without loading anything; undefined when it is worth asking. */
export function keychainAbsence(env: Environment): string | undefined {
  if (env.QUARTERDECK_KEYCHAIN === 'off') return switchedOff;
  if (process.platform !== 'linux') return undefined;
  // The three places where libsecret looks for a bus.
  return env.DBUS_SESSION_BUS_ADDRESS || env.XDG_RUNTIME_DIR || env.DISPLAY ? undefined : 'this session has no D-Bus';
}

/** Of an item, not of a collection: the search that libsecret answers with had found it, and another program removed it before it was read. */
const removedMeanwhile = /(?:No such interface|does not exist at path).*\/collection\/[^/\s]+\/\w/i;
const tries = 8;

/** A second console makes and removes items of its own, to see whether the keychain is unlocked: what fails over one of those is asked again. */
async function overOthers<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === tries || !removedMeanwhile.test(messageOf(error))) throw error;
    }
  }
}

/** Asks the operating system's keychain one thing. Throws `failed.keychain`, after three seconds at most. */
export async function askKeychain<T>(env: Environment, use: (keytar: Keytar) => Promise<T>): Promise<T> {
  const absence = keychainAbsence(env);
  if (absence) throw keychainFault(absence);
  if (silent && (silent.open || performance.now() - silent.sinceMs < silenceMs)) throw silent.fault;
  let timer: NodeJS.Timeout | undefined;
  let late = false;
  let asking: Promise<T> | undefined;
  try {
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late = true;
        reject(new Error(`no answer within ${limitMs / 1000} seconds`));
      }, limitMs);
    });
    tooLong.catch(() => {});
    // A namespace import type-checks but lacks the functions at run time.
    const { default: keytar } = (await import('keytar')) as unknown as { default: Keytar };
    asking = overOthers(() => use(keytar));
    return await Promise.race([asking, tooLong]);
  } catch (error) {
    const fault = keychainFault(messageOf(error), error);
    if (late) {
      const silence = { fault, sinceMs: performance.now(), open: asking !== undefined };
      silent = silence;
      asking?.then(
        () => {
          // Somebody unlocked it: the next question is answered at once.
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

const probeAccount = 'is it unlocked';

/**
 * A locked keyring of the Secret Service answers as if nothing were there. To write is the one question that it answers with a fault: to be asked before
 * "nothing there" is believed.
 */
export async function checkUnlocked(env: Environment, service: string): Promise<void> {
  if (process.platform !== 'linux') return;
  // Under a name of its own: keytar's `findCredentials` of another console would end that process over an item that goes while it looks.
  const probe = `${service}, ${probeAccount}`;
  await askKeychain(env, (keytar) => keytar.setPassword(probe, probeAccount, 'unlocked'));
  await askKeychain(env, (keytar) => keytar.deletePassword(probe, probeAccount));
}
