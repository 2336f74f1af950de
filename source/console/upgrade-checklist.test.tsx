import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { ClusterFixture, type FixtureOptions } from '../../test/doubles/cluster-fixture.ts';
import { misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import type { FlowInput } from '../flows/flow.ts';

const size = { columns: 80, rows: 24 };
const patienceMs = 60_000;
let fixture: ClusterFixture;
afterEach(() => fixture?.close());

/** Runs the real checklist on a practice cluster, whose disruption budgets allow evictions, with the console in front. */
async function openChecklist(cluster: FixtureOptions, options: FlowInput['options'] = {}) {
  fixture = await ClusterFixture.open(cluster);
  for (const name of ['postgres', 'queue-old'])
    await fixture.ask(`/apis/policy/v1/namespaces/data/poddisruptionbudgets/${name}`, { method: 'DELETE' });
  const screen = await openHarness({
    size,
    patienceMs,
    flows: {
      upgrade: async (operator, _input, signal) => {
        fixture.operator = operator as OperatorDouble;
        return (await fixture.run(['practice'], options, signal)).message;
      },
    },
  });
  const begin = async () => {
    await screen.press(':');
    await screen.type('cluster or component');
    await screen.sees('Upgrade a cluster or component step by step');
    await screen.press('enter');
  };
  await begin();
  return { screen, begin };
}
const skip = ['webhooks=off for the night', 'deprecated=our own controller is moved next week'];

describe('the upgrade of a cluster in the console, at 80 x 24 (R73)', { timeout: 120_000 }, () => {
  test('kubeadm: where it is, the release, what is in the way skipped for reasons, a snapshot, then all nodes', async () => {
    const { screen } = await openChecklist({});
    await screen.sees('Current state', 'API server', 'kubeadm', 'Target version', 'v1.32.3', 'quarterdeck upgrade', /PgDn {2}\d+ of \d+/);
    expect(misfits(screen.frame(), size)).toEqual([]);
    // A version that skips a minor is refused.
    await screen.send('\x15');
    await screen.type('1.33.0');
    await screen.press('enter');
    await screen.sees('skips 1.32');
    await screen.send('\x15');
    await screen.type('1.32.4');
    await screen.press('enter');
    await screen.sees('3 blocked', 'Deprecated APIs in use: blocked', 'Upgrade practice from v1.31.6 to v1.32.4', 's skip this');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('s');
    await screen.sees('Reason for skipping "Deprecated APIs in use"');
    await screen.type('moved next week');
    await screen.press('enter');
    await screen.sees('2 blocked', 'Webhooks: blocked');
    await screen.press('s');
    await screen.sees('Reason for skipping "Webhooks"');
    await screen.type('off for the night');
    await screen.press('enter');
    await screen.sees('1 blocked', 'Enter create an etcd snapshot now');
    await screen.press('enter');
    await screen.sees(/Enter continue .*r check again/);
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('enter');
    // An irreversible step requires confirmation.
    await screen.sees('Upgrade the control plane on cp-1 to v1.32.4', 'A downgrade from v1.32.4 is not supported.', 'y yes');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('y');
    await screen.sees('Drain worker-2', /loses its emptyDir data/);
    await screen.press('y');
    await screen.sees('The control plane and 4 nodes of practice run v1.32.4.');
    expect(Object.values(await fixture.nodes())).toEqual(Array.from({ length: 4 }, () => ({ kubelet: 'v1.32.4', cordoned: false })));
  });

  test('Esc at the checklist says that nothing was upgraded, and how it goes on; begun again it does', async () => {
    const { screen, begin } = await openChecklist({}, { to: '1.32.4' });
    await screen.sees('Upgrade practice from v1.31.6 to v1.32.4', 'Esc leave');
    await screen.press('esc');
    await screen.sees('Nothing was upgraded.');
    await begin();
    await screen.sees('Upgrade practice from v1.31.6 to v1.32.4');
    await screen.press('esc');
    await screen.sees('Nothing was upgraded.');
  });

  test('k3s: its own snapshot, then each server by hand with the command on the screen; Esc there says what remains', async () => {
    const { screen, begin } = await openChecklist({ maker: 'k3s', servers: 2 }, { to: '1.32.4', skip });
    await screen.sees('1 blocked', 'Enter create an etcd snapshot now');
    await screen.press('enter');
    await screen.sees(/Enter continue .*r check again/);
    await screen.press('enter');
    // The reason for the manual step is above the question, whatever the earlier output was.
    await screen.sees(
      'Run manually on cp-1 as root (the installer drops options',
      'Confirm that the commands were run on cp-1',
      'https://get.k3s.io',
    );
    await screen.misses('WHAT ');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await fixture.cluster.onNode('cp-1', "curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION='v1.32.4+k3s1' sh -s - server".split(' '));
    await screen.press('enter');
    await screen.sees('Confirm that the commands were run on cp-2');
    await screen.press('esc');
    await screen.sees('1 of 5 steps done.');
    await begin();
    // The control plane is half upgraded: the next step is not only about the nodes.
    await screen.sees('Control plane on cp-2', 'Upgrade practice from v1.31.6+k3s1 to v1.32.4+k3s1', /Enter continue .*r check again/);
    await screen.press('enter');
    await screen.sees('Confirm that the commands were run on cp-2');
    await screen.press('esc');
    await screen.sees('1 of 5 steps done.');
  });

  test('Talos: one command for all nodes', async () => {
    const { screen } = await openChecklist({ maker: 'talos' }, { to: '1.32.4', skip });
    await screen.sees('Enter create an etcd snapshot now');
    await screen.press('enter');
    await screen.sees(/Enter continue .*r check again/);
    await screen.press('enter');
    await screen.sees('Upgrade Kubernetes on all nodes to v1.32.4', 'upgrade-k8s --to 1.32.4', 'y yes');
    expect(misfits(screen.frame(), size)).toEqual([]);
    await screen.press('y');
    await screen.sees('The control plane and 4 nodes of practice run v1.32.4.');
  });
});

let practice: PracticeFixture | undefined;
afterAll(() => practice?.close());

test('the upgrade of a component in the console: what comes before is confirmed, left there, and gone on with (R84)', {
  timeout: 120_000,
}, async () => {
  const opened = await PracticeFixture.open();
  practice = opened;
  const id = 'secrets-manager-path';
  const report = join(opened.access.folder, 'report.md');
  const screen = await openHarness({
    size,
    patienceMs,
    flows: {
      upgrade: async (operator) =>
        (await opened.run('upgrade', '', { words: [id], options: { report } }, { operator: operator as OperatorDouble })).message,
    },
  });
  const begin = async () => {
    await screen.press(':');
    await screen.type('cluster or component');
    await screen.sees('Upgrade a cluster or component step by step');
    await screen.press('enter');
  };
  await begin();
  await screen.sees('Take a snapshot of the storage first', 'Done', 'Skip', 'Pause');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('enter');
  await screen.sees(/share/, 'Done');
  await screen.press('esc');
  await screen.sees(new RegExp(`${id} was not\\s+updated`));
  await screen.press('enter');
  await begin();
  // The first share is kept.
  await screen.sees(/share/, 'Done');
  await screen.press('enter');
  await screen.sees(`Update ${id}`, 'Enter continue and review the changes');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees(new RegExp(`${id} was not\\s+updated`));
});
