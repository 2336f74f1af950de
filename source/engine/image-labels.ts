import { Fault } from '../faults/fault.ts';
import { fullImageId } from './container-facts.ts';
import type { ContainerFacts } from './engine.ts';
import type { EngineLink } from './engine-link.ts';

type Labels = Readonly<Record<string, string>>;

/** Compose writes these two families on everything it makes. */
const composeFamilies = ['com.docker.compose.', 'io.podman.compose.'];
/** `compose build` writes these, and only these, into the images it builds. */
const builtInto = /^(com\.docker|io\.podman)\.compose\.(project|service|version)$/;

/**
 * Labels of images, to tell what a container's maker claims from what its image claims. Images do not change under their id, so each
 * is asked for once: all of them with one request, again when a container names one that is not known yet.
 */
export class ImageLabels {
  readonly #link: EngineLink;
  readonly #byId = new Map<string, Labels>();
  #reading: Promise<void> | undefined;

  constructor(link: EngineLink) {
    this.#link = link;
  }

  /** Asks for them before it is known whether any container needs them, the first time: nearly always one does, and whoever lists containers waits less. */
  prepare(): void {
    if (this.#byId.size === 0) this.#readAll().catch(() => undefined);
  }

  /** The containers, each with the labels of its maker alone. */
  async withoutThoseOfImages<T extends ContainerFacts>(containers: readonly T[], signal: AbortSignal): Promise<T[]> {
    const labelled = containers.filter(({ labels }) => Object.keys(labels).length > 0);
    const missing = () => [...new Set(labelled.map(({ imageId }) => imageId))].filter((id) => id !== '' && !this.#byId.has(id));
    if (missing().length > 0) await this.#readAll();
    // The list leaves some out: an image that was removed under its container, one platform's part of another.
    for (const id of missing()) this.#byId.set(id, await this.#readOne(id, signal));
    return containers.map((container) => ({
      ...container,
      labels: makersLabels(container.labels, this.#byId.get(container.imageId) ?? {}),
    }));
  }

  async #readAll(): Promise<void> {
    // Shared by all who wait for it: one of them leaving must not end it. The request has a limit of its own.
    const { signal } = new AbortController();
    this.#reading ??= this.#link
      .get<{ Id: string; Labels?: Record<string, string> | null }[] | null>('/images/json', { signal, query: { all: true } })
      .then((images) => {
        for (const { Id, Labels } of images ?? []) this.#byId.set(fullImageId(Id), Labels ?? {});
      })
      .finally(() => {
        this.#reading = undefined;
      });
    await this.#reading.catch(unlessRefused);
  }

  async #readOne(id: string, signal: AbortSignal): Promise<Labels> {
    const image = await this.#link
      .get<{ Config?: { Labels?: Record<string, string> | null } | null }>(`/images/${encodeURIComponent(id)}/json`, { signal })
      .catch(unlessRefused);
    return image?.Config?.Labels ?? {};
  }
}

/** A socket proxy may hide the images: then all labels count as the maker's. */
function unlessRefused(thrown: unknown): undefined {
  if (thrown instanceof Fault && thrown.code.startsWith('engine.')) return undefined;
  throw thrown;
}

/**
 * Labels of a container without those that its image has with the same value. An image that compose built carries the project and the
 * service itself: where compose made the container too, it wrote more than these (a number, a hash), and then they are its claims.
 */
export function makersLabels(labels: Labels, ofImage: Labels): Labels {
  const inherited = (name: string) => Object.hasOwn(ofImage, name) && ofImage[name] === labels[name];
  const ofCompose = (name: string) => composeFamilies.some((family) => name.startsWith(family));
  const composeMadeIt = Object.keys(labels).some((name) => ofCompose(name) && !builtInto.test(name) && !inherited(name));
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !inherited(name) || (composeMadeIt && builtInto.test(name))));
}
