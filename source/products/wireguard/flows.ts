import { lazyFlows, resumable } from '../../flows/flow.ts';

export const wireguardFlows = lazyFlows({ about: 'host', offline: true }, [
  {
    verb: 'wireguard make',
    title: 'Make a tunnel configuration for a device',
    summary:
      'Makes a WireGuard configuration with keys of its own, made here: MTU, kill switch, split DNS. It is shown once, with a QR code for a phone, and written to a file only where that is asked for. The server gets the public key.',
    ...resumable('reveal'),
    usage: '[NAME]',
    flags: {
      out: { meaning: 'write it to this file, for its owner alone, and what the server gets beside it', value: 'FILE' },
      plain: { meaning: 'write the configuration alone to the pipe' },
    },
    load: async () => (await import('./wireguard-configuration.ts')).wireguardMake,
  },
  {
    verb: 'wireguard check',
    title: 'Check a tunnel configuration',
    summary:
      'Reads a WireGuard configuration and says what it does and what is wrong with it, with line, column and field. Its private key is never shown. Ends with 1 where something is wrong.',
    right: 'read',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'take the configuration from what is piped in' } },
    load: async () => (await import('./wireguard-configuration.ts')).wireguardCheck,
  },
]);
