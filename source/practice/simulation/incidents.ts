import type { Machine } from '../engine/machine.ts';
import type { Simulation } from './build-simulation.ts';

export type Incidents = ReturnType<typeof openIncidents>;

const gigabyte = 1024 ** 3;

export function openIncidents(machine: Machine, simulation: Simulation) {
  const play = (incident: string, components: readonly string[]) => {
    for (const { component, program } of simulation.services) if (components.includes(component)) program.play(incident);
  };
  let meshNeedsRestart = false;
  const fullVolume = () => machine.volumes.get('rss-reader_db');
  const all: readonly { name: string; title: string; summary: string; play(): Promise<void> | void }[] = [
    {
      name: 'restart-loop',
      title: 'A program in a restart loop',
      summary: 'The password vault cannot open its database, exits with an error and is restarted, with growing delays.',
      play: async () => {
        play('restart-loop', ['password-vault']);
        const vault = simulation.service('password-vault')?.container;
        if (vault) await (vault.isUp ? machine.crash(vault, 12) : machine.start(vault));
      },
    },
    {
      name: 'sealed',
      title: 'A restart that seals the secrets manager',
      summary: 'The secrets manager is restarted, as by an update, and is sealed until enough key shares are entered.',
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
        'A key share of another server is accepted. At the threshold all shares are discarded, and the error does not identify the wrong one.',
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
      title: 'A database on a full disk',
      summary: 'The volume of the feed reader’s database is full: the database refuses to write, and the reader fails.',
      play: () => {
        play('full-disk', ['rss-reader']);
        const volume = fullVolume();
        if (volume) volume.sizeBytes = 96 * gigabyte;
      },
    },
    {
      name: 'attack',
      title: 'A password guessing attack',
      summary: 'Bursts of failed logins arrive through the reverse proxy at the sign-on portal, until the intrusion prevention decides.',
      play: () => play('attack', ['reverse-proxy', 'sso-portal', 'intrusion-prevention']),
    },
    {
      name: 'newer-images',
      title: 'Newer images in the registry',
      summary: 'The feed reader and its reverse proxy have newer images under the tags in use: an update is available.',
      play: () => {
        for (const component of ['rss-reader', 'reverse-proxy']) {
          const image = simulation.service(component)?.container.spec.image;
          if (image) machine.images.publish(image);
        }
      },
    },
  ];
  const restart = async (component: string) => {
    const container = simulation.service(component)?.container;
    if (container) await machine.restart(container, { graceSeconds: 1 });
  };
  const calm = async () => {
    for (const { container, program } of simulation.services) {
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
