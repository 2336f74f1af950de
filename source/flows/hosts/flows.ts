import { type Flow, lazyFlows } from '../flow.ts';

const tunnelFlows = lazyFlows({}, [
  {
    verb: 'tunnel',
    title: 'Open a tunnel to the component',
    summary:
      "Opens a port on this machine's 127.0.0.1 that leads through ssh to the component's page, or to another port of it. The verb keeps it until Ctrl-C, the console until it is left. Whoever works on this machine can use it meanwhile.",
    right: 'operate',
    about: 'component',
    remote: true,
    flags: {
      port: { meaning: 'the port on this machine; without it the same number as there, or a free one', value: 'NUMBER' },
      to: { meaning: 'the port there, where it is not the page that is meant', value: 'NUMBER' },
    },
    offered: ({ url, services }) =>
      url !== undefined ||
      services.some(({ ports }) => ports.some(({ hostPort, protocol }) => hostPort !== undefined && protocol === 'tcp')),
    load: async () => (await import('./tunnel.ts')).tunnel,
  },
]);

const others = lazyFlows({ about: 'host', offline: true, right: 'operate' }, [
  {
    verb: 'webhook listen',
    title: 'Listen for webhooks',
    summary:
      'Shows what a component sends to a webhook as it arrives: who has set one up sees whether it comes, and what is in it. Takes only what is signed with the secret that both know (HMAC-SHA256 in X-<vendor>-Signature or X-<vendor>-Signature-256), and answers 200 at once. The secret is asked for, or piped in with --stdin. Until Ctrl-C.',
    flags: {
      address: { meaning: 'the address of this machine to listen on; without it 127.0.0.1, which containers do not reach', value: 'IP' },
      port: { meaning: 'the port; without it a free one', value: 'NUMBER' },
      stdin: { meaning: 'take the secret from what is piped in' },
    },
    // Deliveries are reported line by line, which fits a verb and not a screen of panes.
    offeredOn: () => false,
    load: async () => (await import('./webhook-listen.ts')).webhookListen,
  },
  {
    verb: 'hosts list',
    title: 'List the hosts',
    summary: 'Connects to every host at once and says how each is: state, round trip, engines.',
    right: 'read',
    load: async () => (await import('./listed-hosts.ts')).hostsList,
  },
  {
    verb: 'hosts add',
    title: 'Add a host',
    summary:
      'Writes a host into the configuration, connects and looks at it. NAME alone is a host of that name, as ssh and ~/.ssh/config know it. Nothing is installed there, and no port is opened.',
    usage: 'NAME [[user@]host[:port]]',
    flags: {
      sudo: { meaning: "the user there may use the engine's socket through sudo alone" },
      'stack-folder': { meaning: 'where its stack lives there, instead of the usual folder', value: 'FOLDER' },
      unchecked: { meaning: 'write it down only, do not connect now' },
    },
    load: async () => (await import('./hosts-add.ts')).hostsAdd,
  },
  {
    verb: 'hosts check',
    title: 'Check a host',
    summary:
      'Connects, and says what is found: system, user, engines, sudo, clock, what sshd allows, free disk of the stack. Ends with 3 when it is not reached, with 4 when it refuses. Without a name: every host.',
    right: 'read',
    usage: '[NAME]',
    load: async () => (await import('./listed-hosts.ts')).hostsCheck,
  },
  {
    verb: 'hosts remove',
    title: 'Remove a host',
    summary: 'Takes a host out of the configuration. What runs there keeps running, and its secrets stay where they are kept.',
    usage: 'NAME',
    load: async () => (await import('./listed-hosts.ts')).hostsRemove,
  },
  {
    verb: 'hosts trust',
    title: 'Trust the new key of a host',
    summary:
      'For a host that shows another key than before: shows both fingerprints, has the name typed, forgets the old key, and connects, which asks about the new one.',
    right: 'destroy',
    usage: 'NAME',
    load: async () => (await import('./listed-hosts.ts')).hostsTrust,
  },
]);

export const hostFlows: readonly Flow[] = [...tunnelFlows, ...others];
