/** The headings of the help with their verbs, in its order. */
const sections: readonly (readonly [heading: string, ...verbs: string[]])[] = [
  ['Status and logs:', 'status doctor ports logs catalog chain df flows'],
  [
    'Components:',
    'deploy edit config update upgrade rollback tasks recover',
    'up start stop restart pause unpause remove shell exec cp tunnel webhook compose prune',
    'ops op login logout',
  ],
  ['Data, secrets, hosts:', 'backup restore objects secrets hosts audit'],
  ['Notifications:', 'watch notify'],
  ['Secrets manager:', 'init unseal seal vault'],
  ['Mesh:', 'key mesh'],
  ['Intrusion prevention:', 'ban unban decisions alerts allowlists bouncers machines collections hub metrics'],
  ['Users and logins:', 'first-admin close-signups admin-token sso ldap oidc token ca'],
  ['Tunnels:', 'wireguard clients overlay ingress route'],
  ['Vulnerabilities:', 'vulnerabilities'],
  ['Quarterdeck:', 'practice run explain completion help'],
];

const summaries: Readonly<Record<string, string>> = {
  config: 'create and check configuration files',
  webhook: 'show webhook deliveries as they arrive',
  backup: 'back up, list, verify and schedule backups',
  objects: 'list, download, upload and remove objects; create links',
  secrets: 'list, set, rotate, export and import secrets',
  hosts: 'list, add, check and remove hosts reached over ssh',
  notify: 'send test notifications, store tokens of targets',
  vault: 'log in; read, write and restore secrets; manage tokens, policies, AppRole, key shares, root tokens, snapshots',
  mesh: 'manage mesh nodes, users, keys and policy',
  allowlists: 'manage addresses that are never banned',
  bouncers: 'manage bouncers, which enforce the bans',
  machines: 'manage machines that report attacks',
  collections: 'list, install and remove collections of detection rules',
  hub: 'update the hub index and upgrade installed items',
  sso: 'manage users, second factors, bans and access rules of the portal',
  ldap: 'manage users of the LDAP directory',
  oidc: 'inspect an OpenID Connect provider',
  token: 'decode and verify a token',
  ca: 'issue and inspect certificates of the internal CA',
  wireguard: 'create and check WireGuard configurations',
  clients: 'manage clients of the tunnel server',
  overlay: 'manage the CA and certificates of the overlay mesh',
  ingress: 'manage ingress rules of an outbound tunnel',
  vulnerabilities: 'import scan reports, triage findings, list overdue findings',
};

const headings = new Map(
  sections.flatMap(([heading, ...verbs]) =>
    verbs
      .join(' ')
      .split(' ')
      .map((verb) => [verb, heading] as const),
  ),
);

export function headingOf(word: string): { heading: string; summary: string | undefined } | undefined {
  const heading = headings.get(word);
  return heading === undefined ? undefined : { heading, summary: summaries[word] };
}

const order = [...headings.keys()];

export function inHelpOrder<T extends { verb: string }>(flows: readonly T[]): readonly T[] {
  const position = ({ verb }: T) => order.indexOf(verb.split(' ')[0] ?? '');
  return flows.toSorted((one, other) => position(one) - position(other));
}
