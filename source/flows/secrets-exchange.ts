import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { KeyValueStore } from '../products/key-value-store.ts';
import type { SecretBundle } from '../secrets/age-file.ts';
import type { SecretName, SecretVault } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { partsOf } from './secret-names.ts';

/** Where an age file is, as it was named. */
export function fileOf(written: string): string {
  return resolve(expandHome(written.trim(), homedir()));
}

export async function readLocal(path: string, session: Session): Promise<Uint8Array> {
  const content = await localFiles.read(path, { signal: session.signal });
  if (content) return content;
  throw new Fault({ code: 'usage.path', message: `There is no file ${path}.`, remedy: 'Name another.' });
}

/** Opens the secrets manager that the flags name; the token is asked for, masked. */
export async function openManager(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
): Promise<{ store: KeyValueStore; folder: string; origin: string } | undefined> {
  const { manager, mount, folder } = input.options;
  if (typeof manager !== 'string') return undefined;
  const { KeyValueStore: Store } = await import('../products/key-value-store.ts');
  const access = {
    host: world.hostOf(input.place),
    address: manager,
    mount: typeof mount === 'string' ? mount.replace(/^\/|\/$/g, '') : 'secret',
  };
  // The address is looked at before anybody is asked for a token.
  new Store({ ...access, token: 'none' });
  const token = await session.ask.secret({
    id: 'token',
    label: `Token for ${manager}`,
    check: (typed) => (typed.trim() === '' ? 'Give one.' : undefined),
  });
  const store = new Store({ ...access, token: token.trim() });
  await store.check(session.signal);
  return { store, folder: typeof folder === 'string' ? folder.replace(/^\/|\/$/g, '') : 'quarterdeck', origin: new URL(manager).origin };
}

/** Everything in the vault, or what belongs to one component, with all versions. */
export async function bundleOf(
  vault: SecretVault,
  component: string | undefined,
  signal: AbortSignal,
  hide: (value: string) => void,
): Promise<SecretBundle> {
  const secrets: SecretBundle['secrets'][number][] = [];
  for (const { name, versions } of await vault.list(signal)) {
    if (component !== undefined && partsOf(name).component !== component) continue;
    const stored = [];
    for (const version of versions) {
      const value = await vault.read(name, signal, version.id);
      if (value === undefined) continue;
      hide(value);
      stored.push({ ...version, value });
    }
    if (stored.length > 0) secrets.push({ name, versions: stored });
  }
  return { schema: 1, exportedAt: new Date().toISOString(), secrets };
}

/** `quarterdeck/nas/password-vault` and `ADMIN_TOKEN`. */
export function storePathOf(folder: string, name: SecretName): { path: string; key: string } {
  const { place, component, variable } = partsOf(name);
  return { path: `${folder}/${place}/${component}`, key: variable };
}

export function nameAt(folder: string, path: string, key: string): SecretName {
  return `${path.slice(folder.length + 1)}/${key}` as SecretName;
}
