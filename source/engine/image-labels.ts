import { fullImageId } from './container-facts.ts';
import type { ContainerFacts } from './engine.ts';
import { unlessRefused } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';

type Labels = Readonly<Record<string, string>>;

/** Compose writes these two families of labels on everything it creates. */
const composeFamilies = ['com.docker.compose.', 'io.podman.compose.'];
/** `compose build` writes these, and only these, into the images it builds. */
const builtInto = /^(com\.docker|io\.podman)\.compose\.(project|service|version)$/;

/** The image behind an id never changes: all are queried with one request, and again when a container names an unknown one. */
export class ImageLabels {
  readonly #byId = new Map<string, Labels>();
  #reading: Promise<void> | undefined;

  constructor(private readonly link: EngineLink) {}

  /** Starts the first query before it is known whether any container needs it: nearly always one does, and listing containers is faster. */
  prepare(): void {
    if (this.#byId.size === 0) this.#readAll().catch(() => undefined);
  }

  async withoutThoseOfImages<T extends ContainerFacts>(containers: readonly T[], signal: AbortSignal): Promise<T[]> {
    const labelled = containers.filter(({ labels }) => Object.keys(labels).length > 0);
    const missing = () => [...new Set(labelled.map(({ imageId }) => imageId))].filter((id) => id !== '' && !this.#byId.has(id));
    if (missing().length > 0) await this.#readAll();
    // The list omits some: an image that was removed while its container exists, or one platform's part of another.
    for (const id of missing()) this.#byId.set(id, await this.#readOne(id, signal));
    return containers.map((container) => ({
      ...container,
      labels: makersLabels(container.labels, this.#byId.get(container.imageId) ?? {}),
    }));
  }

  async #readAll(): Promise<void> {
    // Shared by all callers: one that cancels must not end it. The request has its own limit.
    const { signal } = new AbortController();
    this.#reading ??= this.link
      .get<{ Id: string; Labels?: Record<string, string> | null }[] | null>('/images/json', {
        signal,
        query: { all: true },
        bare: !this.link.isGreeted,
      })
      .then((images) => {
        for (const { Id, Labels } of images ?? []) this.#byId.set(fullImageId(Id), Labels ?? {});
      })
      .finally(() => {
        this.#reading = undefined;
      });
    // If images cannot be listed, all labels count as the creator's.
    await unlessRefused(this.#reading);
  }

  async #readOne(id: string, signal: AbortSignal): Promise<Labels> {
    const image = await unlessRefused(
      this.link.get<{ Config?: { Labels?: Record<string, string> | null } | null }>(`/images/${encodeURIComponent(id)}/json`, { signal }),
    );
    return image?.Config?.Labels ?? {};
  }
}

/**
 * Removes labels that the image has with the same value. An image built by compose has the project and service labels itself: they count
 * as the container's if compose created it too, as its further labels show (a number, a hash).
 */
export function makersLabels(labels: Labels, ofImage: Labels): Labels {
  const inherited = (name: string) => Object.hasOwn(ofImage, name) && ofImage[name] === labels[name];
  const ofCompose = (name: string) => composeFamilies.some((family) => name.startsWith(family));
  const composeMadeIt = Object.keys(labels).some((name) => ofCompose(name) && !builtInto.test(name) && !inherited(name));
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !inherited(name) || (composeMadeIt && builtInto.test(name))));
}
