import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { AgeFor, SecretBundle } from '../secrets/age-file.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText, countText } from '../text/quantities.ts';
import { secretsExportAbout } from './about-secrets.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { bundleOf, fileOf, openManager, storePathOf } from './secrets-exchange.ts';

const leastPassphrase = 12;

export const secretsExport: Flow = {
  ...secretsExportAbout,
  async run(session, input, world) {
    const vault = await world.vault(session);
    const { component } = input.options;
    const entries = await vault.list(session.signal);
    if (entries.length === 0) return { message: `No secret is kept in ${vault.where}.` };
    const collect = () =>
      bundleOf(vault, typeof component === 'string' ? component : undefined, session.signal, (value) => session.hide(value));
    const manager = await openManager(session, input, world);
    return manager ? toManager(session, input, manager, collect) : toFile(session, input, collect);
  },
};

async function toFile(session: Session, input: FlowInput, collect: () => Promise<SecretBundle>): Promise<FlowOutcome> {
  const written =
    input.words[0] ??
    (await session.ask.text({
      id: 'file',
      label: 'Export to which file?',
      initial: './secrets.age',
      check: (path) => (path.trim() === '' ? 'Name a file.' : undefined),
    }));
  const path = fileOf(written);
  const facts = await localFiles.facts(path, session.signal);
  if (facts && facts.kind !== 'file')
    throw new Fault({ code: 'usage.path', message: `${cleanLine(path)} is no plain file.`, remedy: 'Name a file.' });
  const to = await recipientsOf(session, input);
  const answer = await session.act({
    id: 'export',
    right: facts ? 'destroy' : 'reveal',
    ...(facts && { title: `Replace ${cleanLine(path)}`, consequences: [`What is in it now is lost: ${bytesText(facts.sizeBytes)}.`] }),
    request: `write the secrets, sealed, to ${cleanLine(path)}`,
    target: { host: input.place },
    run: async (grant) => {
      const { sealAge } = await import('../secrets/age-file.ts');
      const bundle = await collect();
      const sealed = Buffer.from(await sealAge(bundle, to));
      await localFiles.write(grant, path, sealed, { mode: 0o600 });
      return { secrets: bundle.secrets.length, sizeBytes: sealed.length };
    },
  });
  if (!answer) return { message: 'Rehearsed: nothing was written.' };
  const opens =
    'passphrase' in to ? 'the passphrase' : to.recipients.length === 1 ? 'the key it was made for' : 'each of the keys it was made for';
  return {
    message: `${countText(answer.secrets, 'secret')} in ${cleanLine(path)}, ${bytesText(answer.sizeBytes)}. It opens with ${opens}, here and with age.`,
    data: answer,
  };
}

async function recipientsOf(session: Session, input: FlowInput): Promise<AgeFor> {
  const { to } = input.options;
  const recipients = Array.isArray(to) ? (to as readonly string[]) : typeof to === 'string' ? [to] : [];
  if (recipients.length > 0) {
    const wrong = recipients.find((recipient) => !/^age1[a-z0-9]+$/.test(recipient));
    if (wrong !== undefined) {
      const secret = /^age-secret-key/i.test(wrong);
      throw new Fault({
        code: 'usage.recipient',
        message: secret ? 'That is a secret key: --to takes the public one.' : `"${cleanLine(wrong)}" is no public key of age.`,
        remedy: secret
          ? 'The shell may have written it down: make another with age-keygen.'
          : 'It begins with age1; age-keygen -y prints it.',
      });
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
  if (again !== passphrase)
    throw new Fault({ code: 'usage.answer', message: 'The two were not the same.', remedy: 'Nothing was written. Run it again.' });
  return { passphrase };
}

type Manager = NonNullable<Awaited<ReturnType<typeof openManager>>>;

async function toManager(
  session: Session,
  input: FlowInput,
  { store, folder, origin }: Manager,
  collect: () => Promise<SecretBundle>,
): Promise<FlowOutcome> {
  const answer = await session.act({
    id: 'export',
    right: 'reveal',
    request: `write the newest version of the secrets to ${cleanLine(origin)}, below ${cleanLine(folder)}/; other keys there stay`,
    target: { host: input.place },
    run: async (grant) => {
      const { secrets } = await collect();
      const paths = new Map<string, Record<string, string>>();
      for (const { name, versions } of secrets) {
        const { path, key } = storePathOf(folder, name);
        const newest = versions.at(-1);
        if (newest) paths.set(path, { ...paths.get(path), [key]: newest.value });
      }
      let changed = 0;
      for (const [path, values] of paths) {
        const there = await store.read(path, grant.signal);
        if (Object.entries(values).every(([key, value]) => there.values[key] === value)) continue;
        await store.write(grant, path, { ...there.values, ...values }, there.version);
        changed++;
      }
      return { secrets: secrets.length, paths: paths.size, changed };
    },
  });
  if (!answer) return { message: 'Rehearsed: nothing was written.' };
  const { secrets, paths, changed } = answer;
  return {
    message: `${countText(secrets, 'secret')} in ${countText(paths, 'path')} at ${cleanLine(origin)}; ${changed === 0 ? 'all were there already' : `${changed} written`}.`,
    data: answer,
  };
}
