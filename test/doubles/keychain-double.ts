import { vi } from 'vitest';

/** A keychain in memory, in the place of keytar. */
export class KeychainDouble {
  readonly accounts = new Map<string, Map<string, string>>();
  /** What it throws instead of answering. */
  fault: string | undefined;
  /** Called before each change, which does not happen when it throws: a process that dies there. */
  before: (account: string) => void = () => {};

  of(service: string): Map<string, string> {
    const accounts = this.accounts.get(service) ?? new Map<string, string>();
    this.accounts.set(service, accounts);
    return accounts;
  }
  /** All accounts of all services. */
  all(): Map<string, string> {
    return new Map([...this.accounts.values()].flatMap((accounts) => [...accounts]));
  }

  /** To be called before the modules under test are imported; undone with `vi.doUnmock('keytar')`. */
  install(): void {
    const answer = async <T>(say: () => T): Promise<T> => {
      if (this.fault !== undefined) throw new Error(this.fault);
      return say();
    };
    vi.doMock('keytar', () => ({
      default: {
        getPassword: (service: string, account: string) => answer(() => this.of(service).get(account) ?? null),
        setPassword: (service: string, account: string, password: string) =>
          answer(() => {
            this.before(account);
            this.of(service).set(account, password);
          }),
        deletePassword: (service: string, account: string) =>
          answer(() => {
            this.before(account);
            return this.of(service).delete(account);
          }),
        findCredentials: (service: string) => answer(() => [...this.of(service)].map(([account, password]) => ({ account, password }))),
      },
    }));
  }
}
