import type { Machine } from '../engine/machine.ts';
import type { PracticeProduct } from '../practice.ts';
import type { World } from './build-world.ts';

export interface Incident {
  name: string;
  title: string;
  summary: string;
  play(): Promise<void> | void;
}

export interface Incidents {
  readonly all: readonly Incident[];
  calm(): Promise<void>;
}

const gigabyte = 1024 ** 3;

export function openIncidents(machine: Machine, world: World, products: readonly PracticeProduct[]): Incidents {
  const played = new Set<string>();
  const play = (incident: string, components: readonly string[]) => {
    for (const { component, program } of world.services) if (components.includes(component)) program.play(incident);
  };
  const fullVolume = () => machine.volumes.get('rss-reader_db');
  const own: readonly Incident[] = [
    {
      name: 'restart-loop',
      title: 'A program that dies and is started again',
      summary: 'The password vault cannot open its database, ends with an error and is started again, each time a little later.',
      play: async () => {
        play('restart-loop', ['password-vault']);
        const vault = world.service('password-vault')?.container;
        if (vault) await (vault.isUp ? machine.crash(vault, 12) : machine.start(vault));
      },
    },
    {
      name: 'sealed',
      title: 'A restart that seals the secrets manager',
      summary: 'The secrets manager is restarted, as by an update, and is sealed until enough key shares are given.',
      play: () => restart('secrets-manager-path'),
    },
    {
      name: 'full-disk',
      title: 'A database without room',
      summary: 'The volume of the feed reader’s database is full: the database refuses to write, and the reader fails.',
      play: () => {
        play('full-disk', ['rss-reader']);
        const volume = fullVolume();
        if (volume) volume.sizeBytes = 96 * gigabyte;
      },
    },
    {
      name: 'attack',
      title: 'Somebody guesses passwords',
      summary: 'Bursts of failed logins arrive through the reverse proxy at the sign-on portal, until the intrusion prevention decides.',
      play: () => play('attack', ['reverse-proxy', 'sso-portal']),
    },
    {
      name: 'newer-images',
      title: 'Newer images in the registry',
      summary: 'The feed reader and its reverse proxy were published anew under the tags that are in use: there is something to update.',
      play: () => {
        for (const component of ['rss-reader', 'reverse-proxy']) {
          const image = world.service(component)?.container.spec.image;
          if (image) machine.images.publish(image);
        }
      },
    },
  ];
  const restart = async (component: string) => {
    const container = world.service(component)?.container;
    if (container) await machine.restart(container, { graceSeconds: 1 });
  };
  const ofProducts = products.flatMap(({ incidents = [] }) => incidents);
  const others = ofProducts.filter(({ name }) => !own.some((incident) => incident.name === name));
  return {
    all: [...own, ...others].map((incident) => ({
      ...incident,
      play: async () => {
        played.add(incident.name);
        await incident.play();
        // A product joins an incident of the same name. A restart alone seals: the product must not do it again.
        for (const joining of ofProducts)
          if (joining.name === incident.name && own.includes(incident) && joining.name !== 'sealed') joining.play();
      },
    })),
    calm: async () => {
      for (const { container, program } of world.services) {
        program.play(undefined);
        if (container.state.status === 'restarting') await machine.start(container).catch(() => undefined);
      }
      // A restart brings its database back.
      if (played.has('mesh-database')) await restart('mesh-control-server');
      played.clear();
      const volume = fullVolume();
      if (volume && volume.sizeBytes > gigabyte) volume.sizeBytes = gigabyte / 2;
    },
  };
}
