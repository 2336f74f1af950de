import { type Flow, flow, lazyFlows } from '../flow.ts';

const tunnelFlows = lazyFlows({ about: 'component' }, [
  flow('operate', 'tunnel', {
    title: 'Open a tunnel to a component',
    summary:
      "Opens a port on this machine's 127.0.0.1 and forwards it through ssh to the web UI of the component, or to another port. On the command line, the tunnel stays open until Ctrl-C; in the console, until you close it. While it is open, all users of this machine can use it.",
    remote: true,
    flags: {
      port: { meaning: 'port on this machine (default: the same as the remote port, or a free one)', value: 'NUMBER' },
      to: { meaning: 'remote port (default: the port of the web UI)', value: 'NUMBER' },
    },
    offered: ({ url, services }) =>
      url !== undefined ||
      services.some(({ ports }) => ports.some(({ hostPort, protocol }) => hostPort !== undefined && protocol === 'tcp')),
    load: async () => (await import('./tunnel.ts')).tunnel,
  }),
]);

const others = lazyFlows({ about: 'host', offline: true }, [
  flow('operate', 'webhook listen', {
    title: 'Listen for webhooks',
    summary:
      'Shows webhook deliveries of a component as they arrive, to test a webhook. Accepts only deliveries signed with the shared secret (HMAC-SHA256 in X-<vendor>-Signature or X-<vendor>-Signature-256), and responds with 200 immediately. Prompts for the secret, or reads it from standard input with --stdin. Runs until Ctrl-C.',
    flags: {
      address: { meaning: 'address of this machine to listen on (default: 127.0.0.1, which most containers cannot reach)', value: 'IP' },
      port: { meaning: 'port (default: a free one)', value: 'NUMBER' },
      stdin: { meaning: 'read the secret from standard input' },
    },
    // Deliveries are reported line by line, which fits a verb and not a screen of panes.
    offeredOn: () => false,
    load: async () => (await import('./webhook-listen.ts')).webhookListen,
  }),
  flow('read', 'hosts list', {
    title: 'List hosts',
    summary: 'Connects to all hosts in parallel and shows the state, round-trip time and engines of each.',
    load: async () => (await import('./listed-hosts.ts')).hostsList,
  }),
  flow('operate', 'hosts add', {
    title: 'Add a host',
    summary:
      'Adds a host to the configuration, connects to it and checks it. NAME alone must be a host name, or an alias in ~/.ssh/config. Nothing is installed on the host, and no port is opened.',
    usage: 'NAME [[user@]host[:port]]',
    flags: {
      sudo: { meaning: 'use sudo on the host to access the engine socket' },
      'stack-folder': { meaning: 'stack folder on the host, instead of the default', value: 'FOLDER' },
      unchecked: { meaning: 'add the host without connecting to it' },
    },
    load: async () => (await import('./hosts-add.ts')).hostsAdd,
  }),
  flow('read', 'hosts check', {
    title: 'Check a host',
    summary:
      'Connects to a host and reports its system, user, engines, sudo, clock, sshd limits, and free disk space for the stack. Without a name, checks all hosts. Exits with 3 if a host cannot be reached, and with 4 if it refuses the connection.',
    usage: '[NAME]',
    load: async () => (await import('./listed-hosts.ts')).hostsCheck,
  }),
  flow('operate', 'hosts remove', {
    title: 'Remove a host',
    summary: 'Removes a host from the configuration. Its containers keep running, and its secrets are kept.',
    usage: 'NAME',
    load: async () => (await import('./listed-hosts.ts')).hostsRemove,
  }),
  flow('destroy', 'hosts trust', {
    title: 'Trust a new host key',
    summary:
      'For a host whose key has changed: shows both fingerprints, removes the old key after you type the host name, then connects and prompts you to confirm the new key.',
    usage: 'NAME',
    load: async () => (await import('./listed-hosts.ts')).hostsTrust,
  }),
]);

export const hostFlows: readonly Flow[] = [...tunnelFlows, ...others];
