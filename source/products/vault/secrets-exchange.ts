import { Fault } from '../../faults/fault.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionOf, optionsOf } from '../../flows/flow-options.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { replacing } from '../../flows/save-file.ts';
import { partsOf } from '../../flows/secrets/secret-names.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { AgeFor, AgeOpens, SecretBundle } from '../../secrets/age-file.ts';
import { valueProblem } from '../../secrets/backend.ts';
import type { SecretEntry, SecretName, SecretStorage } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, countText } from '../../text/quantities.ts';
import { vaultEndpointAt, vaultFault } from './client/vault-api.ts';
import { VaultPaths } from './client/vault-paths.ts';

const leastPassphrase = 12;

export const secretsExport: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const only = optionOf(input, 'component');
  const entries = (await vault.list(session.signal)).filter(({ name }) => only === undefined || partsOf(name).component === only);
  const whose = only === undefined ? '' : ` of ${cleanLine(only)}`;
  if (entries.length === 0) return { message: `No secrets${whose} are stored in ${vault.where}.` };
  const collect = () => bundleOf(session, vault, only);
  const manager = await openManager(session, input, context);
  return manager ? toManager(session, manager, collect) : toFile(session, input, collect);
};

async function toFile(session: Session, input: FlowInput, collect: () => Promise<SecretBundle>): Promise<FlowOutcome> {
  const path = fileOf(await fileWord(session, input.words[0], { label: 'Export file', initial: './secrets.age' }));
  const replaced = await replacing(path, session.signal);
  const to = await recipientsOf(session, input);
  const answer = await session.act({
    id: 'export',
    right: 'reveal',
    ...replaced,
    request: `write the encrypted secrets to ${cleanLine(path)}`,
    run: async (grant) => {
      const { sealAge } = await import('../../secrets/age-file.ts');
      const bundle = await collect();
      const sealed = Buffer.from(await sealAge(bundle, to));
      await localFiles.write(grant, path, sealed, { mode: 0o600 });
      return { secrets: bundle.secrets.length, sizeBytes: sealed.length };
    },
  });
  if (!answer) return { message: 'Dry run: nothing was written.' };
  const opens = 'passphrase' in to ? 'the passphrase' : 'a key it was encrypted for';
  return {
    message: `Exported ${countText(answer.secrets, 'secret')} to ${cleanLine(path)}, ${bytesText(answer.sizeBytes)}. Decrypt the file with ${opens}, in Quarterdeck or with age.`,
    data: answer,
  };
}

async function recipientsOf(session: Session, input: FlowInput): Promise<AgeFor> {
  const recipients = optionsOf(input, 'to') ?? [];
  const wrong = recipients.find((recipient) => !/^age1[a-z0-9]+$/.test(recipient));
  if (wrong !== undefined) {
    const [message, remedy] = /^age-secret-key/i.test(wrong)
      ? ['The value of --to is a secret key. Pass the public key.', 'The shell may have saved the key. Create a new one.']
      : [`--to must be an age public key, not "${cleanLine(wrong)}".`, 'Public keys begin with age1; see age-keygen -y.'];
    throw new Fault('usage.recipient', message, remedy);
  }
  if (recipients.length > 0) return { recipients };
  const passphrase = await session.ask.secret({
    id: 'passphrase-of-file',
    label: 'Passphrase for the file',
    help: `Anyone who knows the passphrase can read all exported secrets. Use at least ${leastPassphrase} characters, or --to with a public key.`,
    check: (typed) => ([...typed].length < leastPassphrase ? `Enter at least ${leastPassphrase} characters.` : undefined),
  });
  const again = await session.ask.secret({ id: 'passphrase-again', label: 'Repeat the passphrase' });
  if (again !== passphrase) throw new Fault('usage.answer', 'The passphrases do not match.', 'Nothing was written. Run the command again.');
  return { passphrase };
}

async function toManager(session: Session, store: SecretsFolder, collect: () => Promise<SecretBundle>): Promise<FlowOutcome> {
  const { paths: client, engine, folder, origin } = store;
  const answer = await session.act({
    id: 'export',
    right: 'reveal',
    request: `write the newest version of the secrets to ${cleanLine(origin)}, below ${cleanLine(folder)}/; other keys there are kept`,
    run: async (grant) => {
      const { secrets } = await collect();
      const paths = new Map<string, Record<string, string>>();
      for (const { name, versions } of secrets) {
        const { engineName, component, variable } = partsOf(name);
        const path = `${folder}/${engineName}/${component}`;
        const newest = versions.at(-1);
        if (newest) paths.set(path, { ...paths.get(path), [variable]: newest.value });
      }
      let changed = 0;
      for (const [path, values] of paths) {
        const there = await readEntry(store, path, grant.signal);
        if (Object.entries(values).every(([key, value]) => there.values[key] === value)) continue;
        await client.write(grant, engine, `${engine.mount}${path}`, { values: { ...there.all, ...values }, version: there.version });
        changed++;
      }
      return { secrets: secrets.length, paths: paths.size, changed };
    },
  });
  if (!answer) return { message: 'Dry run: nothing was written.' };
  const { secrets, paths, changed } = answer;
  return {
    message: `Exported ${countText(secrets, 'secret')} to ${countText(paths, 'path')} at ${cleanLine(origin)}; ${changed === 0 ? 'all paths were up to date' : `${countText(changed, 'path')} written`}.`,
    data: answer,
  };
}

/** Returns all secrets, or those of one component, with all versions. */
async function bundleOf(session: Session, vault: SecretStorage, component: string | undefined): Promise<SecretBundle> {
  const secrets: SecretBundle['secrets'][number][] = [];
  for (const { name, versions } of await vault.list(session.signal)) {
    if (component !== undefined && partsOf(name).component !== component) continue;
    const stored = [];
    for (const version of versions) {
      const value = await vault.read(name, session.signal, version.id);
      if (value === undefined) continue;
      session.hide(value);
      stored.push({ ...version, value });
    }
    if (stored.length > 0) secrets.push({ name, versions: stored });
  }
  return { schema: 1, exportedAt: new Date().toISOString(), secrets };
}

type Incoming = SecretBundle['secrets'][number];
const namesOf = (secrets: readonly Incoming[]) => secrets.map(({ name }) => name);

export const secretsImport: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const manager = await openManager(session, input, context);
  const bundle = manager ? await fromManager(session, manager) : await fromFile(session, input);
  for (const { versions } of bundle.secrets) for (const { value } of versions) session.hide(value);
  if (bundle.secrets.length === 0) return { message: 'There are no secrets to import.' };
  const kept = await vault.list(session.signal);
  const sorted = await sort(bundle, kept, vault, session.signal);
  const { added, replaced, same } = sorted;
  if (added.length + replaced.length === 0)
    return { message: `Nothing to import: the values of ${countText(same.length, 'secret')} are already stored.` };

  const lines = (secrets: readonly Incoming[], mark: 'added' | 'warning' | 'same') => secrets.map(({ name }) => ({ mark, text: name }));
  const taken = await session.review({
    id: 'import',
    title: 'Import secrets',
    sections: [
      { title: 'New', lines: lines(added, 'added') },
      { title: 'Stored with a different value; the imported value becomes the newest', lines: lines(replaced, 'warning') },
      { title: 'Stored with the same value (unchanged)', lines: lines(same, 'same') },
    ].filter((section) => section.lines.length > 0),
    findings: [],
    actions: [
      { id: 'import', label: `Import ${countText(added.length + replaced.length, 'secret')}` },
      ...(replaced.length > 0 && added.length > 0 ? [{ id: 'new', label: `Import only ${countText(added.length, 'new secret')}` }] : []),
    ],
  });
  if (taken !== 'import' && taken !== 'new')
    return { message: session.dryRun ? 'Dry run: nothing was imported.' : 'Nothing was imported.' };
  const taking = taken === 'new' ? { ...sorted, replaced: [] } : sorted;
  await session.act({
    id: 'import',
    right: 'operate',
    request: `store ${[...taking.added, ...taking.replaced].map(({ name }) => cleanLine(name)).join(', ')} in ${vault.where}`,
    limitMs: 10 * 60_000,
    run: async (grant) => {
      for (const { name, versions } of taking.added) {
        // The ids of versions are kept where possible, because deployments refer to them.
        if (versions.every(({ createdMs }) => createdMs > 0))
          for (const version of versions) await vault.care.restore(grant, name, version);
        else for (const { value } of versions.slice(-1)) await vault.write(grant, name, value, 'imported');
      }
      for (const { name, versions } of taking.replaced) await vault.write(grant, name, versions.at(-1)?.value ?? '', 'imported');
    },
  });
  const use = taking.replaced.length > 0 ? ' Replaced values take effect with the next deployment.' : '';
  return {
    message: `Imported ${countText(taking.added.length, 'new secret')}, replaced ${taking.replaced.length}.${use}`,
    data: { added: namesOf(taking.added), replaced: namesOf(taking.replaced), same: namesOf(same) },
  };
};

async function sort(bundle: SecretBundle, kept: readonly SecretEntry[], vault: SecretStorage, signal: AbortSignal) {
  const names = new Set(kept.map(({ name }) => name));
  const sorted: Record<'added' | 'replaced' | 'same', Incoming[]> = { added: [], replaced: [], same: [] };
  for (const secret of bundle.secrets) {
    if (!names.has(secret.name)) sorted.added.push(secret);
    else if ((await vault.read(secret.name, signal)) === secret.versions.at(-1)?.value) sorted.same.push(secret);
    else sorted.replaced.push(secret);
  }
  return sorted;
}

async function fromFile(session: Session, input: FlowInput): Promise<SecretBundle> {
  const path = fileOf(await fileWord(session, input.words[0], { label: 'Import file', initial: './secrets.age' }));
  const file = await readLocal(path, session);
  const { requiresPassphrase, openAge } = await import('../../secrets/age-file.ts');
  const asks = await requiresPassphrase(file);
  const question = { id: 'passphrase-of-file', label: 'Passphrase for the file' };
  if (asks === undefined)
    throw new Fault('usage.path', `${cleanLine(path)} is not an age file.`, 'Use a file created by "quarterdeck secrets export".');
  return openAge(file, asks ? { passphrase: await session.ask.secret(question) } : await identitiesOf(session, input));
}

async function identitiesOf(session: Session, input: FlowInput): Promise<AgeOpens> {
  const question = { id: 'identity', label: 'File with the secret key', initial: '~/.config/age/keys.txt' };
  const written = optionOf(input, 'identity') ?? (await session.ask.text(question));
  const lines = new TextDecoder().decode(await readLocal(fileOf(written), session)).split('\n');
  const identities = lines.map((line) => line.trim()).filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  for (const identity of identities) session.hide(identity);
  if (identities.length > 0) return { identities };
  const remedy = 'Use an age identity file, which has a line that begins with AGE-SECRET-KEY-1.';
  throw new Fault('usage.recipient', `${cleanLine(written)} contains no age secret key.`, remedy);
}

async function fromManager(session: Session, store: SecretsFolder): Promise<SecretBundle> {
  const secrets: Incoming[] = [];
  for (const path of await pathsBelow(store, store.folder, session.signal)) {
    const { values } = await readEntry(store, path, session.signal);
    for (const [key, value] of Object.entries(values)) {
      const name = `${path.slice(store.folder.length + 1)}/${key}` as SecretName;
      // Other data in the folder, outside of HOST/COMPONENT, is skipped.
      if (name.split('/').length < 3 || valueProblem(value) !== undefined) continue;
      secrets.push({ name, versions: [{ id: 'remote', createdMs: 0, origin: 'imported', value }] });
    }
  }
  return { schema: 1, exportedAt: '', secrets };
}

async function readLocal(path: string, session: Session): Promise<Uint8Array> {
  const content = await localFiles.read(path, { signal: session.signal });
  if (content) return content;
  throw new Fault('usage.path', `${path} does not exist.`, 'Choose an existing file.');
}

async function pathsBelow(store: SecretsFolder, folder: string, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  for (const name of await store.paths.list(store.engine, `${store.engine.mount}${folder}`, signal)) {
    if (name.endsWith('/')) found.push(...(await pathsBelow(store, `${folder}/${name.slice(0, -1)}`, signal)));
    else found.push(`${folder}/${name}`);
  }
  return found;
}

type SecretsFolder = NonNullable<Awaited<ReturnType<typeof openManager>>>;

/** Opens the secrets manager of the flags. Throws the faults of `VaultPaths`, `usage.address` and `refused.clear`. */
async function openManager(session: Session, input: FlowInput, context: FlowContext) {
  const manager = optionOf(input, 'manager');
  if (manager === undefined) return undefined;
  const endpoint = vaultEndpointAt(context.hostOf(input.engineName), manager);
  // The address is checked before the prompt for a token.
  new VaultPaths(endpoint);
  const check = (typed: string) => (typed.trim() === '' ? 'Enter a token.' : undefined);
  const token = await session.ask.secret({ id: 'token', label: `Token for ${manager}`, check });
  const paths = new VaultPaths(endpoint, token.trim());
  const named = (name: string, usual: string) => (optionOf(input, name) ?? usual).replace(/^\/|\/$/g, '');
  const mount = named('mount', 'secret');
  const engine = await paths.engineOf(mount, session.signal);
  if (engine.version !== 2) throw vaultFault(`"${cleanLine(mount)}" is not a version 2 key-value engine.`, 'Pass another --mount.');
  return { paths, engine, folder: named('folder', 'quarterdeck'), origin: new URL(manager).origin };
}

/** Returns the text values of a path, all its values, and the version that a later write is compared with; 0 if there is none. */
async function readEntry({ paths, engine }: SecretsFolder, path: string, signal: AbortSignal) {
  const { values = {}, version = 0 } = (await paths.read(engine, `${engine.mount}${path}`, signal)) ?? {};
  const texts = Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { values: Object.fromEntries(texts), all: values, version };
}
