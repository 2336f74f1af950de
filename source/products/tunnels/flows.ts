import { lazyFlows, resumable } from '../../flows/flow.ts';

export const tunnelFlows = [
  ...lazyFlows({ about: 'component', speaks: 'wg-easy' }, [
    {
      verb: 'clients list',
      title: "List the tunnel's devices",
      summary: 'Logs in to the tunnel server and lists its devices: address, when each was last there, how much went through.',
      right: 'operate',
      load: async () => (await import('./tunnel-clients.ts')).clientsList,
    },
    {
      verb: 'clients add',
      title: 'Let a device into the tunnel',
      summary: 'Makes a device at the tunnel server, which makes its keys, and shows its configuration once with a QR code.',
      ...resumable('reveal'),
      usage: '[NAME]',
      flags: { plain: { meaning: 'write the configuration alone to the pipe' } },
      load: async () => (await import('./tunnel-clients.ts')).clientsAdd,
    },
    {
      verb: 'clients show',
      title: "Show a device's configuration",
      summary: 'Shows the configuration of a device once more, with a QR code, and says what is wrong with it.',
      right: 'reveal',
      usage: '[NAME]',
      flags: { plain: { meaning: 'write the configuration alone to the pipe' } },
      load: async () => (await import('./tunnel-clients.ts')).clientsShow,
    },
    {
      verb: 'clients disable',
      title: 'Keep a device out of the tunnel',
      summary: 'Keeps a device out until it is let in again. Its keys and its address stay.',
      ...resumable('operate'),
      usage: '[NAME]',
      load: async () => (await import('./tunnel-clients.ts')).clientsDisable,
    },
    {
      verb: 'clients enable',
      title: 'Let a device into the tunnel again',
      summary: 'Lets a device in again that was kept out.',
      ...resumable('operate'),
      usage: '[NAME]',
      load: async () => (await import('./tunnel-clients.ts')).clientsEnable,
    },
    {
      verb: 'clients remove',
      title: 'Remove a device from the tunnel',
      summary: 'Removes a device with its keys: its configuration is worth nothing from then on.',
      ...resumable('destroy'),
      usage: '[NAME]',
      load: async () => (await import('./tunnel-clients.ts')).clientsRemove,
    },
  ]),
  ...lazyFlows({ about: 'host' }, [
    {
      verb: 'ingress check',
      title: 'Check the rules of an outbound tunnel',
      summary:
        'Reads the configuration of an outbound tunnel (cloudflared) and says what is wrong with its ingress rules, with line and column, and which rule an address would get. Without a file it is that of the deployed tunnel. Ends with 1 where something is wrong.',
      right: 'read',
      usage: '[FILE] [ADDRESS...]',
      flags: { stdin: { meaning: 'take the configuration from what is piped in' } },
      load: async () => (await import('./ingress-check.ts')).ingressCheck,
    },
  ]),
];
