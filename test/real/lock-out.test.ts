import { appendFile, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FlowContext } from '../../source/flows/flow.ts';
import { parseBanTarget } from '../../source/products/crowdsec/client/ban-target.ts';
import { guardsOf, lockOutReason } from '../../source/products/crowdsec/lock-out.ts';
import { EngineDouble } from '../doubles/engine-double.ts';
import { engineView, FleetDouble } from '../doubles/fleet-double.ts';
import { openRemote, type RemoteHost } from './remote-host.ts';
import { describeNetwork, makeNetwork, type RemoteNetwork } from './remote-network.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const soon = (limitMs = 60_000) => AbortSignal.timeout(limitMs);

await describeNetwork('who must not be banned on machines in networks of their own', () => {
  describeSshd('one behind the other', () => {
    let network: RemoteNetwork;
    let sshds: Record<'near' | 'deep', Sshd>;
    let near: RemoteHost;
    let deep: RemoteHost;
    let context: FlowContext;

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
      const engines = ['near', 'deep'].map((name) => engineView(name, { hostKind: 'ssh' }));
      context = {
        fleet: new FleetDouble({ engines }),
        engineOf: () => new EngineDouble(),
        hostOf: (engineName: string) => (engineName === 'near' ? near : deep).host,
        hosts: { list: async () => ({ near: { ssh: 'near' }, deep: { ssh: 'deep' } }), program, env: process.env },
      } as unknown as FlowContext;
    });
    afterAll(async () => {
      await Promise.all([near?.leave(), deep?.leave()]);
      for (const sshd of Object.values(sshds ?? {})) await sshd.leave();
      await network?.leave();
    });

    /** Why this would lock the operator out of that machine. */
    async function reason(engineName: 'near' | 'deep', text: string): Promise<string | undefined> {
      const target = parseBanTarget(text);
      if (typeof target === 'string') throw new Error(target);
      await (engineName === 'near' ? near : deep).host.link.ready(soon());
      return lockOutReason(target, await guardsOf(context, engineName, undefined, soon()));
    }
    /** The nearer end of the cable to a machine: where those come from who come over it. */
    const before = (address: string) => address.replace(/\.\d+$/, '.1');

    it('the operator, as each machine sees them: behind a jump host that is the jump host', { timeout: 120_000 }, async () => {
      expect(await reason('near', before(network.nearAddress))).toMatch(/the address from which you connect to near/);
      expect(await reason('deep', before(network.deepAddress))).toMatch(/the address from which you connect to deep/);
      // It is not seen over there, and yet is where the operator sits.
      expect(await reason('deep', before(network.nearAddress))).toMatch(/the machine that you are using/);
      expect(await reason('deep', network.deepAddress)).toMatch(/at which you reach deep|an address of deep itself/);
    });

    it('every listed host and what ssh jumps over, and the network that the machine is in', { timeout: 120_000 }, async () => {
      expect(await reason('deep', network.nearAddress)).toMatch(/your host near|the jump host of your host deep/);
      expect(await reason('near', network.deepAddress)).toMatch(/your host deep/);
      expect(await reason('deep', network.deepAddress.replace(/\.\d+$/, '.99'))).toMatch(/the network of deep on /);
      expect(await reason('deep', network.deepAddress.replace(/\.\d+$/, '.0/16'))).toMatch(/includes/);
      expect(await reason('deep', '203.0.113.7')).toBeUndefined();
    });
  });
});
