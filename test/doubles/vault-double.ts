import type { SecretEntry, SecretName, SecretStorage, SecretStorageCare } from '../../source/secrets/secrets.ts';

/** A vault in memory. */
export class VaultDouble implements SecretStorage {
  kind: SecretStorage['kind'] = 'file';
  readonly where = 'memory';
  readonly #entries = new Map<SecretName, { id: string; value: string; origin: string; createdMs: number }[]>();
  /** It has one backend, in which nothing is ever lost. */
  care: SecretStorageCare = {
    migrate: async () => ({ moved: 0 }),
    reseal: async () => {},
    lost: async () => undefined,
    accept: async () => 'file',
    restore: async (_grant, name, version) => void this.#entries.set(name, [...(this.#entries.get(name) ?? []), version]),
    leftIn: async () => undefined,
  };

  async list(): Promise<readonly SecretEntry[]> {
    return [...this.#entries].map(([name, versions]) => ({
      name,
      versions: versions.map(({ id, origin, createdMs }) => ({ id, origin, createdMs })),
    }));
  }
  async read(name: SecretName, _signal?: AbortSignal, version?: string): Promise<string | undefined> {
    const versions = this.#entries.get(name) ?? [];
    return (version === undefined ? versions.at(-1) : versions.find(({ id }) => id === version))?.value;
  }
  async write(_grant: unknown, name: SecretName, value: string, origin: string): Promise<string> {
    const versions = this.#entries.get(name) ?? [];
    const id = `v${versions.length + 1}`;
    this.#entries.set(name, [...versions, { id, value, origin, createdMs: Date.now() }]);
    return id;
  }
  async remove(_grant: unknown, name: SecretName): Promise<void> {
    this.#entries.delete(name);
  }
}
