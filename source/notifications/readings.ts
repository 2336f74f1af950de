import type { NotificationRule } from '../config/settings.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { shownCertificates } from '../hosts/presented-certificates.ts';
import { freeSpace } from '../stack/free-space.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText, dateText } from '../text/quantities.ts';
import type { Fact } from './evaluate.ts';

/** Disks and certificates change slowly, and each reading costs a program or a connection. */
const everyMs = { disk: 5 * 60_000, certificate: 60 * 60_000 };
/** After a reading that failed. */
const againMs = 60_000;
const dialLimitMs = 10_000;

export interface ReadableHost {
  name: string;
  host: Host;
  /** Folders whose filesystems matter. */
  folders(signal: AbortSignal): Promise<readonly string[]>;
}

interface Reading {
  dueMs: number;
  facts: readonly Fact[];
  /** In the form of `Facts.unknown`, if the last reading failed. */
  unknown: readonly string[];
}

/** Readings that only rules require. */
export class Readings {
  readonly #readings = new Map<string, Reading>();
  readonly #addresses: readonly string[];
  readonly #readsDisks: boolean;

  constructor(
    rules: readonly NotificationRule[],
    private readonly local: Host,
  ) {
    const kinds = new Set(rules.map(({ condition }) => condition.kind));
    this.#readsDisks = kinds.has('disk');
    this.#addresses = [...new Set(rules.flatMap(({ addresses }) => addresses))];
  }

  /** Reads what is due. Never rejects, except with the reason of the signal. */
  async refresh(hosts: readonly ReadableHost[], nowMs: number, signal: AbortSignal): Promise<void> {
    const disks = this.#readsDisks ? hosts : [];
    await Promise.all([
      ...disks.map((host) => this.#read(`disk ${host.name}`, everyMs.disk, nowMs, () => diskFacts(host, signal))),
      ...this.#addresses.map((address) =>
        this.#read(`certificate ${address}`, everyMs.certificate, nowMs, () => certificateFacts(this.local, address, nowMs, signal)),
      ),
    ]);
    signal.throwIfAborted();
  }

  /** `unknown` in the form of `Facts.unknown`. */
  get latest(): { facts: readonly Fact[]; unknown: readonly string[] } {
    const all = [...this.#readings.values()];
    return { facts: all.flatMap(({ facts }) => facts), unknown: all.flatMap(({ unknown }) => unknown) };
  }

  async #read(name: string, intervalMs: number, nowMs: number, read: () => Promise<Fact[]>): Promise<void> {
    const known = this.#readings.get(name);
    if (known && known.dueMs > nowMs && known.dueMs <= nowMs + intervalMs) return;
    const facts = await read().catch(() => undefined);
    this.#readings.set(name, { dueMs: nowMs + (facts ? intervalMs : againMs), facts: facts ?? [], unknown: facts ? [] : [name] });
  }
}

async function diskFacts({ name, host, folders }: ReadableHost, signal: AbortSignal): Promise<Fact[]> {
  const spaces = await freeSpace(host, await folders(signal), signal);
  const byMount = new Map(spaces.map((space) => [space.mount, space]));
  return [...byMount.values()].map(({ mount, freeBytes, usableBytes }) => ({
    ...{ kind: 'disk', key: `${name} ${mount}`, host: name, about: name, freeBytes, usableBytes },
    message: `${bytesText(freeBytes)} of ${bytesText(usableBytes)} free on ${cleanLine(mount)}.`,
    remedy: 'Show disk usage: quarterdeck df',
  }));
}

async function certificateFacts(host: Host, address: string, nowMs: number, signal: AbortSignal): Promise<Fact[]> {
  const [name = '', port = '443'] = address.split(':');
  const remedy = 'Check the reverse proxy or program that renews the certificate.';
  const subject = { kind: 'certificate', key: address, host: address, about: address, remedy } as const;
  const isNamed = !/^[\d.]+$/.test(name);
  const [certificate] = await limited(signal, dialLimitMs, async (both) => {
    const stream = await host.dial({ host: name, port: Number(port) }, both);
    return shownCertificates(stream, isNamed ? name : undefined, both);
  });
  if (!certificate) return [];
  const endMs = Date.parse(certificate.validTo);
  const message = `The certificate ${endMs < nowMs ? 'expired' : 'expires'} on ${dateText(endMs)}.`;
  return [{ ...subject, leftMs: endMs - nowMs, message }];
}
