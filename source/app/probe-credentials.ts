import { credentialInputs } from '../catalog/credential-inputs.ts';
import type { ComponentCall, ComponentField } from '../catalog/schema.ts';
import { readOwnJson, writeOwnFile } from '../config/own-files.ts';
import { limited } from '../faults/waits.ts';
import type { FindCredential } from '../fleet/probe-login.ts';
import type { ProbeTarget } from '../fleet/probe-watch.ts';
import { credentialVariables, secretName, variableOf } from '../flows/secrets/secret-names.ts';
import type { SecretStorage } from '../secrets/secrets.ts';

interface Options {
  /** Opens the secret storage without a prompt, or returns nothing. */
  open: () => Promise<SecretStorage | undefined>;
  /** Remembers refused credentials by the ids of their versions, for commands that run every minute. */
  refusedFile?: string;
}

/** The index is read again after this time: another process may have logged in. */
const indexMs = 5 * 60_000;
const limitMs = 5_000;
const mostRefused = 200;

interface Found {
  value: string;
  /** Changes with the value, and says nothing about it. */
  version: string;
}

/** Credentials for probes: those of the running deployment, and those that `login` stored. Each version is read from the storage once. */
export class ProbeCredentials {
  readonly #values = new Map<string, Promise<string | undefined>>();
  #index: { atMs: number; versions: Promise<ReadonlyMap<string, string>> } | undefined;
  #refused: Promise<Set<string>> | undefined;

  constructor(private readonly options: Options) {}

  readonly find: FindCredential = async (target, call) => {
    this.#refused ??= this.#readRefused();
    const refused = await this.#refused;
    const deployed = await this.#collect(target, call, inContainer);
    // After a refusal, an operator can log in with another value.
    const found = deployed && refused.has(deployed.id) ? ((await this.#collect(target, call)) ?? deployed) : deployed;
    return found && { inputs: found.inputs, isRefused: refused.has(found.id), refuse: () => this.#refuse(refused, found.id) };
  };

  /** Returns the values of all credentials of a call, and an id that changes with any of them; nothing if one is missing. */
  async #collect({ entry, ...target }: ProbeTarget, call: ComponentCall, first?: typeof inContainer) {
    const inputs: Record<string, string> = {};
    const versions: string[] = [];
    for (const name of credentialInputs(call)) {
      const field = entry.fields.find((one) => one.name === call.inputs[name]?.field);
      const found = first?.(target, field) ?? (await this.#stored(target, credentialVariables(name, field)));
      if (!found) return undefined;
      inputs[name] = found.value;
      versions.push(found.version);
    }
    return { inputs, id: versions.join(' ') };
  }

  /** Must be called after a change of the storage. After a login, what was refused before may be accepted. */
  async drop({ afterLogin }: { afterLogin: boolean }): Promise<void> {
    this.#index = undefined;
    if (!afterLogin) return;
    this.#refused = Promise.resolve(new Set());
    await this.#keepRefused(new Set());
  }

  async #stored({ engineName, id }: Pick<ProbeTarget, 'engineName' | 'id'>, variables: readonly string[]): Promise<Found | undefined> {
    if (!this.#index || Date.now() - this.#index.atMs > indexMs)
      this.#index = { atMs: Date.now(), versions: this.#use(readIndex).then((read) => read ?? new Map()) };
    const versions = await this.#index.versions;
    const name = variables.map((variable) => secretName(engineName, id, variable)).find((one) => versions.has(one));
    if (name === undefined) return undefined;
    const version = `${name}@${versions.get(name)}`;
    const reading = this.#values.get(version) ?? this.#use((storage, signal) => storage.read(name, signal));
    this.#values.set(version, reading);
    const value = await reading;
    if (value === undefined) this.#values.delete(version);
    return value === undefined ? undefined : { value, version };
  }

  /** A storage that cannot be opened without a prompt, or that a flow is opening with one, holds no credentials for now. */
  async #use<T>(read: (storage: SecretStorage, signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const use = async (signal: AbortSignal) => {
      const storage = await this.options.open();
      return storage && read(storage, signal);
    };
    return limited(new AbortController().signal, limitMs, use).catch(() => undefined);
  }

  async #readRefused(): Promise<Set<string>> {
    const { refusedFile } = this.options;
    const known = refusedFile === undefined ? [] : await readOwnJson(refusedFile);
    return new Set(Array.isArray(known) ? known.filter((one) => typeof one === 'string') : []);
  }

  async #refuse(refused: Set<string>, id: string): Promise<void> {
    refused.add(id);
    await this.#keepRefused(refused);
  }

  /** Without the file, each command sends a refused credential once. */
  async #keepRefused(refused: ReadonlySet<string>): Promise<void> {
    const { refusedFile } = this.options;
    if (refusedFile !== undefined)
      await writeOwnFile(refusedFile, `${JSON.stringify([...refused].slice(-mostRefused))}\n`).catch(() => undefined);
  }
}

async function readIndex(storage: SecretStorage, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const entries = await storage.list(signal);
  return new Map(entries.map(({ name, versions }) => [name, versions.at(-1)?.id ?? '']));
}

/** A recreated container may have another value. */
function inContainer({ containers }: Pick<ProbeTarget, 'containers'>, field: ComponentField | undefined): Found | undefined {
  if (field?.target !== 'environment') return undefined;
  for (const { id, env } of containers.values()) {
    const value = env.find(([name]) => name === variableOf(field))?.[1];
    if (value) return { value, version: `${id}/${variableOf(field)}` };
  }
  return undefined;
}
