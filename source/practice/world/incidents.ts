import type { Machine } from '../engine/machine.ts';
import type { World } from './build-world.ts';

export type Incidents = ReturnType<typeof openIncidents>;

const gigabyte = 1024 ** 3;

export function openIncidents(machine: Machine, world: World) {
  const play = (incident: string, components: readonly string[]) => {
    for (const { component, program } of world.services) if (components.includes(component)) program.play(incident);
  };
  let meshNeedsRestart = false;
  const fullVolume = () => machine.volumes.get('rss-reader_db');
  const all: readonly { name: string; title: string; summary: string; play(): Promise<void> | void }[] = [
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
      name: 'unseal-reset',
      title: 'An unseal attempt that is reset',
      summary: 'Another operator resets the attempt to unseal the secrets manager: progress is back at 0, with a new nonce.',
      play: () => play('unseal-reset', ['secrets-manager-path']),
    },
    {
      name: 'wrong-share',
      title: 'A wrong key share',
      summary:
        'A key share of another server is accepted. At the threshold all shares are dropped, and the error does not name the wrong one.',
      play: () => play('wrong-share', ['secrets-manager-path']),
    },
    {
      name: 'mesh-database',
      title: 'A mesh control server without its database',
      summary: 'Its health check fails. Connected nodes still reach each other, but new ones cannot join. A restart restores the database.',
      play: () => {
        meshNeedsRestart = true;
        play('mesh-database', ['mesh-control-server']);
      },
    },
    {
      name: 'mesh-node-expired',
      title: 'A mesh node with an expired key',
      summary: 'The nas must log in again. Until then, it and the network behind it are unreachable.',
      play: () => play('mesh-node-expired', ['mesh-control-server']),
    },
    {
      name: 'node-not-ready',
      title: 'A cluster node that is not ready',
      summary: 'The kubelet of worker-2 stops reporting: the node is not ready for one minute.',
      play: () => play('node-not-ready', ['cluster']),
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
      play: () => play('attack', ['reverse-proxy', 'sso-portal', 'intrusion-prevention']),
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
  const calm = async () => {
    for (const { container, program } of world.services) {
      program.play(undefined);
      if (container.state.status === 'restarting') await machine.start(container).catch(() => undefined);
    }
    if (meshNeedsRestart) await restart('mesh-control-server');
    meshNeedsRestart = false;
    const volume = fullVolume();
    if (volume && volume.sizeBytes > gigabyte) volume.sizeBytes = gigabyte / 2;
  };
  return { all, calm };
}
