import { Fault } from '../../faults/fault.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { AgeOpens, SecretBundle } from '../../secrets/age-file.ts';
import { valueProblem } from '../../secrets/backend.ts';
import type { SecretEntry, SecretName, SecretStorage } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { openManager, readEntry, type SecretsFolder } from './secrets-exchange.ts';

type Incoming = SecretBundle['secrets'][number];

export const secretsImport: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const manager = await openManager(session, input, context);
  const bundle = manager ? await fromManager(session, manager) : await fromFile(session, input);
  for (const { versions } of bundle.secrets) for (const { value } of versions) session.hide(value);
  if (bundle.secrets.length === 0) return { message: 'There is no secret in it.' };
  const kept = await vault.list(session.signal);
  const sorted = await sort(bundle, kept, vault, session.signal);
  const { added, replaced, same } = sorted;
  if (added.length + replaced.length === 0)
    return { message: `All ${countText(same.length, 'secret')} are kept here already, with the same values.` };

  const lines = (secrets: readonly Incoming[], mark: 'added' | 'warning' | 'same') => secrets.map(({ name }) => ({ mark, text: name }));
  const taken = await session.review({
    id: 'import',
    title: 'Import secrets',
    sections: [
      { title: 'New here', lines: lines(added, 'added') },
      { title: 'Kept here with another value: this one becomes the newest', lines: lines(replaced, 'warning') },
      { title: 'Kept here with the same value: nothing changes', lines: lines(same, 'same') },
    ].filter((section) => section.lines.length > 0),
    findings: [],
    actions: [
      { id: 'import', label: `Import ${countText(added.length + replaced.length, 'secret')}` },
      ...(replaced.length > 0 && added.length > 0 ? [{ id: 'new', label: `Only the ${added.length} new` }] : []),
    ],
  });
  if (taken !== 'import' && taken !== 'new') {
    return { message: session.dryRun ? 'Dry run: nothing was imported.' : 'Nothing was imported.' };
  }
  const taking = taken === 'new' ? { ...sorted, replaced: [] } : sorted;
  await session.act({
    id: 'import',
    right: 'operate',
    request: `keep ${[...taking.added, ...taking.replaced].map(({ name }) => cleanLine(name)).join(', ')} in ${vault.where}`,
    limitMs: 10 * 60_000,
    run: async (grant) => {
      for (const { name, versions } of taking.added) {
        // The ids of versions are kept where possible, because deployments refer to them.
        if (vault.care && versions.every(({ createdMs }) => createdMs > 0))
          for (const version of versions) await vault.care.restore(grant, name, version);
        else for (const { value } of versions.slice(-1)) await vault.write(grant, name, value, 'imported');
      }
      for (const { name, versions } of taking.replaced) await vault.write(grant, name, versions.at(-1)?.value ?? '', 'imported');
    },
  });
  const use = taking.replaced.length > 0 ? ' What was replaced is in force with the next deploy.' : '';
  return {
    message: `Imported ${countText(taking.added.length, 'new secret')}, replaced ${taking.replaced.length}.${use}`,
    data: {
      added: taking.added.map(({ name }) => name),
      replaced: taking.replaced.map(({ name }) => name),
      same: same.map(({ name }) => name),
    },
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
  const written = await fileWord(session, input.words[0], { label: 'Import from which file?', initial: './secrets.age' });
  const path = fileOf(written);
  const file = await readLocal(path, session);
  const { asksPassphrase, openAge } = await import('../../secrets/age-file.ts');
  const asks = await asksPassphrase(file);
  const question = { id: 'passphrase-of-file', label: 'Passphrase of the file' };
  if (asks === undefined)
    throw new Fault('usage.path', `${cleanLine(path)} is no age file.`, 'Name one that "quarterdeck secrets export" wrote.');
  return openAge(file, asks ? { passphrase: await session.ask.secret(question) } : await identitiesOf(session, input));
}

async function identitiesOf(session: Session, input: FlowInput): Promise<AgeOpens> {
  const question = { id: 'identity', label: 'Which file holds the secret key that opens it?', initial: '~/.config/age/keys.txt' };
  const written = optionOf(input, 'identity') ?? (await session.ask.text(question));
  const text = Buffer.from(await readLocal(fileOf(written), session)).toString('utf8');
  const lines = text.split('\n').map((line) => line.trim());
  const identities = lines.filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  for (const identity of identities) session.hide(identity);
  if (identities.length > 0) return { identities };
  throw new Fault(
    'usage.recipient',
    `${cleanLine(written)} holds no secret key of age.`,
    'It has a line that begins with AGE-SECRET-KEY-1.',
  );
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
  throw new Fault('usage.path', `There is no file ${path}.`, 'Name another.');
}

async function pathsBelow(store: SecretsFolder, folder: string, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  for (const name of await store.paths.list(store.engine, `${store.engine.mount}${folder}`, signal)) {
    if (name.endsWith('/')) found.push(...(await pathsBelow(store, `${folder}/${name.slice(0, -1)}`, signal)));
    else found.push(`${folder}/${name}`);
  }
  return found;
}
