import { watchOwnFile } from '../config/own-files.ts';
import type { HostSettings, Settings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';

/** One look at the time of a file: often enough for who has just added a host in another terminal. */
const lookEveryMs = 2_000;

export interface LiveHostsOptions {
  /** `config.yaml`, which need not be there. */
  file: string;
  /** As the file has them now. Throws a Fault while nothing can be made of it. */
  read(): Promise<Settings>;
  /** Those that are shown already. */
  shown: Readonly<Record<string, HostSettings>>;
  add(name: string, host: HostSettings, settings: Settings): Promise<void>;
  drop(name: string, host: HostSettings): Promise<void>;
}

/** Hosts that are added to the configuration appear, and those that are taken out of it go, whoever changes it, while the console runs. */
export class LiveHosts {
  readonly #options: LiveHostsOptions;
  readonly #shown: Map<string, HostSettings>;
  #settings: Settings | undefined;
  readonly #unwatch: () => void;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LiveHostsOptions) {
    this.#options = options;
    this.#shown = new Map(Object.entries(options.shown));
    this.#unwatch = watchOwnFile(options.file, lookEveryMs, () => void this.look());
  }

  /** Takes over what the file says now. Never rejects: while it is wrong, all stays as it is. */
  look(): Promise<void> {
    // One look after the other: two would add the same host twice.
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  /** A host that is shown, as the configuration had it when it was read last. */
  shown(name: string): [host: HostSettings, settings: Settings] | undefined {
    const host = this.#shown.get(name);
    return host && this.#settings && [host, this.#settings];
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch();
  }

  async #look(): Promise<void> {
    const { read, add, drop } = this.#options;
    let settings: Settings;
    try {
      settings = await read();
    } catch (thrown) {
      if (thrown instanceof Fault) return;
      throw thrown;
    }
    this.#settings = settings;
    for (const [name, host] of [...this.#shown]) {
      if (this.#isClosed) return;
      if (isSame(host, settings.hosts[name])) continue;
      this.#shown.delete(name);
      await drop(name, host);
    }
    for (const [name, host] of Object.entries(settings.hosts)) {
      if (this.#isClosed) return;
      if (this.#shown.has(name)) continue;
      this.#shown.set(name, host);
      try {
        await add(name, host, settings);
      } catch (thrown) {
        // An address that is none: the next start says so.
        if (!(thrown instanceof Fault)) throw thrown;
      }
    }
  }
}

function isSame(one: HostSettings, other: HostSettings | undefined): boolean {
  return other !== undefined && one.ssh === other.ssh && one.sudo === other.sudo && one.stackFolder === other.stackFolder;
}
