import { createHash, randomBytes } from 'node:crypto';
import { Refusal } from './refusal.ts';

export interface PracticeImage {
  id: string;
  tags: string[];
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

/** `docker.io/library/caddy:2` as Docker itself calls it: `caddy:2`. */
export function familiar(name: string): string {
  return name.replace(/^(?:docker\.io|index\.docker\.io)\//, '').replace(/^library\//, '');
}

export class Images {
  readonly #byId = new Map<string, PracticeImage>();

  add(name: string, facts: Partial<Omit<PracticeImage, 'id' | 'tags'>> = {}): PracticeImage {
    const tag = familiar(withTag(name));
    const known = this.find(tag);
    if (known) return known;
    const id = `sha256:${createHash('sha256').update(`image ${tag}`).digest('hex')}`;
    const image: PracticeImage = {
      id,
      tags: [tag],
      sizeBytes: 40_000_000 + (Number.parseInt(id.slice(7, 13), 16) % 400_000_000),
      createdMs: 0,
      labels: {},
      command: [],
      entrypoint: [],
      environment: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      exposed: [],
      ...facts,
    };
    this.#byId.set(id, image);
    return image;
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
    return this.all().find(({ tags }) => tags.includes(tag));
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
