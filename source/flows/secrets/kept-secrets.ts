import type { CatalogEntry, CatalogService } from '../../catalog/catalog.ts';
import { fieldHelp } from '../../catalog/field-help.ts';
import { Fault } from '../../faults/fault.ts';
import type { FleetSnapshot } from '../../fleet/model.ts';
import { valueProblem } from '../../secrets/backend.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, countText } from '../../text/quantities.ts';
import { askChoice } from '../ask-choice.ts';
import { backupSecrets } from '../backup/backup-target.ts';
import { deleteOne } from '../delete-one.ts';
import type { Procedure } from '../flow.ts';
import { showSecret } from '../flow-options.ts';
import { revealedSeconds } from './flows.ts';
import { chooseKept, chooseName, fieldOf, isInstanceOfOthers, newValueLabel, partsOf } from './secret-names.ts';

export const secretsList: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const wanted = input.words[0];
  const entries = (await vault.list(session.signal)).filter(({ name }) => wanted === undefined || partsOf(name).component === wanted);
  const snapshot = context.fleet.snapshot();
  const now = Date.now();
  const secrets = entries.map(({ name, versions }) => ({
    name,
    versions,
    rests: [
      { where: vault.where, readableBy: vaultReaders[vault.kind] },
      ...engineNamesOf(name, context.catalog.get(partsOf(name).component), snapshot),
    ],
  }));
  const left = await vault.care.leftIn();
  if (left !== undefined) {
    session.show({
      kind: 'text',
      text: `A migration was interrupted, and copies are still in ${left}. Run "quarterdeck secrets migrate" again.`,
    });
  }
  if (vault.passedOver !== undefined) session.show({ kind: 'text', text: `${vault.passedOver} Secrets in it are not listed.` });
  if (secrets.length === 0)
    return {
      message: `No secret ${wanted === undefined ? '' : `of ${cleanLine(wanted)} `}is stored in ${vault.where}${wanted !== undefined && isInstanceOfOthers(wanted) ? ': Quarterdeck did not deploy it' : ''}.`,
      data: { secrets },
    };
  // Not a table: locations and readers are sentences that must not be truncated.
  for (const { name, versions, rests } of secrets) {
    const newest = versions.at(-1);
    const age = newest ? `, newest ${agoText(now - newest.createdMs)} (${newest.origin})` : '';
    const engines = rests.map(({ where, readableBy }) => `  ${where}: ${readableBy}`);
    session.show({ kind: 'text', text: [`${cleanLine(name)}  ${countText(versions.length, 'version')}${age}`, ...engines].join('\n') });
  }
  const away = snapshot.engines.filter(({ engine }) => !engine.reachable).map(({ name }) => name);
  const note = away.length > 0 ? ` Not checked, because the engine does not respond: ${away.map(cleanLine).join(', ')}.` : '';
  const whose = wanted === undefined ? '' : ` of ${cleanLine(wanted)}`;
  return { message: `${countText(secrets.length, 'secret')}${whose} in ${vault.where}.${note}`, data: { secrets } };
};

export const secretsSet: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const name = await chooseName(session, input, context, await vault.list(session.signal));
  const { component, variable } = partsOf(name);
  const shown = cleanLine(name);
  const field = fieldOf(context.catalog.get(component), variable);
  const { checkValue } = await import('../../catalog/field-types.ts');
  const problem = (value: string) => valueProblem(value) ?? (field && checkValue(field, value));
  const value = await session.ask.secret({
    id: 'value',
    label: newValueLabel(name, field),
    ...(field && { help: fieldHelp(field) }),
    check: problem,
  });
  const again = await session.ask.secret({ id: 'again', label: 'Repeat the value' });
  if (again !== value) throw new Fault('usage.answer', 'The values do not match.', 'Nothing was stored. Run the command again.');
  const version = await session.act({
    id: 'set',
    right: 'operate',
    request: `store a new version of ${shown} in ${vault.where}`,
    target: { host: input.engineName, component },
    // Without this check, a run that was interrupted after the write would add another version of the same value.
    done: async () => (await vault.read(name, session.signal)) === value,
    run: (grant) => vault.write(grant, name, value, 'given'),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was stored.' };
  if (version === undefined) return { message: `${shown} already has that value; no version was added.`, data: { name } };
  return {
    message: `Stored version ${version} of ${shown}. It takes effect with the next ${component === backupSecrets ? 'backup' : `deploy of ${component}`}.`,
    data: { name, version },
  };
};

export const secretsReveal: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const { name, versions } = await chooseKept(session, input, await vault.list(session.signal));
  const shown = cleanLine(name);
  const wanted = input.options.version;
  const version = typeof wanted === 'string' ? versions.find(({ id }) => id === wanted) : versions.at(-1);
  if (!version) {
    const message = `${shown} has no version "${cleanLine(String(wanted))}".`;
    throw new Fault('usage.version', message, `Versions, oldest first: ${versions.map(({ id }) => id).join(', ')}.`);
  }
  await session.act({
    id: 'reveal',
    right: 'reveal',
    request: `reveal version ${version.id} of ${shown}`,
    target: { host: input.engineName, component: partsOf(name).component },
    run: async (grant) => {
      const value = await vault.read(name, grant.signal, version.id);
      if (value === undefined) {
        const message = `The value of ${shown} is missing from ${vault.where}.`;
        throw new Fault('failed.secrets', message, 'Set the secret again, or import it from an export.');
      }
      showSecret(session, input, { label: shown, value, secondsLeft: revealedSeconds });
    },
  });
  return {
    message: session.dryRun ? 'Dry run: nothing was revealed.' : `Revealed version ${version.id} of ${shown}.`,
    data: { name, version: version.id },
  };
};

export const secretsRemove: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  return deleteOne(session, {
    noun: 'secret',
    verb: 'remove',
    list: () => vault.list(session.signal),
    idOf: ({ name }) => name,
    choose: (entries) => chooseKept(session, input, entries),
    action: ({ name, versions }) => {
      const { component } = partsOf(name);
      const isUsed = engineNamesOf(name, context.catalog.get(component), context.fleet.snapshot()).length > 0;
      return {
        request: `remove ${name} from ${vault.where}`,
        target: { host: input.engineName, component },
        consequences: [
          `${countText(versions.length, 'version')} will be lost; ${component === backupSecrets ? 'backups that use this secret cannot be read without a copy of it' : 'deployments that use this secret cannot be rolled back'}.`,
          ...(isUsed
            ? [
                `The secret is in use: the next deploy of ${component} prompts for it, or generates one that does not match the existing data.`,
              ]
            : []),
        ],
        run: (grant) => vault.remove(grant, name),
      };
    },
    stillThere: { code: 'failed.secrets', remedy: 'Run the command again.' },
  });
};

interface StoredAt {
  where: string;
  readableBy: string;
}

const vaultReaders: Record<SecretStorage['kind'], string> = {
  keychain: 'programs that run under your account, while the keychain is unlocked',
  file: 'only users who have the passphrase or key file',
};

/** Returns the services of compose.yaml whose container receives the variable, in its environment or its arguments. */
function servicesGiven(entry: CatalogEntry, variable: string): readonly CatalogService[] {
  const named = new RegExp(`\\$(?:\\{${escaped(variable)}[:?}+-]|${escaped(variable)}(?![A-Za-z0-9_]))`);
  return entry.services.filter(({ environment, command }) => [...Object.values(environment), ...command].some((text) => named.test(text)));
}

/** An engine keeps the environment in its configuration, in plaintext, while the container exists. Determined without reading a value. */
function engineNamesOf(name: string, entry: CatalogEntry | undefined, snapshot: FleetSnapshot): readonly StoredAt[] {
  const { engineName, component, variable } = partsOf(name);
  const views = snapshot.components.filter((view) => view.host === engineName && view.id === component);
  if (!entry || views.length === 0) return [];
  const given = new Set(servicesGiven(entry, variable).map((service) => service.name));
  const engine = snapshot.engines.find((known) => known.name === engineName)?.engine;
  const containers = views
    .flatMap(({ services }) => services)
    .filter((service) => given.has(service.name) && service.containerId !== undefined);
  const copies = containers.map(({ containerName }) => ({
    where: `configuration of the container ${cleanLine(containerName)}`,
    readableBy: engine?.rootless ? 'root, and the user that the engine runs as' : "root, and users who can reach the engine's socket",
  }));
  if (given.size === 0) return [];
  const passing: StoredAt[] = [{ where: 'environment of the compose process, while it runs', readableBy: 'root and you' }];
  // podman-compose copies interpolated values into arguments, which every user could read.
  if (engine?.kind === 'podman') passing.push({ where: 'a file in memory, while podman-compose runs', readableBy: 'root and you' });
  return [...copies, ...passing];
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const limitMs = 30 * 60_000;

export const secretsMigrate: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const to = await targetOf(input.options.to, vault, session);
  const [from, left] = [vault.where, await vault.care.leftIn()];
  if (vault.kind === to && left === undefined) return { message: `The secrets are already in ${vault.where}.` };
  const answer = await session.act({
    id: 'migrate',
    right: 'operate',
    request:
      vault.kind === to
        ? `remove the remaining copies in ${left}`
        : `move all secrets from ${from} to the ${to === 'file' ? 'sealed file' : 'keychain'}`,
    limitMs,
    run: (grant) => vault.care.migrate(grant, to, (fraction, label) => session.progress({ id: 'migrate', label, fraction })),
  });
  session.progress({ id: 'migrate', label: 'Moved', fraction: 1, done: true });
  if (!answer) return { message: 'Dry run: nothing was moved.' };
  if (answer.moved === 0) return { message: `The secrets are in ${vault.where}; no copies are left elsewhere.`, data: answer };
  return {
    message: `Moved ${countText(answer.moved, 'secret')} to ${vault.where}. Each was read back before it was removed from ${from}.`,
    data: answer,
  };
};

async function targetOf(given: unknown, vault: SecretStorage, session: Session): Promise<SecretStorage['kind']> {
  if (given === 'keychain' || given === 'file') return given;
  if (given !== undefined || !session.attended) {
    const wrong = given === undefined ? '' : `, not "${cleanLine(String(given))}"`;
    throw new Fault('usage.secrets', `--to must be keychain or file${wrong}.`, 'For example: --to file');
  }
  return askChoice(session, {
    id: 'to',
    label: `Move the secrets from ${vault.where} to`,
    choices: { keychain: 'the system keychain', file: 'a sealed file' },
    initial: vault.kind === 'keychain' ? 'file' : 'keychain',
  });
}

export const secretsReseal: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const opens = input.options['key-file'] === true ? 'key-file' : 'passphrase';
  await session.act({
    id: 'reseal',
    right: 'operate',
    request: `seal ${vault.where} with ${opens === 'passphrase' ? 'a new passphrase' : 'the key file'}`,
    limitMs,
    run: (grant) => vault.care.reseal(grant, opens),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.' };
  const sealed = `Sealed ${vault.where} with the ${opens === 'passphrase' ? 'new passphrase' : 'key file'}.`;
  return { message: `${sealed} Backups of the file still require the old passphrase or key file.` };
};

export const secretsAccept: Procedure = async (session, _input, context) => {
  const vault = await context.vault(session);
  const lost = await vault.care.lost(session.signal);
  const data = { found: lost?.code === 'refused.secretsMissing' ? 'none' : 'file' };
  if (!lost) return { message: 'Nothing to accept: the stored secrets are the latest version.', data };
  const isMissing = data.found === 'none';
  await session.act({
    id: 'accept',
    right: 'destroy',
    title: isMissing ? 'Accept that the sealed secrets are lost' : 'Accept this copy of the sealed secrets',
    request: isMissing ? `accept that ${vault.where} is lost` : `accept ${vault.where} as is`,
    consequences: [
      lost.message,
      isMissing
        ? 'All sealed secrets are lost. Components that use them require new ones: quarterdeck secrets set'
        : 'Secrets that are not in this copy are lost. Components that use them require new ones: quarterdeck secrets set',
    ],
    limitMs,
    run: (grant) => vault.care.accept(grant),
  });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.', data };
  return {
    message: isMissing ? `Accepted. Storing the next secret creates a new ${vault.where}.` : `Accepted: ${vault.where} is used as is.`,
    data,
  };
};
