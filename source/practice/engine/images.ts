import { createHash, randomBytes } from 'node:crypto';
import { Refusal } from './request.ts';

const empty = {
  sizeBytes: 0,
  createdMs: 0,
  labels: {} as Readonly<Record<string, string>>,
  command: [] as readonly string[],
  entrypoint: [] as readonly string[],
  environment: {} as Readonly<Record<string, string>>,
  exposed: [] as readonly string[],
};
type ImageConfig = typeof empty;

export interface PracticeImage extends ImageConfig {
  id: string;
  tags: string[];
  /** `caddy@sha256:…`, as the registry had it when it was pulled; stays when the tag moves. Empty for what was built here. */
  digests: readonly string[];
}

/** `caddy` is `caddy:latest`. */
export function withTag(name: string): string {
  return name.includes('@') || /:[^/:]+$/.test(name) ? name : `${name}:latest`;
}

export const repositoryOf = (tag: string): string => tag.replace(/:[^/:]*$/, '');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `docker.io/library/caddy:2` as Docker itself calls it: `caddy:2`. */
export function familiar(name: string): string {
  return name.replace(/^(?:docker\.io|index\.docker\.io)\//, '').replace(/^library\//, '');
}

export class Images {
  readonly #byId = new Map<string, PracticeImage>();
  /** How often the registry's image of a tag was replaced by a newer one. */
  readonly #editions = new Map<string, number>();

  /** Pulls what the registry has under this name; the tag moves from the image that had it. */
  add(name: string, config: Partial<ImageConfig> = {}): PracticeImage {
    const tag = familiar(withTag(name));
    const known = this.find(tag);
    if (known && (tag.includes('@') || known.digests.length === 0 || this.isCurrent(tag))) return known;
    if (known) known.tags = known.tags.filter((other) => other !== tag);
    const id = `sha256:${hashOf(`image ${this.#edition(tag)}`)}`;
    const { command, entrypoint, environment, exposed } = known ?? {
      ...{ ...empty, environment: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } },
      ...config,
    };
    const image: PracticeImage = {
      id,
      tags: tag.includes('@') ? [] : [tag],
      digests: [tag.includes('@') ? tag : `${repositoryOf(tag)}@${this.registryDigest(tag)}`],
      ...{ ...empty, sizeBytes: 40_000_000 + (Number.parseInt(id.slice(7, 13), 16) % 400_000_000) },
      ...config,
      // A newer edition does what the previous one did.
      ...{ command, entrypoint, environment, exposed },
    };
    this.#byId.set(id, image);
    return image;
  }

  /** Digest of the newest image that the registry has under this name. */
  registryDigest(name: string): string {
    const tag = familiar(withTag(name));
    return tag.includes('@') ? tag.replace(/^.*@/, '') : `sha256:${hashOf(`digest ${this.#edition(tag)}`)}`;
  }

  isCurrent(name: string): boolean {
    const digest = this.registryDigest(name);
    return this.find(name)?.digests.some((known) => known.endsWith(digest)) ?? false;
  }

  publish(name: string): void {
    const tag = familiar(withTag(name));
    this.#editions.set(tag, (this.#editions.get(tag) ?? 0) + 1);
  }

  #edition(tag: string): string {
    const edition = this.#editions.get(tag) ?? 0;
    return edition === 0 ? tag : `${tag} ${edition}`;
  }

  /** Adds an image that no registry has. */
  load(name: string | undefined, config: Partial<ImageConfig>): void {
    const id = `sha256:${randomBytes(32).toString('hex')}`;
    const tags = name ? [familiar(withTag(name))] : [];
    this.#byId.set(id, { ...empty, createdMs: Date.now(), ...config, id, tags, digests: [] });
  }

  all(): PracticeImage[] {
    return [...this.#byId.values()].sort((a, b) => b.createdMs - a.createdMs);
  }

  find(name: string): PracticeImage | undefined {
    const digest = name.replace(/^sha256:/, '');
    const byId = /^[0-9a-f]{4,64}$/.test(digest) && this.all().find(({ id }) => id.startsWith(`sha256:${digest}`));
    const tag = familiar(withTag(name));
    return byId || this.all().find(({ tags, digests }) => tags.includes(tag) || digests.includes(tag));
  }

  image(name: string): PracticeImage {
    const found = this.find(name);
    if (!found) throw new Refusal(404, `No such image: ${/^sha256:/.test(name) ? name : withTag(name)}`);
    return found;
  }

  tag(image: PracticeImage, name: string): void {
    const tag = familiar(withTag(name));
    for (const other of this.all()) other.tags = other.tags.filter((known) => known !== tag);
    image.tags.push(tag);
  }

  remove(image: PracticeImage): void {
    this.#byId.delete(image.id);
  }
}
