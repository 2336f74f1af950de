import { lazyFlows, resumable } from '../../flows/flow.ts';

export const wireguardFlows = lazyFlows({ about: 'host', offline: true }, [
  {
    verb: 'wireguard make',
    title: 'Create a tunnel configuration for a device',
    summary:
      'Creates a WireGuard configuration with new keys: MTU, kill switch, split DNS. Shows it once, with a QR code for a phone, and writes it to a file only on request. The server receives the public key.',
    ...resumable('reveal'),
    usage: '[NAME]',
    flags: {
      out: { meaning: 'write it to this file, readable only by its owner, with the part for the server beside it', value: 'FILE' },
      plain: { meaning: 'print only the configuration, to a pipe' },
    },
    load: async () => (await import('./wireguard-configuration.ts')).wireguardMake,
  },
  {
    verb: 'wireguard check',
    title: 'Check a tunnel configuration',
    summary:
      'Checks a WireGuard configuration and reports problems with line, column and field. Its private key is never shown. Exits with 1 if there are problems.',
    right: 'read',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'read the configuration from standard input' } },
    load: async () => (await import('./wireguard-configuration.ts')).wireguardCheck,
  },
]);
