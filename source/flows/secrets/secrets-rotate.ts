import type { CatalogEntry } from '../../catalog/catalog.ts';
import { fieldHelp } from '../../catalog/field-help.ts';
import { generate } from '../../catalog/generators.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import { valueProblem } from '../../secrets/backend.ts';
import type { SecretEntry, SecretName, SecretStorage } from '../../secrets/secrets.ts';
import type { Session } from '../../session/session.ts';
import { holdStackLock } from '../../stack/apply/lock.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';
import type { RunOnHost } from '../../stack/apply/transaction.ts';
import { type HaltedRecord, writeHalted } from '../../stack/backup/stopped-containers.ts';
import { cleanLine } from '../../text/clean.ts';
import { operatorOf } from '../backup/backup.ts';
import { backupSecrets } from '../backup/backup-target.ts';
import { forgetRotation, rotationRecord, settleRotations } from '../backup/recover-halted.ts';
import { targetOf } from '../call-target.ts';
import { UnhealthyFault } from '../components/wait-until-healthy.ts';
import { goOn } from '../deploy/recover.ts';
import { EngineScope } from '../engine-scope.ts';
import type { FlowContext, Procedure, SecretChange } from '../flow.ts';
import { chooseKept, fieldOf, newValueLabel, partsOf } from './secret-names.ts';
import { type HeldSecret, tryValue, type Verdict, writeToData } from './secret-proof.ts';

export interface Holder extends HeldSecret {
  name: SecretName;
}

export const secretsRotate: Procedure = async (session, input, context) => {
  const vault = await context.vault(session);
  const entries = await vault.list(session.signal);
  const { name } = await chooseKept(session, input, entries);
  const holders = holdersOf(name, entries, context);
  const [first] = holders;
  if (!first) {
    const message = `${cleanLine(name)} is not in the catalog and cannot be rotated.`;
    const remedy =
      partsOf(name).component === backupSecrets
        ? 'Older backups require the stored value: keep a copy. Change the password of a repository with "restic key passwd" first, then store it: quarterdeck secrets set'
        : 'Set the secret with "quarterdeck secrets set", and deploy the components that use it.';
    throw new Fault('usage.secret', message, remedy);
  }
  for (const { field, name: held } of holders) {
    if (field.rotate && 'never' in field.rotate)
      throw new Fault('refused.rotate', `${cleanLine(held)} cannot be rotated: ${field.rotate.never}.`, 'Nothing was changed.');
  }
  const scope = new EngineScope(session, context, partsOf(name).engineName);
  const value = await newValue(session, first);
  session.hide(value);
  const names = holders.map((holder) => cleanLine(holder.name)).join(', ');
  await settleRotations(scope);
  const before = await vault.read(name, session.signal);
  if (before !== undefined) session.hide(before);
  const rotation = new Rotation(scope, vault, holders, before);
  const used = await rotation.inUse();
  if (used && !context.applySecrets)
    throw new Fault('failed.rotate', `${names} is in use and cannot be rotated here.`, 'Deploy the component instead.');
  const versions = await rotation.begin(value, { id: 'rotate', request: `store a new version of ${names}` });
  if (!used) {
    if (!versions) return { message: 'Dry run: nothing was changed.' };
    return { message: `Stored a new version of ${names}, which takes effect with the next deploy.`, data: { versions } };
  }
  const restarted = await rotation.putInForce(versions ?? []);
  const proof = await rotation.prove(value, versions ?? []);
  if (!versions) return { message: 'Dry run: nothing was changed.' };
  const where = restarted.length > 0 ? ` Restarted: ${restarted.map(cleanLine).join(', ')}.` : '';
  return { message: `Rotated ${names}.${where} ${proof}`, data: { versions, restarted, proof } };
};

const beginLimitMs = 180_000;

/** Puts a new version of a secret into effect wherever it is used, and restores the old one if that fails. */
export class Rotation {
  #reported: Holder[] = [];
  #record: HaltedRecord | undefined;

  constructor(
    private readonly scope: EngineScope,
    private readonly vault: SecretStorage,
    private readonly holders: readonly Holder[],
    private readonly before: string | undefined,
  ) {}

  async inUse(): Promise<boolean> {
    for (const { entry } of this.holders) if ((await this.#target(entry)).containers.size > 0) return true;
    return false;
  }

  #target(entry: CatalogEntry) {
    const { context, engineName, signal } = this.scope;
    return targetOf(context, engineName, entry, signal);
  }

  /** Writes it to the component's data too, if the data hold the old one. A failure is undone. Undefined in a dry run. */
  async begin(value: string, { id, request }: { id: string; request: string }): Promise<readonly SecretChange[] | undefined> {
    const { session, engineName, host } = this.scope;
    const [first] = this.holders;
    if (!first) throw new RangeError('a rotation requires a secret');
    const { component } = first;
    const used = await this.inUse();
    const stackFolder = await this.scope.stackFolder();
    const by = await operatorOf(this.scope);
    const written: SecretChange[] = [];
    const tell = async () => {
      for (const holder of this.holders) {
        if (!used || !holder.field.rotate || (await this.#target(holder.entry)).containers.size === 0) continue;
        if (await this.#tell(holder, value, 'new')) this.#reported.push(holder);
      }
    };
    try {
      await session.act({
        id,
        right: 'operate',
        request,
        target: { host: engineName, component },
        limitMs: beginLimitMs,
        run: async (grant) => {
          await using _lock = used ? await holdStackLock(grant, host, { stackFolder, what: 'rotation', component, by }) : undefined;
          if (used) {
            const record = rotationRecord(by, this.holders);
            await writeHalted(grant, host, stackFolder, record);
            this.#record = record;
          }
          for (const { name, component, variable } of this.holders)
            written.push({ component, variable, version: await this.vault.write(grant, name, value, 'rotated') });
          await tell();
        },
      });
      if (!session.dryRun) return written;
      await tell();
      return undefined;
    } catch (thrown) {
      // Before the first version is stored nothing has changed.
      throw written.length === 0 && !this.#record ? thrown : await this.#takenBack(thrown, written);
    }
  }

  async putInForce(versions: readonly SecretChange[]): Promise<readonly string[]> {
    const { session, context, engineName } = this.scope;
    if (session.dryRun) return [];
    try {
      const applied = await context.applySecrets?.(session, engineName, versions, () => this.#forgetRecord());
      return applied?.restarted ?? [];
    } catch (thrown) {
      throw await this.#takenBack(thrown, versions);
    }
  }

  /** Removes the record: from here on the journal of the change, if any, states what has to be repaired. */
  async #forgetRecord(): Promise<void> {
    const record = this.#record;
    if (!record) return;
    await forgetRotation(this.scope, record);
    this.#record = undefined;
  }

  /** Puts the old value into effect again, wherever the new one is. Returns the error to throw. */
  async #takenBack(thrown: unknown, versions: readonly SecretChange[]): Promise<unknown> {
    const { session } = this.scope;
    const { before } = this;
    if (session.dryRun || session.signal.aborted || before === undefined) return thrown;
    let failure: unknown;
    try {
      const run = await this.#runOf(versions);
      if (run) await goOn(this.scope, run, 'undo');
      else await this.#forget(before);
      await this.#forgetRecord();
    } catch (again) {
      failure = again;
    }
    const message = `The new value was not applied: ${messageOf(thrown)}`;
    if (failure === undefined) {
      const remedy = thrown instanceof Fault ? thrown.remedy : 'Check the state of the component, and deploy it again.';
      // The rollback is already done.
      const own = thrown instanceof UnhealthyFault ? thrown.check : remedy;
      return new Fault('failed.rotate', `${message} The old value is in effect again.`, own, { cause: thrown });
    }
    // Before the containers have the new value, there is no change to roll back, but a record of the rotation.
    const rollback = ({ component }: Holder) => `quarterdeck rollback ${component}`;
    const commands = this.#record ? ['quarterdeck recover'] : this.holders.map(rollback);
    const failed = `${message} Restoring the old value failed: ${messageOf(failure)}`;
    return new Fault('failed.rotate', failed, `Fix the cause, then run: ${[...new Set(commands)].join(', ')}.`, { cause: thrown });
  }

  async #runOf(versions: readonly SecretChange[]): Promise<RunOnHost | undefined> {
    const { host, signal } = this.scope;
    const mine = new Set(versions.map(({ version }) => version));
    return (await readRuns(host, await this.scope.stackFolder(), signal)).findLast(
      ({ state, transaction }) =>
        state !== 'staged' &&
        state !== 'undone' &&
        transaction.plans.some(({ secrets }) => secrets.some(({ version }) => version !== undefined && mine.has(version))),
    );
  }

  async #forget(before: string): Promise<void> {
    const { session, engineName } = this.scope;
    await session.act({
      id: 'take back',
      right: 'operate',
      request: 'restore the old value',
      target: { host: engineName },
      run: async (grant) => {
        for (const { name } of this.holders) await this.vault.write(grant, name, before, 'rotated');
      },
    });
    for (const holder of this.#reported) await this.#tell(holder, before, 'old');
  }

  #tell(holder: Holder, value: string, which: 'old' | 'new'): Promise<boolean> {
    const id = `tell ${holder.component} ${holder.variable} the ${which} one`;
    return writeToData(this.scope, holder, value, { id, which, patient: false });
  }

  /** Throws `failed.rotate` if the new value does not work, after undoing the rotation, or if the old one (`known`) still does. */
  async prove(value: string, versions: readonly SecretChange[], known?: { old: string | undefined }): Promise<string> {
    const old = known ? known.old : this.before;
    const unproved: string[] = [];
    let proved = 0;
    for (const { component, variable, entry, field } of this.holders) {
      if (!field.verify) {
        unproved.push(`${component} defines no check`);
        continue;
      }
      const { session, engineName } = this.scope;
      const seen = await session.act({
        id: `prove ${component} ${variable}`,
        right: 'operate',
        request: `authenticate to ${component} with the new value, then with the old one`,
        target: { host: engineName, component },
        run: async (grant): Promise<{ now: Verdict; then: Verdict }> => {
          const target = await this.#target(entry);
          const now = await tryValue(target, field, value, { grant, patient: true });
          const then =
            old === undefined
              ? ({ says: 'unclear', why: 'the old value is unknown' } as const)
              : await tryValue(target, field, old, { grant, patient: false });
          return { now, then };
        },
        failure: ({ now, then }) =>
          now.says === 'refused'
            ? 'the component does not accept the new value'
            : then.says === 'accepted'
              ? 'the component still accepts the old value'
              : undefined,
      });
      if (!seen) continue;
      if (seen.now.says === 'refused') throw await this.#takenBack(wrongFault(component, field, 'does not accept the new value'), versions);
      if (seen.then.says === 'accepted') throw wrongFault(component, field, 'still accepts the old value');
      const unclear = seen.now.says === 'unclear' ? seen.now : seen.then.says === 'unclear' ? seen.then : undefined;
      if (unclear) unproved.push(`${component}: ${unclear.why}`);
      else proved++;
    }
    if (unproved.length > 0) return `Could not verify that only the new value works: ${unproved.join('; ')}.`;
    return proved > 0 ? 'Verified: the new value works, and the old one does not.' : '';
  }
}

/** Returns every stored name that must have the same value, the chosen one first (R26). */
function holdersOf(name: SecretName, entries: readonly SecretEntry[], context: Pick<FlowContext, 'catalog'>): Holder[] {
  const { engineName } = partsOf(name);
  const kept = new Map(entries.map((entry) => [entry.name, entry]));
  const found = new Map<SecretName, Holder>();
  const waiting: SecretName[] = [name];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (found.has(next) || !kept.has(next)) continue;
    const { component, variable } = partsOf(next);
    const entry = context.catalog.get(component);
    const field = fieldOf(entry, variable);
    if (!entry || !field) continue;
    found.set(next, { name: next, component, variable, entry, field });
    const own = `${component}/${variable}`;
    for (const other of field.sameAs ?? []) waiting.push(`${engineName}/${other}` as SecretName);
    for (const candidate of context.catalog.entries) {
      for (const { sameAs, env, name: label } of candidate.fields)
        if (sameAs?.includes(own)) waiting.push(`${engineName}/${candidate.id}/${env ?? label}`);
    }
  }
  return [...found.values()];
}

async function newValue(session: Session, { field, name }: Holder): Promise<string> {
  if (field.generator !== undefined) return generate(field.generator);
  const { checkValue } = await import('../../catalog/field-types.ts');
  return session.ask.secret({
    id: 'value',
    label: newValueLabel(name, field),
    help: `This value cannot be generated. ${fieldHelp(field)}`.trim(),
    check: (typed) => valueProblem(typed) ?? checkValue(field, typed),
  });
}

function wrongFault(component: string, field: ComponentField, what: string): Fault {
  const remedy = `Check the log: quarterdeck logs ${component}. The old and the new value are stored as versions of the secret: quarterdeck secrets list ${component}`;
  return new Fault('failed.rotate', `${component} ${what} of ${field.name}.`, remedy);
}
