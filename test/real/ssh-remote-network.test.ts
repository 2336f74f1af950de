import { appendFile, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it, onTestFailed } from 'vitest';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { describeNetwork, makeNetwork, type RemoteNetwork } from './remote-network.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const soon = (limitMs = 30_000) => AbortSignal.timeout(limitMs);
/** Five seconds, and one for a machine that has much else to do. */
const reportedMs = 6_000;
const backMs = 45_000;

await describeNetwork('machines in networks of their own', () => {
  describeSshd('one behind the other', () => {
    let network: RemoteNetwork;
    let sshds: Record<'near' | 'deep', Sshd>;
    let near: RemoteHost;
    let deep: RemoteHost;

    beforeAll(async () => {
      network = await makeNetwork();
      const port = 2222;
      sshds = {
        near: await startSshd({ within: network.near, address: network.nearAddress, port }),
        deep: await startSshd({ within: network.deep, address: network.deepAddress, port }),
      };
      const client = await sshds.deep.client({ deep: { config: ['ProxyJump near'] } });
      await appendFile(client.config, await readFile((await sshds.near.client({ near: {} })).config));
      const { program } = client;
      near = await openRemote(sshds.near, { program, destination: 'near' });
      deep = await openRemote(sshds.deep, { program, destination: 'deep' });
    });
    afterAll(async () => {
      await Promise.all([near?.leave(), deep?.leave()]);
      for (const sshd of Object.values(sshds ?? {})) await sshd.leave();
      await network?.leave();
    });

    /** A second try finds everything where the first one did. */
    const mendAfterwards = () =>
      onTestFailed(async () => {
        await sshds.near.kill();
        await network.mend();
        await sshds.near.start();
      });
    const networkOf = async ({ host }: RemoteHost) => {
      const { stdout } = await host.exec(['readlink', '/proc/self/ns/net'], { signal: soon(), limitMs: 10_000 });
      return Buffer.from(stdout).toString();
    };
    const seen = async () => new Set([await networkOf(near), await networkOf(deep)]).size;
    /** Does something to the network, and says how long it took until these were told. */
    const away = async (happen: () => Promise<void>, ...hosts: RemoteHost[]) => {
      await Promise.all(hosts.map((remote) => remote.link('connected', backMs)));
      await happen();
      const sinceMs = performance.now();
      await Promise.all(hosts.map((remote) => remote.link('away', 15_000)));
      expect(performance.now() - sinceMs).toBeLessThan(reportedMs);
      for (const { host } of hosts) expect(host.link.view.fault?.kind).toBe('unreachable');
    };

    it('are both reached, the second through the first', async () => {
      await Promise.all([near, deep].map(({ host }) => host.link.ready(soon())));
      expect(await seen()).toBe(2);
    });

    it('a pulled cable is told within 5 s, of both where it leads to both, and they are back by themselves', async () => {
      mendAfterwards();
      await away(() => network.pull('near'), near, deep);
      expect(near.host.link.view.fault?.code).toBe('unreachable.silent');
      await network.plug('near');
      await Promise.all([near.link('connected', backMs), deep.link('connected', backMs)]);
      expect(await seen()).toBe(2);

      const states = near.states.length;
      await away(() => network.pull('deep'), deep);
      await network.plug('deep');
      await deep.link('connected', backMs);
      expect(await seen()).toBe(2);
      expect(near.states.length).toBe(states);
    });

    it('one that loses its power and starts anew is there again with the key that is known', async () => {
      mendAfterwards();
      const before = await networkOf(near);
      await away(
        async () => {
          await network.pull('near');
          await sshds.near.kill();
          await network.renewNear();
        },
        near,
        deep,
      );
      await sshds.near.start();
      await Promise.all([near.link('connected', backMs), deep.link('connected', backMs)]);
      expect(await networkOf(near)).not.toBe(before);
      expect(await seen()).toBe(2);
    });
  });
});
