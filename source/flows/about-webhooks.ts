import type { FlowAbout } from './flow.ts';

export const webhookListenAbout: FlowAbout = {
  id: 'webhook-listen',
  verb: 'webhook listen',
  title: 'Listen for webhooks',
  summary:
    'Shows what a component sends to a webhook as it arrives: who has set one up sees whether it comes, and what is in it. Takes only what is signed with the secret that both know (HMAC-SHA256 in X-<vendor>-Signature or X-<vendor>-Signature-256), and answers 200 at once. The secret is asked for, or piped in with --stdin. Until Ctrl-C.',
  right: 'operate',
  about: 'host',
  offline: true,
  flags: {
    address: { meaning: 'the address of this machine to listen on; without it 127.0.0.1, which containers do not reach', value: 'IP' },
    port: { meaning: 'the port; without it a free one', value: 'NUMBER' },
    stdin: { meaning: 'take the secret from what is piped in' },
  },
  // What arrives is told line by line, which a verb can do and a screen of panes cannot.
  offeredOn: () => false,
};
