import type { CatalogEntry } from '../catalog/catalog.ts';
import { generate } from '../catalog/generators.ts';
import type { ComponentField } from '../catalog/schema.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { SecretEntry, SecretName, SecretVault } from '../secrets/vault.ts';
import { valueProblem } from '../secrets/vault-place.ts';
import type { Session } from '../session/session.ts';
import { type HaltedRecord, writeHalted } from '../stack/halted-journal.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { readRuns } from '../stack/run-journal.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { cleanLine } from '../text/clean.ts';
import { secretsRotateAbout } from './about-secrets.ts';
import { operatorOf } from './backup.ts';
import type { Flow, FlowWorld, SecretChange } from './flow.ts';
import { goOn } from './recover.ts';
import { forgetRotation, rotationRecord, settleRotations } from './recover-halted.ts';
import { chooseKept, fieldOf, partsOf } from './secret-names.ts';
import { type HeldSecret, targetOf, tellData, tryValue, type Verdict } from './secret-proof.ts';

/** One of the names that hold the value (R26). */
export interface Holder extends HeldSecret {
  name: SecretName;
}

export const secretsRotate: Flow = {
  ...secretsRotateAbout,
  async run(session, input, world) {
    const vault = await world.vault(session);
    const entries = await vault.list(session.signal);
    const { name } = await chooseKept(session, input, entries);
    const holders = holdersOf(name, entries, world);
    const [first] = holders;
    if (!first) throw unknownField(name);
    for (const { field, name: held } of holders) {
      if (field.rotate && 'never' in field.rotate) {
        throw new Fault({
          code: 'refused.rotate',
          message: `${cleanLine(held)} cannot simply be replaced: ${field.rotate.never}.`,
          remedy: 'Nothing was changed.',
        });
      }
    }
    const { place } = partsOf(name);
    const value = await newValue(session, first);
    session.hide(value);
    const names = holders.map((holder) => cleanLine(holder.name)).join(', ');
    await settleRotations(session, world, place);
    const before = await vault.read(name, session.signal);
    if (before !== undefined) session.hide(before);
    const rotation = new Rotation(session, world, vault, place, holders, before);
    const used = await rotation.inUse();
    if (used && !world.applySecrets) throw cannotApply(names);

    const versions = await rotation.begin(value, { id: 'rotate', request: `keep a new version of ${names}` });
    if (!used) {
      if (!versions) return { message: 'Rehearsed: nothing was changed.' };
      return { message: `${names} has a new version. Nothing that runs uses it; it is in force with the next deploy.`, data: { versions } };
    }
    const restarted = await rotation.putInForce(versions ?? []);
    const proof = await rotation.prove(value, versions ?? []);
    if (!versions) return { message: 'Rehearsed: nothing was changed.' };
    const where = restarted.length > 0 ? ` Restarted: ${restarted.map(cleanLine).join(', ')}.` : '';
    return { message: `${names} has a new value.${where} ${proof}`, data: { versions, restarted, proof } };
  },
};

const beginLimitMs = 180_000;

/** Puts a new version of a secret in force wherever it is used, and back where that fails. */
export class Rotation {
  readonly #session: Session;
  readonly #world: FlowWorld;
  readonly #vault: SecretVault;
  readonly #place: string;
  readonly #holders: readonly Holder[];
  readonly #before: string | undefined;
  #told: Holder[] = [];
  #record: HaltedRecord | undefined;

  constructor(
    session: Session,
    world: FlowWorld,
    vault: SecretVault,
    place: string,
    holders: readonly Holder[],
    before: string | undefined,
  ) {
    this.#session = session;
    this.#world = world;
    this.#vault = vault;
    this.#place = place;
    this.#holders = holders;
    this.#before = before;
  }

  async inUse(): Promise<boolean> {
    for (const { entry } of this.#holders) {
      if ((await this.#target(entry)).containers.size > 0) return true;
    }
    return false;
  }

  #target(entry: CatalogEntry) {
    return targetOf(this.#world, this.#place, entry, this.#session.signal);
  }

  /**
   * Keeps the new version, and tells it where the data hold the old one: nobody could connect afterwards. From here until the containers have it, the host's journal
   * says so. What fails is taken back. Returns undefined in a rehearsal.
   */
  async begin(value: string, { id, request }: { id: string; request: string }): Promise<readonly SecretChange[] | undefined> {
    const session = this.#session;
    const [first] = this.#holders;
    if (!first) throw new RangeError('a rotation has a holder');
    const used = await this.inUse();
    const stackFolder = await this.#world.stackFolderOf(this.#place, session.signal);
    const by = await operatorOf(this.#world, this.#place, session.signal);
    const written: SecretChange[] = [];
    const tell = async () => {
      for (const holder of this.#holders) {
        if (!used || !holder.field.rotate || (await this.#target(holder.entry)).containers.size === 0) continue;
        if (await this.#tell(holder, value, 'new')) this.#told.push(holder);
      }
    };
    try {
      await session.act({
        id,
        right: 'operate',
        request,
        target: { host: this.#place, component: first.component },
        limitMs: beginLimitMs,
        run: async (grant) => {
          const host = this.#world.hostOf(this.#place);
          const lock = used
            ? await holdStackLock(grant, host, { stackFolder, what: 'rotation', component: first.component, by })
            : undefined;
          try {
            if (used) {
              const record = rotationRecord(by, this.#holders);
              await writeHalted(grant, host, stackFolder, record);
              this.#record = record;
            }
            for (const { name, component, variable } of this.#holders)
              written.push({ component, variable, version: await this.#vault.write(grant, name, value, 'rotated') });
            await tell();
          } finally {
            await lock?.release();
          }
        },
      });
      if (!session.rehearsing) return written;
      await tell();
      return undefined;
    } catch (thrown) {
      // Before the first version was kept nothing had changed.
      throw written.length === 0 && !this.#record ? thrown : await this.#takenBack(thrown, written);
    }
  }

  /** Gives the containers what `begin` kept. What fails is taken back. Returns the services that were restarted. */
  async putInForce(versions: readonly SecretChange[]): Promise<readonly string[]> {
    const session = this.#session;
    if (session.rehearsing) return [];
    try {
      const applied = await this.#world.applySecrets?.(session, this.#place, versions, () => this.#forgetRecord());
      return applied?.restarted ?? [];
    } catch (thrown) {
      throw await this.#takenBack(thrown, versions);
    }
  }

  /** From here on the journal of the change, or nothing, says what is to be repaired. */
  async #forgetRecord(): Promise<void> {
    const record = this.#record;
    if (!record) return;
    await forgetRotation(this.#session, this.#world, this.#place, record);
    this.#record = undefined;
  }

  /** Puts the old value in force again: in the vault, where the data hold it, and in the containers where a run has come to them. Answers what is to be thrown. */
  async #takenBack(thrown: unknown, versions: readonly SecretChange[]): Promise<unknown> {
    const [session, before] = [this.#session, this.#before];
    if (session.rehearsing || session.signal.aborted || before === undefined) return thrown;
    let failure: unknown;
    try {
      const run = await this.#runOf(versions);
      if (run) await goOn(session, this.#world, this.#place, run, 'undo');
      else await this.#forget(before);
      await this.#forgetRecord();
    } catch (again) {
      failure = again;
    }
    const remedy = thrown instanceof Fault ? thrown.remedy : 'Look at the state of the component, and deploy it again.';
    const components = [...new Set(this.#holders.map(({ component }) => component))];
    return new Fault({
      code: 'failed.rotate',
      message: `The new value was not put in force: ${messageOf(thrown)} ${
        failure === undefined ? 'The old value is in force again.' : `It could not be taken back: ${messageOf(failure)}`
      }`,
      remedy:
        failure === undefined
          ? remedy.replace(/ What was there before can be put back: .*$/, '')
          : `Once that is mended: ${components.map((component) => `quarterdeck rollback ${component}`).join(', ')}.`,
      cause: thrown,
    });
  }

  /** The run that was to put these versions in force, as far as it came. */
  async #runOf(versions: readonly SecretChange[]): Promise<RunOnHost | undefined> {
    const { signal } = this.#session;
    const stackFolder = await this.#world.stackFolderOf(this.#place, signal);
    const mine = new Set(versions.map(({ version }) => version));
    return (await readRuns(this.#world.hostOf(this.#place), stackFolder, signal)).findLast(
      ({ state, transaction }) =>
        state !== 'staged' &&
        state !== 'undone' &&
        transaction.plans.some(({ secrets }) => secrets.some(({ version }) => version !== undefined && mine.has(version))),
    );
  }

  /** No container has changed. */
  async #forget(before: string): Promise<void> {
    await this.#session.act({
      id: 'take back',
      right: 'operate',
      request: 'put the old value in force again',
      target: { host: this.#place },
      run: async (grant) => {
        for (const { name } of this.#holders) await this.#vault.write(grant, name, before, 'rotated');
      },
    });
    for (const holder of this.#told) await this.#tell(holder, before, 'old');
  }

  #tell(holder: Holder, value: string, which: 'old' | 'new'): Promise<boolean> {
    const id = `tell ${holder.component} ${holder.variable} the ${which} one`;
    return tellData(this.#session, this.#world, this.#place, holder, value, { id, which, patient: false });
  }

  /**
   * One sentence about what was seen. Throws `failed.rotate` when the old one still works, or the new one does not: then it is taken back first.
   * @param known what is to be refused from now on, where that is not what was kept
   */
  async prove(value: string, versions: readonly SecretChange[], known?: { old: string | undefined }): Promise<string> {
    const old = known ? known.old : this.#before;
    const unproved: string[] = [];
    let proved = 0;
    for (const { component, variable, entry, field } of this.#holders) {
      if (!field.proves) {
        unproved.push(`${component} declares no way to ask`);
        continue;
      }
      const seen = await this.#session.act({
        id: `prove ${component} ${variable}`,
        right: 'operate',
        request: `authenticate to ${component} with the new value, then with the old one`,
        target: { host: this.#place, component },
        run: async (grant): Promise<{ now: Verdict; then: Verdict }> => {
          const target = await this.#target(entry);
          const now = await tryValue(target, field, value, { grant, patient: true });
          const then =
            old === undefined
              ? ({ says: 'unclear', why: 'nobody here knows the old one' } as const)
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
    if (unproved.length > 0) return `It could not be proved that only the new one works: ${unproved.join('; ')}.`;
    return proved > 0 ? 'Proved: the new one works, and the old one does not.' : '';
  }
}

/** Every kept name that must have the same value, the chosen one first (R26). */
export function holdersOf(name: SecretName, entries: readonly SecretEntry[], world: Pick<FlowWorld, 'catalog'>): Holder[] {
  const { place } = partsOf(name);
  const kept = new Map(entries.map((entry) => [entry.name, entry]));
  const found = new Map<SecretName, Holder>();
  const waiting: SecretName[] = [name];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (found.has(next) || !kept.has(next)) continue;
    const { component, variable } = partsOf(next);
    const entry = world.catalog.get(component);
    const field = fieldOf(entry, variable);
    if (!entry || !field) continue;
    found.set(next, { name: next, component, variable, entry, field });
    const own = `${component}/${variable}`;
    for (const other of field.sameAs ?? []) waiting.push(`${place}/${other}` as SecretName);
    for (const candidate of world.catalog.entries) {
      for (const { sameAs, env, name: label } of candidate.fields)
        if (sameAs?.includes(own)) waiting.push(`${place}/${candidate.id}/${env ?? label}`);
    }
  }
  return [...found.values()];
}

async function newValue(session: Session, { field, name }: Holder): Promise<string> {
  if (field.generator !== undefined) return generate(field.generator);
  const { checkValue } = await import('../catalog/field-types.ts');
  return session.ask.secret({
    id: 'value',
    label: `New value of ${cleanLine(name)}`,
    help: ['It is none that could be made up here.', field.rule].filter(Boolean).join(' '),
    check: (typed) => valueProblem(typed) ?? checkValue(field, typed),
  });
}

function unknownField(name: string): Fault {
  return new Fault({
    code: 'usage.secret',
    message: `The catalog does not know what ${cleanLine(name)} is for.`,
    remedy: 'Set it with "quarterdeck secrets set", and deploy what uses it.',
  });
}

function cannotApply(names: string): Fault {
  return new Fault({
    code: 'failed.rotate',
    message: `${names} is in use, and cannot be put in force from here.`,
    remedy: 'Deploy the component instead.',
  });
}

function wrongFault(component: string, field: ComponentField, what: string): Fault {
  return new Fault({
    code: 'failed.rotate',
    message: `${component} ${what} of ${field.name}.`,
    remedy: `Look at its log and its fields: "quarterdeck logs ${component}". Both values are kept as versions.`,
  });
}
