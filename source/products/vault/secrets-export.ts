import { Fault } from '../../faults/fault.ts';
import type { FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionOf, optionsOf } from '../../flows/flow-options.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import { partsOf } from '../../flows/secrets/secret-names.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { AgeFor, SecretBundle } from '../../secrets/age-file.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, countText } from '../../text/quantities.ts';
import { openManager, readEntry, type SecretsFolder } from './secrets-exchange.ts';

const leastPassphrase = 12;

export const secretsExport: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const entries = await vault.list(session.signal);
  if (entries.length === 0) return { message: `No secret is kept in ${vault.where}.` };
  const collect = () => bundleOf(session, vault, optionOf(input, 'component'));
  const manager = await openManager(session, input, context);
  return manager ? toManager(session, manager, collect) : toFile(session, input, collect);
};

async function toFile(session: Session, input: FlowInput, collect: () => Promise<SecretBundle>): Promise<FlowOutcome> {
  const written = await fileWord(session, input.words[0], {
    label: 'Export to which file?',
    initial: './secrets.age',
  });
  const path = fileOf(written);
  const facts = await localFiles.facts(path, session.signal);
  if (facts && facts.kind !== 'file') throw new Fault('usage.path', `${cleanLine(path)} is no plain file.`, 'Name a file.');
  const to = await recipientsOf(session, input);
  const answer = await session.act({
    id: 'export',
    right: facts ? 'destroy' : 'reveal',
    ...(facts && { title: `Replace ${cleanLine(path)}`, consequences: [`What is in it now is lost: ${bytesText(facts.sizeBytes)}.`] }),
    request: `write the secrets, sealed, to ${cleanLine(path)}`,
    run: async (grant) => {
      const { sealAge } = await import('../../secrets/age-file.ts');
      const bundle = await collect();
      const sealed = Buffer.from(await sealAge(bundle, to));
      await localFiles.write(grant, path, sealed, { mode: 0o600 });
      return { secrets: bundle.secrets.length, sizeBytes: sealed.length };
    },
  });
  if (!answer) return { message: 'Dry run: nothing was written.' };
  const opens =
    'passphrase' in to ? 'the passphrase' : to.recipients.length === 1 ? 'the key it was made for' : 'each of the keys it was made for';
  return {
    message: `${countText(answer.secrets, 'secret')} in ${cleanLine(path)}, ${bytesText(answer.sizeBytes)}. It opens with ${opens}, here and with age.`,
    data: answer,
  };
}

async function recipientsOf(session: Session, input: FlowInput): Promise<AgeFor> {
  const recipients = optionsOf(input, 'to') ?? [];
  if (recipients.length > 0) {
    const wrong = recipients.find((recipient) => !/^age1[a-z0-9]+$/.test(recipient));
    if (wrong !== undefined) {
      const secret = /^age-secret-key/i.test(wrong);
      throw new Fault(
        'usage.recipient',
        secret ? 'That is a secret key: --to takes the public one.' : `"${cleanLine(wrong)}" is no public key of age.`,
        secret ? 'The shell may have written it down: make another with age-keygen.' : 'It begins with age1; age-keygen -y prints it.',
      );
    }
    return { recipients };
  }
  const passphrase = await session.ask.secret({
    id: 'passphrase-of-file',
    label: 'Passphrase for the file',
    help: `Whoever knows it can read all of them: at least ${leastPassphrase} characters. Or run it with --to and a public key.`,
    check: (typed) => ([...typed].length < leastPassphrase ? `At least ${leastPassphrase} characters.` : undefined),
  });
  const again = await session.ask.secret({ id: 'passphrase-again', label: 'The same again' });
  if (again !== passphrase) throw new Fault('usage.answer', 'The two were not the same.', 'Nothing was written. Run it again.');
  return { passphrase };
}

async function toManager(session: Session, store: SecretsFolder, collect: () => Promise<SecretBundle>): Promise<FlowOutcome> {
  const { paths: client, engine, folder, origin } = store;
  const answer = await session.act({
    id: 'export',
    right: 'reveal',
    request: `write the newest version of the secrets to ${cleanLine(origin)}, below ${cleanLine(folder)}/; other keys there stay`,
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
        await client.write(grant, engine, `${engine.mount}${path}`, { values: { ...there.values, ...values }, version: there.version });
        changed++;
      }
      return { secrets: secrets.length, paths: paths.size, changed };
    },
  });
  if (!answer) return { message: 'Dry run: nothing was written.' };
  const { secrets, paths, changed } = answer;
  return {
    message: `${countText(secrets, 'secret')} in ${countText(paths, 'path')} at ${cleanLine(origin)}; ${changed === 0 ? 'all were there already' : `${changed} written`}.`,
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
