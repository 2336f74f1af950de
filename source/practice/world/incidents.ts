import type { Machine } from '../engine/machine.ts';
import type { PracticeProduct } from '../practice.ts';
import type { World } from './build-world.ts';

export interface Incident {
  name: string;
  title: string;
  summary: string;
  play(): Promise<void> | void;
}

const gigabyte = 1024 ** 3;

/** What can happen on cue, and how it ends. */
export class Incidents {
  readonly all: readonly Incident[];
  readonly #machine: Machine;
  readonly #world: World;
  readonly #played = new Set<string>();

  constructor(machine: Machine, world: World, products: readonly PracticeProduct[]) {
    this.#machine = machine;
    this.#world = world;
    const ofProducts = products.flatMap(({ incidents }) => incidents ?? []);
    const own: Incident[] = [
      {
        name: 'restart-loop',
        title: 'A program that dies and is started again',
        summary: 'The password vault cannot open its database, ends with an error and is started again, each time a little later.',
        play: () => this.#restartLoop(),
      },
      {
        name: 'sealed',
        title: 'A restart that seals the secrets manager',
        summary: 'The secrets manager is restarted, as by an update, and is sealed until enough key shares are given.',
        play: () => this.#sealed(),
      },
      {
        name: 'full-disk',
        title: 'A database without room',
        summary: 'The volume of the feed reader’s database is full: the database refuses to write, and the reader fails.',
        play: () => this.#fullDisk(),
      },
      {
        name: 'attack',
        title: 'Somebody guesses passwords',
        summary: 'Bursts of failed logins arrive through the reverse proxy at the sign-on portal, until the intrusion prevention decides.',
        play: () => this.#feel('attack', ['reverse-proxy', 'sso-portal']),
      },
    ];
    own.push({
      name: 'newer-images',
      title: 'Newer images in the registry',
      summary: 'The feed reader and its reverse proxy were published anew under the tags that are in use: there is something to update.',
      play: () => {
        for (const component of ['rss-reader', 'reverse-proxy']) {
          const actor = this.#world.actor(component);
          if (actor) this.#machine.images.publish(actor.container.spec.image);
        }
      },
    });
    const joined = own.map((incident) => {
      // A restart seals the real way: the product has nothing to add.
      const product = ofProducts.filter(({ name }) => name === incident.name && name !== 'sealed');
      return {
        ...incident,
        play: async () => {
          await incident.play();
          for (const one of product) one.play();
        },
      };
    });
    this.all = [...joined, ...ofProducts.filter(({ name }) => !own.some((one) => one.name === name))].map((incident) => ({
      ...incident,
      play: async () => {
        this.#played.add(incident.name);
        await incident.play();
      },
    }));
  }

  #feel(mood: string, components: readonly string[]): void {
    for (const { component, program } of this.#world.actors) if (components.includes(component)) program.feel(mood);
  }

  async #restartLoop(): Promise<void> {
    const vault = this.#world.actor('password-vault');
    if (!vault) return;
    vault.program.feel('restart-loop');
    if (vault.container.isUp) await this.#machine.crash(vault.container, 12);
    else await this.#machine.start(vault.container);
  }

  async #sealed(): Promise<void> {
    const manager = this.#world.actor('secrets-manager-path');
    if (manager) await this.#machine.restart(manager.container, { graceSeconds: 1 });
  }

  #fullDisk(): void {
    this.#feel('full-disk', ['rss-reader']);
    const volume = this.#machine.volumes.get('rss-reader_db');
    if (volume) volume.sizeBytes = 96 * gigabyte;
  }

  /** Everything is as usual again. */
  async calm(): Promise<void> {
    for (const { container, program } of this.#world.actors) {
      program.feel('usual');
      if (container.state.status === 'restarting') await this.#machine.start(container).catch(() => undefined);
    }
    // A restart brings its database back.
    const mesh = this.#played.has('mesh-database') ? this.#world.actor('mesh-control-server') : undefined;
    if (mesh) await this.#machine.restart(mesh.container, { graceSeconds: 1 });
    this.#played.clear();
    const volume = this.#machine.volumes.get('rss-reader_db');
    if (volume && volume.sizeBytes > gigabyte) volume.sizeBytes = gigabyte / 2;
  }
}
