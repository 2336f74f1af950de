import { describe, expect, test } from 'vitest';
import { Fault } from '../../faults/fault.ts';
import type { FlowContext } from '../../flows/flow.ts';
import { mintGrant } from '../../grants/mint.ts';
import type { ExecOptions, Host, HostFacts } from '../../hosts/host.ts';
import type { ClusterNode } from './client/cluster-facts.ts';
import { releaseOf } from './client/release.ts';
import { findNodeExecs } from './node-exec.ts';

const signal = new AbortController().signal;
const grant = mintGrant('upgrade', 'operate', signal);
const kubelet = releaseOf('v1.31.6');
if (!kubelet) throw new Error('a release');
const node = (name: string, ...addresses: string[]): ClusterNode => ({
  ...{ name, addresses, kubelet, proxy: undefined, controlPlane: true, ready: true, cordoned: false, runtime: '', osImage: '' },
  object: { metadata: { name } },
});

interface Ran {
  where: string;
  argv: readonly string[];
  env: ExecOptions['env'];
}

/** Creates a machine that answers the given commands. */
function machine(name: string, { uid = 0, hostname = name, addresses = [] as string[], kind = 'local', sudo = true, away = false } = {}) {
  const ran: Ran[] = [];
  const answer = async (argv: readonly string[], { env }: ExecOptions) => {
    ran.push({ where: name, argv, env });
    if (argv.includes('nothing')) throw new Fault('unreachable.program', 'none', 'none');
    const refused = argv[0] === 'sudo' && !sudo;
    return {
      exitCode: refused ? 1 : 0,
      stdout: Buffer.from(`${name}\n`),
      stderr: Buffer.from(refused ? 'sudo: a password is required\n' : ''),
      cut: false,
    };
  };
  const host = {
    name,
    kind,
    link: {
      ready: async () => {
        if (away) throw new Fault('unreachable.ssh', `${name} does not respond.`, 'Wait.');
      },
    },
    facts: async () => ({ hostname, addresses: ['127.0.0.1', '::1', ...addresses], uid }) as unknown as HostFacts,
    exec: answer,
    run: (_: unknown, argv: readonly string[], options: ExecOptions) => answer(argv, options),
  } as unknown as Host;
  return { host, ran };
}

function flowContext(
  here: Host,
  remote: Record<string, { ssh: string; host: Host }> = {},
  containers: { name: string; labels: Record<string, string> }[] = [],
): FlowContext {
  return {
    hostOf: () => here,
    hosts: {
      list: async () => Object.fromEntries(Object.entries(remote).map(([name, { ssh }]) => [name, { ssh }])),
      open: async (name: string) => remote[name]?.host,
    },
    engineOf: () => {
      if (containers.length === 0) throw new Fault('unreachable.engine', 'no engine', 'none');
      return {
        list: async () => containers.map((one) => ({ ...one, id: `id-${one.name}` })),
        execReading: async (id: string, argv: readonly string[]) => ({
          exitCode: 0,
          stdout: Buffer.from(`${id} ${argv.join(' ')}`),
          stderr: Buffer.from(''),
        }),
      };
    },
  } as unknown as FlowContext;
}
const to = (one: FlowContext, which: ClusterNode) => findNodeExecs(one, 'local', signal).to(which);

describe('a way to a node', () => {
  test("is this machine where it has its name or one of its addresses, and loopback is nobody's", async () => {
    const desk = machine('desk', { hostname: 'cp-1' });
    const nodeExec = await to(flowContext(desk.host), node('cp-1'));
    expect(nodeExec?.shown).toBe('on this machine');
    expect(await nodeExec?.read(['kubeadm', 'version'], signal, { A: '1' })).toEqual({ exitCode: 0, stdout: 'desk\n', stderr: '' });
    expect(desk.ran).toEqual([{ where: 'desk', argv: ['kubeadm', 'version'], env: { A: '1' } }]);
    expect((await to(flowContext(machine('desk', { addresses: ['10.0.0.10'] }).host), node('cp-1', '10.0.0.10')))?.shown).toBe(
      'on this machine',
    );
    expect(await to(flowContext(machine('desk').host), node('cp-1', '127.0.0.1'))).toBeUndefined();
  });

  test('is a host of the configuration with its name or address, as root or with a sudo that does not ask', async () => {
    const remote = machine('nas', { uid: 1000, kind: 'ssh' });
    const by = (ssh: string) => to(flowContext(machine('desk').host, { nas: { ssh, host: remote.host } }), node('cp-1', '10.0.0.10'));
    expect((await by('op@10.0.0.10:2222'))?.shown).toBe('over ssh on nas');
    expect((await by('op@cp-1'))?.shown).toBe('over ssh on nas');
    expect(await by('op@elsewhere')).toBeUndefined();
    const nodeExec = await by('cp-1');
    remote.ran.length = 0;
    await nodeExec?.run(grant, ['etcdctl', 'version'], { ETCDCTL_API: '3' });
    expect(remote.ran).toEqual([{ where: 'nas', argv: ['sudo', '-n', 'ETCDCTL_API=3', 'etcdctl', 'version'], env: undefined }]);
    expect(await nodeExec?.read(['nothing'], signal)).toMatchObject({ exitCode: 127 });
  });

  test('is none where sudo asks or the host is away, and that is said', async () => {
    const asks = findNodeExecs(flowContext(machine('desk', { hostname: 'cp-1', uid: 1000, sudo: false }).host), 'local', signal);
    expect(await asks.to(node('cp-1'))).toBeUndefined();
    expect(asks.why(node('cp-1'))).toBe('no passwordless sudo on this machine');
    const away = findNodeExecs(
      flowContext(machine('desk').host, { nas: { ssh: 'cp-1', host: machine('nas', { away: true }).host } }),
      'local',
      signal,
    );
    expect(await away.to(node('cp-1'))).toBeUndefined();
    expect(away.why(node('cp-1'))).toBe('nas cannot be used: nas does not respond');
    expect(away.why(node('worker-1'))).toBe('not a configured host');
  });

  test('is a container that kind made, and no other one of that name', async () => {
    const kind = flowContext(machine('desk').host, {}, [
      { name: 'home-worker', labels: { 'io.x-k8s.kind.cluster': 'home' } },
      { name: 'other', labels: {} },
    ]);
    const nodeExec = await to(kind, node('home-worker'));
    expect(nodeExec?.shown).toBe('in the container home-worker');
    expect((await nodeExec?.read(['etcdctl', 'version'], signal, { ETCDCTL_API: '3' }))?.stdout).toBe(
      'id-home-worker env ETCDCTL_API=3 etcdctl version',
    );
    expect(await to(kind, node('other'))).toBeUndefined();
  });
});
