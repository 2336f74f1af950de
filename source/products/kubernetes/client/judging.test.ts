import { describe, expect, test } from 'vitest';
import { deprecatedUses, isRemovedBy } from './api-checks.ts';
import type { KubeNode } from './api-shapes.ts';
import { judgeChecker } from './checkers.ts';
import { distributionOf } from './distribution.ts';
import { checkCertificates } from './node-checks.ts';
import { controlPlaneCommands, nodeCommands } from './node-commands.ts';
import type { NodeExec } from './node-exec.ts';
import { type Release, releaseOf } from './release.ts';

const release = (text: string): Release => {
  const found = releaseOf(text);
  if (!found) throw new Error(text);
  return found;
};
const node = (more: { labels?: Record<string, string>; annotations?: Record<string, string>; osImage?: string } = {}): KubeNode => ({
  metadata: { name: 'n', labels: more.labels ?? {}, annotations: more.annotations ?? {} },
  status: { nodeInfo: { osImage: more.osImage ?? 'Debian GNU/Linux 12 (bookworm)' } },
});

describe('who made a cluster', () => {
  test.each([
    ['v1.33.4+k3s1', node(), { kind: 'k3s', managed: false, embeddedEtcd: false }],
    ['v1.33.4+k3s1', node({ labels: { 'node-role.kubernetes.io/etcd': 'true' } }), { kind: 'k3s', embeddedEtcd: true }],
    ['v1.31.2+rke2r1', node({ labels: { 'node-role.kubernetes.io/etcd': 'true' } }), { kind: 'rke2', embeddedEtcd: true }],
    ['v1.29.1-eks-508b6b3', node(), { kind: 'eks', managed: true }],
    ['v1.30.5-gke.1014001', node(), { kind: 'gke', managed: true }],
    ['v1.30.5', node({ labels: { 'kubernetes.azure.com/cluster': 'x' } }), { kind: 'aks', managed: true }],
    ['v1.31.6', node({ osImage: 'Talos (v1.9.1)' }), { kind: 'talos', managed: false }],
    ['v1.31.6', node({ annotations: { 'kubeadm.alpha.kubernetes.io/cri-socket': 'unix:///x' } }), { kind: 'kubeadm', managed: false }],
    ['v1.31.6', node(), { kind: 'unknown', managed: false }],
  ])('%s', (version, one, expected) => expect(distributionOf(release(version), [one])).toMatchObject(expected));

  test('what the images of RKE2 say of when they were built is no part of the release', () => {
    expect(release('v1.31.6-rke2r1-build20250214')).toMatchObject({ minor: 31, patch: 6, vendor: 'rke2r1' });
  });
});

describe('the commands of a node', () => {
  const of = (kind: Parameters<typeof nodeCommands>[0]['kind'], osImage: string, from = 'v1.31.6', to = 'v1.32.4') => ({
    kind,
    osImage,
    from: release(from),
    to: release(to),
  });

  test('on Debian: the repository of the minor, kubeadm, its part, kubelet', () => {
    expect(nodeCommands(of('kubeadm', 'Ubuntu 24.04.1 LTS'), false).text).toEqual([
      "sed -i 's#/v1\\.[0-9]*/#/v1.32/#' /etc/apt/sources.list.d/kubernetes.list",
      'apt-mark unhold kubeadm',
      'apt-get update',
      'apt-get install -y kubeadm=1.32.4-*',
      'apt-mark hold kubeadm',
      'kubeadm upgrade node',
      'apt-mark unhold kubelet kubectl',
      'apt-get update',
      'apt-get install -y kubelet=1.32.4-* kubectl=1.32.4-*',
      'apt-mark hold kubelet kubectl',
      'systemctl daemon-reload',
      'systemctl restart kubelet',
    ]);
  });
  test('the first node of the control plane applies, others follow; a patch release needs no other repository', () => {
    const patch = controlPlaneCommands(of('kubeadm', 'Rocky Linux 9.4', 'v1.31.6', 'v1.31.9'), true).text;
    expect(patch).toEqual([
      "dnf install -y 'kubeadm-1.31.9-*' --disableexcludes=kubernetes".replaceAll("'", ''),
      'kubeadm upgrade plan v1.31.9',
      'kubeadm upgrade apply v1.31.9 -y',
    ]);
    expect(controlPlaneCommands(of('kubeadm', 'Debian GNU/Linux 12'), false).text.at(-1)).toBe('kubeadm upgrade node');
    expect(nodeCommands(of('kubeadm', 'Debian GNU/Linux 12'), true).text).not.toContain('kubeadm upgrade node');
  });
  test('the repository of the minor is set whatever the file names, also on a node of the control plane that is behind', () => {
    expect(nodeCommands(of('kubeadm', 'SUSE Linux Enterprise Server 15', 'v1.29.3', 'v1.30.14'), true).text.slice(0, 2)).toEqual([
      "sed -i 's#/v1\\.[0-9]*/#/v1.30/#' /etc/zypp/repos.d/kubernetes.repo",
      'zypper --non-interactive install kubelet=1.30.14 kubectl=1.30.14',
    ]);
  });
  test.each([
    ['k3s', /the installer drops options/, /INSTALL_K3S_VERSION='v1\.32\.4\+k3s1' sh -s - agent/],
    ['rke2', /downloaded from the network/, /INSTALL_RKE2_VERSION='v1\.32\.4\+rke2r1'/],
    ['eks', /managed by the provider/, /node pool/],
    ['unknown', /is unknown/, /kubelet to v1\.32\.4/],
  ] as const)('of %s are for a person, with the reason', (kind, why, text) => {
    const commands = nodeCommands(of(kind, 'Debian'), false);
    expect(commands).toMatchObject({ argv: [], hand: expect.stringMatching(why) });
    expect(commands.text.join('\n')).toMatch(text);
  });
  test('of Talos are its own program, which asks a node of the control plane and brings all along', () => {
    expect(nodeCommands({ ...of('talos', 'Talos (v1.9.4)'), address: '10.0.0.10' }, false).text).toEqual([
      'talosctl -n 10.0.0.10 upgrade-k8s --to 1.32.4 --dry-run',
      'talosctl -n 10.0.0.10 upgrade-k8s --to 1.32.4',
    ]);
  });
  test('on a system that is not known they are for a person', () => {
    expect(nodeCommands(of('kubeadm', 'Flatcar Container Linux'), false)).toMatchObject({
      argv: [],
      hand: expect.stringMatching(/is unknown/),
    });
  });
  test.each([
    ['Debian GNU/Linux 12 (bookworm)', /^apt-get install/m],
    ['AlmaLinux 9.5', /^dnf install/m],
    ['SUSE Linux Enterprise Server 15', /^zypper --non-interactive install/m],
    ['', /^# install kubeadm/],
  ])('%j has %s', (image, expected) => expect(nodeCommands(of('kubeadm', image), false).text.join('\n')).toMatch(expected));
});

describe('deprecated versions', () => {
  const metrics = `# HELP x
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="podsecuritypolicies",subresource="",version="v1beta1"} 0
apiserver_request_total{code="200",group="flowcontrol.apiserver.k8s.io",resource="flowschemas",verb="LIST",version="v1beta3"} 40
apiserver_request_total{code="200",group="flowcontrol.apiserver.k8s.io",resource="flowschemas",verb="WATCH",version="v1beta3"} 2
`;
  test('are those with a 1, with how often they were asked for', () => {
    expect(deprecatedUses(metrics)).toEqual([
      { group: 'flowcontrol.apiserver.k8s.io', version: 'v1beta3', resource: 'flowschemas', removedIn: '1.32', requests: 42 },
      { group: '', version: 'v1', resource: 'componentstatuses', removedIn: '', requests: undefined },
    ]);
  });
  test.each([
    ['1.32', 31, false],
    ['1.32', 32, true],
    ['1.9', 32, true],
    ['v1.33.0', 32, false],
    ['', 99, false],
  ])('%j is removed in 1.%i: %s', (removed, minor, expected) => expect(isRemovedBy(removed, minor)).toBe(expected));
});

describe('checkers', () => {
  const pluto = (exitCode: number, items: object[]) =>
    judgeChecker('pluto', { exitCode, stdout: JSON.stringify({ items }), stderr: '' }, 32);
  const use = {
    name: 'shop',
    namespace: 'web',
    api: { version: 'v1beta3', kind: 'FlowSchema', 'removed-in': 'v1.32.0', 'replacement-api': 'v1' },
    deprecated: true,
    removed: true,
  };

  test('what pluto finds is an answer, whatever it ends with', () => {
    expect(pluto(3, [use])).toMatchObject({ state: 'blocked', evidence: ['web/shop: FlowSchema v1beta3, removed in 1.32; use v1'] });
    expect(pluto(2, [{ ...use, removed: false, api: { ...use.api, 'removed-in': 'v1.40.0' } }])).toMatchObject({ state: 'warning' });
    expect(pluto(0, [])).toMatchObject({ state: 'ok' });
    expect(judgeChecker('pluto', { exitCode: 1, stdout: '', stderr: 'no configuration has been provided\n' }, 32)).toMatchObject({
      state: 'warning',
      summary: 'pluto printed no JSON (exit code 1): no configuration has been provided',
    });
  });
  test('one that fails without a word has no sentence that ends in a colon', () => {
    expect(judgeChecker('pluto', { exitCode: 1, stdout: '', stderr: '' }, 32).summary).toBe(
      'pluto printed no JSON (exit code 1): no error message',
    );
  });
  test('the silence of kubent says nothing about releases that it does not know', () => {
    const kubent = (stdout: string, minor: number) => judgeChecker('kubent', { exitCode: 0, stdout, stderr: 'INF loading' }, minor);
    expect(kubent('[]', 32)).toMatchObject({ state: 'ok' });
    expect(kubent('[]', 37)).toMatchObject({ state: 'warning', summary: expect.stringMatching(/knows only versions up to 1\.32/) });
    expect(kubent('', 32)).toMatchObject({ state: 'ok' });
    expect(kubent('', 37)).toMatchObject({ state: 'warning', summary: expect.stringMatching(/knows only versions up to 1\.32/) });
    expect(
      kubent(
        JSON.stringify([
          {
            Name: 'a',
            Namespace: 'b',
            Kind: 'Ingress',
            ApiVersion: 'extensions/v1beta1',
            RuleSet: 'Deprecated APIs removed in 1.22',
            ReplaceWith: 'networking.k8s.io/v1',
          },
        ]),
        32,
      ),
    ).toMatchObject({ state: 'blocked' });
  });
});

describe('certificates', () => {
  const nodeExec = (exitCode: number, stdout: string, stderr = ''): NodeExec => ({
    shown: 'here',
    read: async () => ({ exitCode, stdout, stderr }),
    run: async () => ({ exitCode, stdout, stderr }),
  });
  const days = (count: number) => ({ name: 'apiserver', residualTime: count * 86_400, missing: false, externallyManaged: false });
  const judged = (...certificates: object[]) =>
    checkCertificates(
      nodeExec(0, `[upgrade] words before it\n${JSON.stringify({ certificates, certificateAuthorities: [] })}`),
      new AbortController().signal,
    );

  test('that ended block, that are about to end warn', async () => {
    expect(await judged(days(-3))).toMatchObject({ state: 'blocked', summary: 'expired: apiserver' });
    expect(await judged(days(12))).toMatchObject({ state: 'warning', summary: 'expiring soon: apiserver (12 days)' });
    expect(await judged(days(0.5))).toMatchObject({ state: 'warning', summary: 'expiring soon: apiserver (0 days)' });
    expect(await judged(days(200))).toMatchObject({ state: 'ok', summary: '1 certificate, next expiry in 200 days' });
    // kubeadm reports the missing super-admin.conf of a further control-plane node like this.
    const missing = { name: 'super-admin.conf', residualTime: 0, missing: true, externallyManaged: false };
    expect(await judged(days(200), missing)).toMatchObject({ state: 'ok', summary: '1 certificate, next expiry in 200 days' });
    expect(await judged(missing)).toMatchObject({ state: 'warning', summary: 'Not checked: kubeadm listed no certificates' });
  });
  test('of a node that does not say are not looked at, with its own words', async () => {
    expect(await checkCertificates(nodeExec(1, '', 'sudo: a password is required\n'), new AbortController().signal)).toMatchObject({
      state: 'warning',
      summary: 'Not checked: sudo: a password is required',
    });
    expect(await checkCertificates(nodeExec(0, '{broken'), new AbortController().signal)).toMatchObject({ state: 'warning' });
  });
});
