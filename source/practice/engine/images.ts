import { createHash, randomBytes } from 'node:crypto';
import { Refusal } from './refusal.ts';

export interface PracticeImage {
  id: string;
  tags: string[];
  /** `caddy@sha256:…`, as its registry had it when it was fetched; stays when the tag moves on. Empty for what was made here. */
  digests: readonly string[];
  sizeBytes: number;
  createdMs: number;
  labels: Readonly<Record<string, string>>;
  command: readonly string[];
  entrypoint: readonly string[];
  environment: Readonly<Record<string, string>>;
  exposed: readonly string[];
}

/** `caddy` is `caddy:latest`. */
export function withTag(name: string): string {
  return name.includes('@') || /:[^/:]+$/.test(name) ? name : `${name}:latest`;
}

const repositoryOf = (tag: string): string => tag.replace(/:[^/:]*$/, '');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `docker.io/library/caddy:2` as Docker itself calls it: `caddy:2`. */
export function familiar(name: string): string {
  return name.replace(/^(?:docker\.io|index\.docker\.io)\//, '').replace(/^library\//, '');
}

export class Images {
  readonly #byId = new Map<string, PracticeImage>();
  /** How often the registry's image of a tag was replaced by a newer one. */
  readonly #editions = new Map<string, number>();

  /** What the registry has under this name, put onto this machine; the tag leaves the image that had it. */
  add(name: string, facts: Partial<Omit<PracticeImage, 'id' | 'tags' | 'digests'>> = {}): PracticeImage {
    const tag = familiar(withTag(name));
    const known = this.find(tag);
    const digest = this.registryDigest(tag);
    if (known && (tag.includes('@') || known.digests.length === 0 || known.digests.some((one) => one.endsWith(digest)))) return known;
    if (known) known.tags = known.tags.filter((other) => other !== tag);
    const id = `sha256:${hashOf(`image ${this.#edition(tag)}`)}`;
    const image: PracticeImage = {
      id,
      tags: tag.includes('@') ? [] : [tag],
      digests: [tag.includes('@') ? tag : `${repositoryOf(tag)}@${digest}`],
      sizeBytes: 40_000_000 + (Number.parseInt(id.slice(7, 13), 16) % 400_000_000),
      createdMs: 0,
      labels: {},
      command: [],
      entrypoint: [],
      environment: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      exposed: [],
      ...facts,
      // A newer edition does what the one before it did.
      ...(known && { command: known.command, entrypoint: known.entrypoint, environment: known.environment, exposed: known.exposed }),
    };
    this.#byId.set(id, image);
    return image;
  }

  /** What a registry says of a name: the digest of its newest image there. */
  registryDigest(name: string): string {
    const tag = familiar(withTag(name));
    return tag.includes('@') ? tag.replace(/^.*@/, '') : `sha256:${hashOf(`digest ${this.#edition(tag)}`)}`;
  }

  /** Is what the registry has under this name on this machine? */
  isCurrent(name: string): boolean {
    const digest = this.registryDigest(name);
    return this.find(name)?.digests.some((one) => one.endsWith(digest)) ?? false;
  }

  /** The registry gets a newer image under this name. */
  publish(name: string): void {
    const tag = familiar(withTag(name));
    this.#editions.set(tag, (this.#editions.get(tag) ?? 0) + 1);
  }

  #edition(tag: string): string {
    const edition = this.#editions.get(tag) ?? 0;
    return edition === 0 ? tag : `${tag} ${edition}`;
  }

  /** Of an archive: `POST /images/create?fromSrc=-`. */
  load(name: string | undefined, facts: Partial<PracticeImage>): PracticeImage {
    const image: PracticeImage = {
      sizeBytes: 0,
      createdMs: Date.now(),
      labels: {},
      command: [],
      entrypoint: [],
      environment: {},
      exposed: [],
      digests: [],
      ...facts,
      id: `sha256:${randomBytes(32).toString('hex')}`,
      tags: name ? [familiar(withTag(name))] : [],
    };
    this.#byId.set(image.id, image);
    return image;
  }

  all(): PracticeImage[] {
    return [...this.#byId.values()].sort((a, b) => b.createdMs - a.createdMs);
  }

  find(name: string): PracticeImage | undefined {
    const digest = name.replace(/^sha256:/, '');
    if (/^[0-9a-f]{4,64}$/.test(digest)) {
      const found = this.all().find(({ id }) => id.startsWith(`sha256:${digest}`));
      if (found) return found;
    }
    const tag = familiar(withTag(name));
    return this.all().find(({ tags, digests }) => tags.includes(tag) || digests.includes(tag));
  }

  image(name: string): PracticeImage {
    const found = this.find(name);
    if (!found) throw new Refusal(404, `No such image: ${/^sha256:/.test(name) ? name : withTag(name)}`);
    return found;
  }

  tag(image: PracticeImage, name: string): void {
    const tag = familiar(withTag(name));
    for (const one of this.all()) one.tags = one.tags.filter((other) => other !== tag);
    image.tags.push(tag);
  }

  remove(image: PracticeImage): void {
    this.#byId.delete(image.id);
  }
}
