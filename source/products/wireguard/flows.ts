import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const wireguardFlows = lazyFlows({ about: 'host', offline: true }, [
  resumableFlow('reveal', 'wireguard make', {
    title: 'Create a tunnel configuration for a device',
    summary:
      'Creates a WireGuard configuration with new keys, and the peer section for the server. You can set the MTU, a kill switch and split DNS. Shows the configuration and the peer section once, with a QR code for a phone, or writes them to files.',
    usage: '[NAME]',
    flags: {
      out: { meaning: 'write the configuration to this file and the peer section beside it, readable only by the owner', value: 'FILE' },
      plain: { meaning: 'print only the configuration, for use in a pipe' },
    },
    load: async () => (await import('./wireguard-configuration.ts')).wireguardMake,
  }),
  flow('read', 'wireguard check', {
    title: 'Check a tunnel configuration',
    summary:
      'Checks a WireGuard configuration and reports problems with line, column and field. The private key is never shown. Exits with 1 if there are errors, but not if there are only warnings.',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'read the configuration from standard input' } },
    load: async () => (await import('./wireguard-configuration.ts')).wireguardCheck,
  }),
]);
