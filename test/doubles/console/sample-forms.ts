import type { Form, Review } from '../../../source/session/session.ts';

const port = (value: string) => (/^\d+$/.test(value) && Number(value) < 65_536 ? undefined : 'The port must be a number up to 65535.');

/** A deploy as an operator meets it: ports, mail, secrets of all kinds. */
export const sampleForm: Form = {
  id: 'settings',
  title: 'Deploy password-vault on nas',
  fields: [
    {
      id: 'WEB_PORT',
      label: 'Port of the page',
      kind: 'text',
      value: '8180',
      required: true,
      section: 'How it is reached',
      help: 'The port on this host where the page answers. 8180 is what the catalog keeps free for it.',
      check: port,
    },
    {
      id: 'WEB_BIND',
      label: 'Who reaches it',
      kind: 'choice',
      value: '127.0.0.1',
      required: true,
      section: 'How it is reached',
      help: 'Wider than this host asks for HTTPS at the reverse proxy.',
      choices: [
        { value: '127.0.0.1', label: 'this host', detail: 'Only programs on this host, and the reverse proxy.' },
        { value: '192.168.1.2', label: 'the network', detail: 'All devices on the network of this host.' },
        { value: '0.0.0.0', label: 'everybody', detail: 'Every address that this host has.' },
      ],
    },
    {
      id: 'site',
      label: 'Name at the proxy',
      kind: 'text',
      value: 'vault.lan',
      required: false,
      section: 'How it is reached',
      help: 'The reverse proxy serves it under this name, with a certificate. Empty: not at all.',
    },
    {
      id: 'SIGNUPS_ALLOWED',
      label: 'New accounts',
      kind: 'choice',
      value: 'true',
      required: true,
      section: 'Accounts',
      help: 'Open until you have made your own account, then closed.',
      choices: [
        { value: 'true', label: 'anybody can sign up' },
        { value: 'false', label: 'only who is invited' },
      ],
    },
    {
      id: 'ADMIN_TOKEN',
      label: 'Admin token',
      kind: 'secret',
      value: '',
      required: true,
      generated: true,
      section: 'Accounts',
      help: 'Opens the admin page. Kept in the keychain.',
    },
    {
      id: 'SMTP_HOST',
      label: 'Mail server',
      kind: 'text',
      value: '',
      required: true,
      section: 'Mail',
      help: 'Sends invitations: mail.example.org.',
    },
    {
      id: 'SMTP_FROM',
      label: 'Sender',
      kind: 'text',
      value: '',
      required: false,
      section: 'Mail',
      check: (value) => (value.includes('@') ? undefined : 'Write an address like vault@example.org.'),
    },
    { id: 'SMTP_PASSWORD', label: 'Password of the mail account', kind: 'secret', value: '', required: true, kept: true, section: 'Mail' },
    {
      id: 'ENCRYPTION',
      label: 'Encryption',
      kind: 'choice',
      value: 'starttls',
      required: true,
      section: 'Mail',
      choices: ['starttls', 'force_tls', 'off', 'opportunistic', 'whatever the server offers'].map((value) => ({ value, label: value })),
    },
    { id: 'BACKUP_KEY', label: 'Key of the backups', kind: 'secret', value: '', required: false, section: 'Backups' },
  ],
  check: ({ WEB_BIND, site }) => (WEB_BIND === '0.0.0.0' && site === '' ? { site: 'Public access requires a name.' } : {}),
};

const composeLines = [
  'services:',
  '  vault:',
  '    image: vaultwarden/server:latest',
  '    restart: unless-stopped',
  '    environment:',
  '      ADMIN_TOKEN: ${ADMIN_TOKEN:?kept by Quarterdeck, use quarterdeck compose}',
  '      SIGNUPS_ALLOWED: ${SIGNUPS_ALLOWED:-false}',
  '    ports:',
  '      - "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8180}:80"',
  '    volumes:',
  '      - data:/data',
  'volumes:',
  '  data: {}',
];

export const sampleReview: Review = {
  id: 'plan',
  title: 'Deploy password-vault on nas',
  findings: [
    {
      id: 'disk',
      level: 'warning',
      message: 'Only 3.1 GB are free where the images go; this needs about 1.2 GB.',
      advice: 'Remove images that nothing uses: quarterdeck prune.',
    },
    {
      id: 'port-taken:web',
      level: 'warning',
      message: 'Port 8180 is what ticket-desk uses by default, and it is not deployed here.',
      advice: 'Nothing to do, unless you want both.',
      remedy: 'Use port 8181 instead',
    },
  ],
  sections: [
    {
      title: 'Services',
      lines: [
        { mark: 'added', text: 'vault   created from vaultwarden/server:latest' },
        { mark: 'warning', text: 'db      recreated, because its environment changes' },
      ],
    },
    { title: 'password-vault/compose.yaml', lines: composeLines.map((text) => ({ mark: 'added' as const, text })) },
    {
      title: 'password-vault/.env',
      lines: [
        { mark: 'same', text: "SMTP_HOST='mail.example.org'" },
        { mark: 'removed', text: "WEB_PORT='8080'" },
        { mark: 'added', text: "WEB_PORT='8180'" },
      ],
    },
    { title: 'Secrets', lines: [{ text: 'ADMIN_TOKEN is generated' }, { text: 'SMTP_PASSWORD stays' }] },
    { title: 'Ports', lines: [{ text: '127.0.0.1:8180/tcp to vault:80, the page' }] },
  ],
  summary: 'Writes 2 files, makes 1 secret, fetches 1 image, starts password-vault.',
  actions: [
    { id: 'apply', label: 'Apply' },
    { id: 'edit', label: 'Edit the answers' },
  ],
};

/** The same with what must be seen to first. */
export const blockedReview: Review = {
  ...sampleReview,
  findings: [
    ...sampleReview.findings,
    {
      id: 'taken',
      level: 'blocking',
      message: 'Port 8180 is taken: nginx listens on 127.0.0.1.',
      advice: 'Stop it, or take another port.',
      remedy: 'Use port 8182 instead',
    },
    { id: 'memory', level: 'blocking', message: 'It needs 2 GB of memory, and the host has 1 GB.', advice: 'Deploy it on a larger host.' },
  ],
  actions: [
    { id: 'apply', label: 'Apply', blocked: 'a port is taken, and memory is short' },
    { id: 'edit', label: 'Edit the answers' },
  ],
};
