/** The headings of the help with their verbs, in its order. */
const sections: readonly (readonly [heading: string, ...verbs: string[]])[] = [
  ['To look:', 'status ports logs catalog chain df flows'],
  [
    'Components:',
    'deploy edit config update upgrade rollback tasks recover',
    'up start stop restart pause unpause remove shell exec cp tunnel webhook compose prune',
  ],
  ['Data, secrets, hosts:', 'backup restore objects secrets hosts audit'],
  ['Secrets manager:', 'init unseal seal vault'],
  ['Mesh:', 'key mesh'],
  ['Intrusion prevention:', 'ban unban decisions alerts allowlists bouncers machines collections hub metrics'],
  ['People and logins:', 'first-admin close-signups admin-token sso ldap oidc token ca'],
  ['Tunnels:', 'wireguard clients overlay ingress route'],
  ['Vulnerabilities:', 'vulnerabilities'],
  ['This program:', 'practice run completion help'],
];

const summaries: Readonly<Record<string, string>> = {
  config: 'make and check configuration files',
  webhook: 'what components send to a webhook, as it arrives',
  backup: 'back up, list, verify and schedule backups',
  objects: 'what lies in the object storage: list, get, put, remove, and links to it',
  secrets: 'what the stack’s secrets are, where they rest; set, rotate, export and import them',
  hosts: 'the machines that are operated over ssh: list, add, check, remove',
  vault: 'log in; read, write and take back; tokens, policies and AppRole; shares, root tokens, snapshots',
  mesh: 'its nodes, users, keys and policy',
  allowlists: 'who is never banned',
  bouncers: 'the programs that keep out who is banned',
  machines: 'the machines that report attacks',
  collections: 'what attacks are recognised: list, install, remove',
  hub: 'fetch its index, upgrade what came from it',
  sso: 'the portal’s users, second factors, bans and access rules',
  ldap: 'the people of the directory',
  oidc: 'what an identity provider says about itself',
  token: 'what a token says, and whether it holds',
  ca: 'the internal certificate authority: issue and inspect',
  wireguard: 'make and check the configuration of a device',
  clients: 'the devices of the tunnel server',
  overlay: 'the overlay mesh: its authority and certificates',
  ingress: 'the rules of an outbound tunnel',
  vulnerabilities: 'import reports, decide what to do, see what is overdue',
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
