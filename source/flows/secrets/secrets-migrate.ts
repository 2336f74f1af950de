import { Fault } from '../../faults/fault.ts';
import type { SecretStorage, SecretStorageCare } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { countText } from '../../text/quantities.ts';
import type { Procedure } from '../flow.ts';

const limitMs = 30 * 60_000;

function careOf(vault: SecretStorage): SecretStorageCare {
  if (vault.care) return vault.care;
  throw new Fault('usage.secrets', `Secrets here have one place only: ${vault.where}.`, 'There is nothing to change.');
}

export const secretsMigrate: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const care = careOf(vault);
  const to = await targetOf(input.options.to, vault, session);
  const [from, left] = [vault.where, await care.leftIn()];
  if (vault.kind === to && left === undefined) return { message: `The secrets are in ${vault.where} already.` };
  const answer = await session.act({
    id: 'migrate',
    right: 'operate',
    request:
      vault.kind === to
        ? `remove the copies that are left in ${left}`
        : `move all secrets from ${from} to the ${to === 'file' ? 'sealed file' : 'keychain'}`,
    limitMs,
    run: (grant) => care.migrate(grant, to, (fraction, label) => session.progress({ id: 'migrate', label, fraction })),
  });
  session.progress({ id: 'migrate', label: 'Moved', fraction: 1, done: true });
  if (!answer) return { message: 'Dry run: nothing was moved.' };
  if (answer.moved === 0) return { message: `The secrets are in ${vault.where}; nothing is left elsewhere.`, data: answer };
  return {
    message: `${countText(answer.moved, 'secret')} moved to ${vault.where}: each was read back before it was removed from ${from}.`,
    data: answer,
  };
};

async function targetOf(given: unknown, vault: SecretStorage, session: Session): Promise<SecretStorage['kind']> {
  if (given === 'keychain' || given === 'file') return given;
  if (given !== undefined || !session.attended) {
    throw new Fault('usage.secrets', 'Say where the secrets are to be moved.', '--to keychain or --to file');
  }
  const other = vault.kind === 'keychain' ? 'file' : 'keychain';
  const answer = await session.ask.choice({
    id: 'to',
    label: `The secrets are in ${vault.where}. Where are they to be?`,
    choices: [
      { value: 'keychain', label: 'the keychain of the system' },
      { value: 'file', label: 'a sealed file' },
    ],
    initial: other,
  });
  return answer as SecretStorage['kind'];
}

export const secretsReseal: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const care = careOf(vault);
  const opens = input.options['key-file'] === true ? 'key-file' : 'passphrase';
  const done = await session.act({
    id: 'reseal',
    right: 'operate',
    request: `seal ${vault.where} with ${opens === 'passphrase' ? 'a new passphrase' : 'the key file'}`,
    limitMs,
    run: async (grant) => {
      await care.reseal(grant, opens);
      return true;
    },
  });
  return {
    message: done
      ? `${vault.where} opens with the ${opens === 'passphrase' ? 'new passphrase' : 'key file'} from now on. Backups of the file still open with the old key.`
      : 'Dry run: nothing was changed.',
  };
};

export const secretsAccept: Procedure = async (session, _input, context) => {
  const vault = await context.vault(session);
  const care = careOf(vault);
  const lost = await care.lost(session.signal);
  const data = { found: lost?.code === 'refused.secretsMissing' ? 'none' : 'file' };
  if (!lost) return { message: 'Nothing to accept: the secrets are the ones that were written last.', data };
  const isMissing = data.found === 'none';
  await session.act({
    id: 'accept',
    right: 'destroy',
    title: isMissing ? 'Accept that the sealed secrets are lost' : 'Accept this copy of the sealed secrets',
    request: isMissing ? `accept that ${vault.where} is lost` : `accept ${vault.where} as it is`,
    consequences: [
      lost.message,
      isMissing
        ? 'All secrets in it are lost. Components that use them need new ones: quarterdeck secrets set'
        : 'Secrets that are not in this copy are lost. Components that use them need new ones: quarterdeck secrets set',
    ],
    limitMs,
    run: (grant) => care.accept(grant),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.', data };
  return {
    message: isMissing ? `Accepted. The next secret creates a new ${vault.where}.` : `Accepted: ${vault.where} is used as it is.`,
    data,
  };
};
