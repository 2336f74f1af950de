import type { Core } from './core.ts';
import { commandOf } from './dialect.ts';

/** The log of the real server is hclog's: time in milliseconds, level in brackets padded to eight, module, words, then `name=value`. */
export function logLine(timeMs: number, level: 'INFO' | 'WARN' | 'ERROR', text: string): string {
  return `${new Date(timeMs).toISOString()} ${`[${level}]`.padEnd(7)} ${text}`;
}

/** What the server says of itself before it serves, on stdout. */
export function banner(core: Core): string[] {
  const { product, version } = core.dialect;
  const name = product === 'openbao' ? 'OpenBao' : 'Vault';
  const row = (title: string, value: string) => `${title.padStart(23)}: ${value}`;
  return [
    `==> ${name} server configuration:`,
    '',
    row('Api Address', 'http://openbao:8200'),
    row('Cgo', 'disabled'),
    row('Cluster Address', 'https://openbao:8201'),
    row('Environment Variables', `${commandOf(core.dialect).toUpperCase()}_ADDR, HOME, HOSTNAME, PATH`),
    row('Go Version', 'go1.26.4'),
    row('Listener 1', 'tcp (addr: "0.0.0.0:8200", cluster address: "0.0.0.0:8201", max_request_duration: "1m30s", tls: "disabled")'),
    row('Log Level', ''),
    row('Recovery Mode', 'false'),
    row('Storage', 'raft (HA available)'),
    row('Version', `${name} v${version}`),
    '',
    `==> ${name} server started! Log data will stream in below:`,
    '',
  ];
}

/** What the log tells while it opens: a raft of one elects itself, and the engines are mounted. */
export function unsealLines(core: Core, mounts: Readonly<Record<string, { type: string }>>): string[] {
  const version = `v${core.dialect.version}+builtin.${commandOf(core.dialect)}`;
  return [
    'core.cluster-listener.tcp: starting listener: listener_address=0.0.0.0:8201',
    'core.cluster-listener: serving cluster requests: cluster_listen_address=[::]:8201',
    'storage.raft: initial configuration: index=1 servers="[{Suffrage:Voter ID:node-1 Address:openbao:8201}]"',
    'core: vault is unsealed',
    'storage.raft: entering follower state: follower="Node at openbao:8201 [Follower]" leader-address= leader-id=',
    'core: entering standby mode',
    'storage.raft: entering candidate state: node="Node at openbao:8201 [Candidate]" term=3',
    'storage.raft: pre-vote successful, starting election: term=3 tally=1 refused=0 votesNeeded=1',
    'storage.raft: election won: term=3 tally=1',
    'storage.raft: entering leader state: leader="Node at openbao:8201 [Leader]"',
    'core: acquired lock, enabling active operation',
    'core: post-unseal setup starting',
    'core: loaded wrapping token key',
    'core: successfully setup plugin catalog: plugin-directory=""',
    ...Object.entries(mounts).map(
      ([path, { type }]) => `core: successfully mounted: type=${type} version="${version}" path=${path} namespace="ID: root. Path: "`,
    ),
    'rollback: Starting the rollback manager with 256 workers',
    'core: restoring leases',
    'expiration: lease restore complete',
    'core: post-unseal setup complete',
  ];
}

export const sealLines: readonly string[] = [
  'core: marked as sealed',
  'core: pre-seal teardown starting',
  'core: stopping raft active node',
  'rollback: stopping rollback manager',
  'core: pre-seal teardown complete',
  'core: stopping cluster listeners',
  'core.cluster-listener: rpc listeners successfully shut down',
  'core: cluster listeners successfully shut down',
  'core: vault is sealed',
];
