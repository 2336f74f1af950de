import { Fault } from '../../source/faults/fault.ts';
import type { SecretStore } from '../../source/secrets/secret-store.ts';

export class SecretStoreDouble implements SecretStore {
  readonly values = new Map<string, string>();
  locked = false;
  readonly kind;

  constructor(kind: SecretStore['kind'] = 'keychain') {
    this.kind = kind;
  }

  async get(name: string): Promise<string | undefined> {
    this.#open();
    return this.values.get(name);
  }

  async set(name: string, value: string): Promise<void> {
    this.#open();
    this.values.set(name, value);
  }

  #open() {
    if (this.locked) throw new Fault('failed.keychain', 'The keychain is locked.', 'Unlock it.');
  }
}
