import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ClusterFixture, type FixtureOptions } from '../../../test/doubles/cluster-fixture.ts';
import type { Maker } from '../../../test/doubles/cluster-makers.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { isLong } from '../../../test/required.ts';
import { Fault } from '../../faults/fault.ts';
import type { ChecklistItem } from '../../session/checklist.ts';
import type { Question } from '../../session/session.ts';

let fixture: ClusterFixture;
afterEach(() => fixture.close());

/** An operator who continues whenever nothing blocks, takes a snapshot first, and runs the commands shown for the nodes. */
class AtTheDesk extends OperatorDouble {
  /** Commands that were run by hand, as `node: command`. */
  readonly byHand: string[] = [];
  override async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    // A node that was left while it restarts is not ready yet, and is checked again.
    if (question.id === 'checklist' && 'choices' in question)
      return ['snapshot', 'go', 'again'].find((wanted) => question.choices.some(({ value }) => value === wanted)) ?? 'leave';
    if (!question.id.startsWith('ran ')) throw new Fault('usage.unanswered', question.label, 'Answer it.');
    const [, node = ''] = /run on (\S+)$/.exec(question.label) ?? [];
    for (const line of (question.help ?? '').split(' && ')) {
      this.byHand.push(`${node}: ${line}`);
      const answer = await fixture.cluster.onNode(node, line.split(' '));
      expect(answer, line).toMatchObject({ exitCode: 0 });
    }
    return 'done';
  }
}

const itemsOf = (data: unknown): Record<string, ChecklistItem> =>
  Object.fromEntries((data as { items: ChecklistItem[] }).items.map((item) => [item.id, item]));

async function open(options: FixtureOptions): Promise<void> {
  fixture = await ClusterFixture.open(options);
  for (const name of ['postgres', 'queue-old'])
    await fixture.ask(`/apis/policy/v1/namespaces/data/poddisruptionbudgets/${name}`, { method: 'DELETE' });
}
const skip = ['webhooks=off for the night', 'deprecated=our own controller is moved next week'];
const changes = () =>
  fixture.ran.filter((line) => /save|etcd snapshot|\.backup|upgrade-k8s|upgrade apply|upgrade node/.test(line) && !/--dry-run/.test(line));

describe('k3s with etcd (R73)', () => {
  test('a snapshot by its own program, servers one at a time and not drained, then agents a minor at a time', async () => {
    await open({ maker: 'k3s', servers: 3 });
    const desk = new AtTheDesk('terminal');
    fixture.operator = desk;
    const { message, data } = await fixture.run(['practice'], { to: '1.32.4', skip });
    expect(message).toBe('The control plane and 6 nodes of practice run v1.32.4+k3s1.');
    expect(changes()).toEqual(['cp-1: k3s etcd-snapshot save --name before-upgrade']);
    expect(desk.byHand).toEqual([
      ...['cp-1', 'cp-2', 'cp-3'].map(
        (node) => `${node}: curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION='v1.32.4+k3s1' sh -s - server`,
      ),
      ...[
        ['worker-1', 'v1.32.4+k3s1'],
        ['worker-2', 'v1.31.6+k3s1'],
        ['worker-2', 'v1.32.4+k3s1'],
        ['worker-3', 'v1.30.10+k3s1'],
        ['worker-3', 'v1.31.6+k3s1'],
        ['worker-3', 'v1.32.4+k3s1'],
      ].map(([node, version]) => `${node}: curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION='${version}' sh -s - agent`),
    ]);
    const items = itemsOf(data);
    expect(Object.keys(items).filter((id) => /^(?:drain|node|control-plane) /.test(id))).toEqual([
      ...['worker-1', 'worker-2', 'worker-3'].map((name) => `drain ${name}`),
      ...['cp-1', 'cp-2', 'cp-3'].map((name) => `control-plane ${name}`),
      ...['worker-1', 'worker-2', 'worker-3'].map((name) => `node ${name}`),
    ]);
    expect(items['snapshot']).toMatchObject({
      state: 'ok',
      summary: expect.stringMatching(/^before-upgrade-cp-1-\d+ on cp-1 \(3\.\d MB\)/),
    });
    expect(items['certificates']).toMatchObject({
      state: 'skipped',
      summary: expect.stringMatching(/renews expiring certificates/),
    });
    const acts = (await fixture.audited()).filter(({ phase }) => phase === 'after').map(({ act }) => act ?? '');
    expect(acts.filter((act) => /cp-/.test(act))).toEqual([]);
    expect(acts.filter((act) => act.startsWith('cordon'))).toEqual(['cordon worker-1', 'cordon worker-2', 'cordon worker-3']);
  });

  test('before 1.28 its snapshots are listed in a ConfigMap', async () => {
    await open({ maker: 'k3s', version: 'v1.27.16+k3s1' });
    expect(itemsOf((await fixture.run(['practice'], { to: '1.28.5', check: true })).data)['snapshot']).toMatchObject({ state: 'blocked' });
    await fixture.cluster.onNode('cp-1', ['k3s', 'etcd-snapshot', 'save']);
    expect(itemsOf((await fixture.run(['practice'], { to: '1.28.5', check: true })).data)['snapshot']).toMatchObject({
      state: 'ok',
      summary: expect.stringMatching(/^on-demand-cp-1-\d+ on cp-1/),
    });
  });

  test('plans that upgrade nodes by themselves are named; one at work is in the way', async () => {
    await open({ maker: 'k3s' });
    const plan = (applying: string[]) => ({
      apiVersion: 'upgrade.cattle.io/v1',
      kind: 'Plan',
      metadata: { name: 'k3s-agent' },
      spec: { channel: 'https://update.k3s.io/v1-release/channels/stable', concurrency: 2 },
      status: { applying },
    });
    const path = '/apis/upgrade.cattle.io/v1/namespaces/default/plans';
    await fixture.ask(path, { method: 'POST', body: JSON.stringify(plan([])) });
    expect(itemsOf((await fixture.run(['practice'], { to: '1.32.4', check: true })).data)['plans']).toMatchObject({
      state: 'warning',
      summary: 'the system-upgrade-controller has 1 plan: k3s-agent',
      evidence: [expect.stringMatching(/default\/k3s-agent .*channels\/stable {2}2 at a time/)],
    });
    await fixture.ask(`${path}/k3s-agent`, { method: 'DELETE' });
    await fixture.ask(path, { method: 'POST', body: JSON.stringify(plan(['worker-1'])) });
    expect(itemsOf((await fixture.run(['practice'], { to: '1.32.4', check: true })).data)['plans']).toMatchObject({
      state: 'blocked',
      summary: expect.stringMatching(/upgrading worker-1$/),
    });
  });
});

test('servers of k3s that are no nodes: their commands are not for the node that is seen', async () => {
  await open({ maker: 'k3s' });
  await fixture.ask('/api/v1/nodes/cp-1', { method: 'DELETE' });
  fixture.dryRun = true;
  await fixture.run(['practice'], { to: '1.32.4', skip });
  const shown = fixture.operator.texts().join('\n');
  expect(shown).toMatch(/^Run manually on a control-plane node as root \(the installer drops options.*\):\n.* sh -s - server$/m);
  expect(shown).not.toMatch(/on worker-\d as root[^\n]*:\n[^\n]* server$/m);
});

describe('k3s with SQLite (R73)', () => {
  test('SQLite copies itself, with the token beside it, and the copy is read', async () => {
    await open({ maker: 'k3s-sqlite' });
    const desk = new AtTheDesk('terminal');
    fixture.operator = desk;
    const { message, data } = await fixture.run(['practice'], { to: '1.32.4', skip });
    expect(message).toMatch(/of practice run v1\.32\.4\+k3s1/);
    expect(changes()[0]).toMatch(
      /^cp-1: sqlite3 \/var\/lib\/rancher\/k3s\/server\/db\/state\.db \.backup '\/var\/backups\/k3s\/quarterdeck-\d{8}T\d{6}Z\.db'$/,
    );
    expect(fixture.ran.filter((line) => /cp -p/.test(line))).toEqual([
      expect.stringMatching(/^cp-1: cp -p \/var\/lib\/rancher\/k3s\/server\/token \/var\/backups\/k3s\/quarterdeck-\S+\.db\.token$/),
    ]);
    expect(itemsOf(data)['snapshot']).toMatchObject({
      title: 'Copy of the cluster state',
      state: 'ok',
      summary: expect.stringMatching(/\(\d+ rows\), verified with sqlite3/),
    });
    const [checklist] = desk.asked.filter(({ id }) => id === 'checklist');
    expect(checklist && 'choices' in checklist && checklist.choices[0]).toMatchObject({
      value: 'snapshot',
      label: 'Create a copy of the cluster state now',
    });
  });

  test('without a way to the server nobody sees its state, and that is in the way', async () => {
    await open({ maker: 'k3s-sqlite' });
    fixture.reached = false;
    expect(itemsOf((await fixture.run(['practice'], { to: '1.32.4', check: true })).data)['snapshot']).toMatchObject({
      state: 'blocked',
      advice: expect.stringMatching(/Stop k3s on cp-1, copy \/var\/lib\/rancher\/k3s\/server\/db and .*token/),
    });
  });
});

describe('RKE2 (R73)', () => {
  test('servers first, each installed and restarted; its static pods tell what runs', async () => {
    await open({ maker: 'rke2', servers: 2 });
    const desk = new AtTheDesk('terminal');
    fixture.operator = desk;
    const { message, data } = await fixture.run(['practice'], { to: 'v1.32.4+rke2r2', skip });
    expect(message).toBe('The control plane and 5 nodes of practice run v1.32.4+rke2r2.');
    expect(changes()).toEqual(['cp-1: rke2 etcd-snapshot save --name before-upgrade']);
    expect(desk.byHand.slice(0, 6)).toEqual(
      [
        ['cp-1', 'server'],
        ['cp-2', 'server'],
        ['worker-1', 'agent'],
      ].flatMap(([node, role]) => [
        `${node}: curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION='v1.32.4+rke2r2' INSTALL_RKE2_TYPE=${role} sh -`,
        `${node}: systemctl restart rke2-${role}`,
      ]),
    );
    expect(itemsOf(data)['after']).toMatchObject({ state: 'ok' });
    const where = desk.shown.find((view) => view.kind === 'table' && view.title === 'Current state');
    expect(JSON.stringify(where)).toMatch(/"API server","v1\.31\.6\+rke2r1","RKE2"/);
    expect(JSON.stringify(where)).toMatch(/kube-scheduler-cp-1","v1\.31\.6-rke2r1-build20250214"/);
  });
});

describe('Talos (R73)', () => {
  test('its own program takes the snapshot and brings all nodes along; none is drained', async () => {
    await open({ maker: 'talos', servers: 3 });
    fixture.operator = new AtTheDesk('terminal');
    const { message, data } = await fixture.run(['practice'], { to: '1.32.4', skip });
    expect(message).toBe('The control plane and 6 nodes of practice run v1.32.4.');
    expect(changes()).toEqual([
      expect.stringMatching(/^cp-1: talosctl -n 10\.0\.0\.10 etcd snapshot \S+\/talos-snapshots\/quarterdeck-\S+\.db$/),
      'cp-1: talosctl -n 10.0.0.10 upgrade-k8s --to 1.32.4',
    ]);
    const items = itemsOf(data);
    expect(items['talos']).toMatchObject({ state: 'ok', summary: 'Talos 1.9 supports Kubernetes 1.27 to 1.32' });
    expect(items['snapshot']).toMatchObject({
      state: 'ok',
      evidence: expect.arrayContaining([expect.stringMatching(/hash c25fd181, revision \d+/)]),
    });
    expect(Object.keys(items).filter((id) => id.startsWith('drain'))).toEqual([]);
    const acts = (await fixture.audited()).filter(({ phase }) => phase === 'after').map(({ act }) => act ?? '');
    expect(acts).toEqual(['snapshot', 'Upgrade Kubernetes on all nodes to v1.32.4']);
  });

  test('one that is too old for the release is in the way, with what comes first', async () => {
    await open({ maker: 'talos', version: 'v1.32.4' });
    expect(itemsOf((await fixture.run(['practice'], { to: '1.33.1', check: true })).data)['talos']).toMatchObject({
      state: 'blocked',
      summary: 'Talos 1.9 supports Kubernetes 1.27 to 1.32; too old for 1.33 on cp-1, worker-1, worker-2, worker-3',
      advice: expect.stringMatching(/talosctl -n NODE upgrade --image ghcr\.io\/siderolabs\/installer:v1\.10\.N$/),
    });
  });
});

test('kubeadm with three nodes of the control plane: the first applies, the others follow (R73)', async () => {
  await open({ servers: 3 });
  fixture.operator = new AtTheDesk('terminal');
  const { message } = await fixture.run(['practice'], { to: '1.32.4', skip });
  expect(message).toMatch(/^The control plane and 6 nodes of practice run v1\.32\.4\./);
  expect(
    changes()
      .filter((line) => /: kubeadm/.test(line))
      .slice(0, 3),
  ).toEqual(['cp-1: kubeadm upgrade apply v1.32.4 -y', 'cp-2: kubeadm upgrade node', 'cp-3: kubeadm upgrade node']);
});

describe.each<{ maker: Maker; servers: number; when: 'before' | 'after' }>([
  { maker: 'kubeadm', servers: 1, when: 'before' },
  { maker: 'kubeadm', servers: 3, when: 'after' },
  { maker: 'k3s', servers: 1, when: 'after' },
  { maker: 'k3s', servers: 3, when: 'before' },
  { maker: 'k3s-sqlite', servers: 1, when: 'before' },
  { maker: 'rke2', servers: 1, when: 'before' },
  { maker: 'rke2', servers: 3, when: 'after' },
  { maker: 'talos', servers: 1, when: 'after' },
])('a cluster of $maker with control planes: $servers', ({ maker, servers, when: first }) => {
  test('in a dry run, nothing changes and everything is told', async () => {
    await open({ maker, servers });
    fixture.dryRun = true;
    const before = await fixture.nodes();
    const { message } = await fixture.run(['practice'], { to: '1.32.4', skip });
    expect(message).toMatch(/^Dry run: practice still runs v1\.31\.6/);
    expect(await fixture.nodes()).toEqual(before);
    expect(changes()).toEqual([]);
    expect(fixture.operator.texts().join('\n')).toMatch(
      maker === 'talos' ? /upgrade-k8s --to 1\.32\.4/ : /PATCH \/api\/v1\/nodes\/worker-3/,
    );
  });

  test.each(isLong ? (['before', 'after'] as const) : [first])(
    'broken off %s every act, somebody else goes on each time: nothing is done twice, and the end is the same',
    { timeout: 120_000 },
    async (when) => {
      await open({ maker, servers });
      fixture.operator = new AtTheDesk('terminal');
      await fixture.run(['practice'], { to: '1.32.4', skip });
      // The name of a snapshot contains its time.
      const done = (desks: readonly AtTheDesk[]) =>
        [...changes(), ...desks.flatMap(({ byHand }) => byHand)].map((line) => line.replace(/\d{8}T\d{6}Z/, 'TIME')).sort();
      const once = done([fixture.operator as AtTheDesk]);
      const end = await fixture.nodes();
      await fixture.close();

      await open({ maker, servers });
      const desks: AtTheDesk[] = [];
      const broken = new Set<string>();
      for (;;) {
        const ending = new AbortController();
        fixture.onAct = (id, moment) => {
          const name = id.replace(/ \(\d+\)$/, '');
          // Each action is interrupted once, so that the upgrade progresses.
          if (moment !== when || broken.has(name)) return;
          broken.add(name);
          ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
        };
        fixture.who = `operator-${desks.length}@desk`;
        // Behind a load balancer each run reaches another API server.
        fixture.cluster.answerFrom(`cp-${(desks.length % servers) + 1}`);
        const desk = new AtTheDesk('terminal');
        desks.push(desk);
        fixture.operator = desk;
        const outcome = await fixture
          .run(['practice'], desks.length === 1 ? { to: '1.32.4', skip } : {}, ending.signal)
          .catch((thrown: unknown) => thrown);
        if (!(outcome instanceof Fault)) {
          expect(outcome).toMatchObject({ message: expect.stringMatching(/of practice run v1\.32\.4/) });
          break;
        }
        expect(outcome).toMatchObject({ kind: 'interrupted', remedy: expect.stringMatching(/quarterdeck upgrade practice$/) });
        expect(desks.length).toBeLessThan(60);
      }
      // At least one run for each action, so that every action was interrupted.
      expect(desks.length).toBeGreaterThan(broken.size);
      expect(await fixture.nodes()).toEqual(end);
      expect(done(desks)).toEqual(once);
    },
  );
});

test('continued by somebody on another machine who was handed the checklist; the report names both (R73)', async () => {
  await open({ maker: 'k3s' });
  const handed = join(fixture.folder, 'handed-over.json');
  const ending = new AbortController();
  fixture.onAct = (id) => {
    if (id === 'drain worker-1') ending.abort(new Fault('interrupted.cancelled', 'Cancelled.', 'Go on.'));
  };
  fixture.operator = new AtTheDesk('terminal');
  await expect(
    fixture.run(['practice'], { to: '1.32.4', skip, checklist: handed, report: join(fixture.folder, 'night.md') }, ending.signal),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/worker-1 is still cordoned/),
    remedy: expect.stringMatching(/--checklist \S+handed-over\.json$/),
  });
  expect(await readFile(join(fixture.folder, 'night.md'), 'utf8')).toMatch(/Not finished\./);
  fixture.onAct = undefined;
  fixture.who = 'grace@laptop';
  fixture.operator = new AtTheDesk('terminal');
  const report = join(fixture.folder, 'morning.md');
  await fixture.run(['practice'], { checklist: handed, report });
  expect(fixture.operator.texts().join('\n')).toMatch(/Resuming the upgrade to v1\.32\.4\+k3s1 that ada@desk started/);
  const text = await readFile(report, 'utf8');
  expect(text).toMatch(/ada@desk/);
  expect(text).toMatch(/grace@laptop/);
  expect(text).toMatch(/\*\*worker-1\*\*: ok\./);
});
