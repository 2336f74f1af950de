/** Under which heading of the help a verb stands; of a word that several verbs begin with, what they are about. */
export interface VerbPlace {
  heading: string;
  summary?: string;
}

const sections: readonly [heading: string, verbs: Readonly<Record<string, string>>][] = [
  ['To look:', { status: '', ports: '', logs: '', catalog: '', chain: '', df: '', flows: '' }],
  [
    'Components:',
    {
      deploy: '',
      edit: '',
      config: 'make and check configuration files',
      update: '',
      upgrade: '',
      rollback: '',
      duty: '',
      recover: '',
      up: '',
      start: '',
      stop: '',
      restart: '',
      pause: '',
      unpause: '',
      remove: '',
      shell: '',
      exec: '',
      cp: '',
      tunnel: '',
      webhook: 'what components send to a webhook, as it arrives',
      compose: '',
      prune: '',
    },
  ],
  [
    'Data, secrets, hosts:',
    {
      backup: 'back up, list, verify and schedule backups',
      restore: '',
      objects: 'what lies in the object storage: list, get, put, remove, and links to it',
      secrets: 'what the stack’s secrets are, where they rest; set, rotate, export and import them',
      hosts: 'the machines that are operated over ssh: list, add, check, remove',
      audit: '',
    },
  ],
  [
    'Secrets manager:',
    {
      init: '',
      unseal: '',
      seal: '',
      vault: 'log in; read, write and take back; tokens, policies and AppRole; shares, root tokens, snapshots',
    },
  ],
  ['Mesh:', { key: '', mesh: 'its nodes, users, keys and policy' }],
  [
    'Intrusion prevention:',
    {
      ban: '',
      unban: '',
      decisions: '',
      alerts: '',
      allowlists: 'who is never banned',
      bouncers: 'the programs that keep out who is banned',
      machines: 'the machines that report attacks',
      collections: 'what attacks are recognised: list, install, remove',
      hub: 'fetch its index, upgrade what came from it',
      metrics: '',
    },
  ],
  [
    'People and logins:',
    {
      'first-admin': '',
      'close-signups': '',
      'admin-token': '',
      sso: 'the portal’s users, second factors, bans and access rules',
      ldap: 'the people of the directory',
      oidc: 'what an identity provider says about itself',
      token: 'what a token says, and whether it holds',
      ca: 'the internal certificate authority: issue and inspect',
    },
  ],
  [
    'Tunnels:',
    {
      wireguard: 'make and check the configuration of a device',
      clients: 'the devices of the tunnel server',
      overlay: 'the overlay mesh: its authority and certificates',
      ingress: 'the rules of an outbound tunnel',
      route: '',
    },
  ],
  ['Vulnerabilities:', { vulnerabilities: 'import reports, decide what to do, see what is overdue' }],
  ['This program:', { practice: '', run: '', completion: '', help: '' }],
];

const places: ReadonlyMap<string, VerbPlace> = new Map(
  sections.flatMap(([heading, verbs]) =>
    Object.entries(verbs).map(([verb, summary]): [string, VerbPlace] => [verb, { heading, ...(summary !== '' && { summary }) }]),
  ),
);

/** Of the first word of a verb. Undefined for one that nobody has put anywhere. */
export function placeOfVerb(word: string): VerbPlace | undefined {
  return places.get(word);
}
