import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const tunnelFlows = [
  ...lazyFlows({ about: 'component', speaks: 'wg-easy' }, [
    flow('operate', 'clients list', {
      title: "List the tunnel's devices",
      summary: 'Logs in to the tunnel server and lists its devices with address, last connection and traffic.',
      load: async () => (await import('./tunnel-clients.ts')).clientsList,
    }),
    resumableFlow('reveal', 'clients add', {
      title: 'Add a device to the tunnel',
      summary: 'Creates a device on the tunnel server, which generates its keys, and shows its configuration once with a QR code.',
      usage: '[NAME]',
      flags: { plain: { meaning: 'print only the configuration, for use in a pipe' } },
      load: async () => (await import('./tunnel-clients.ts')).clientsAdd,
    }),
    flow('reveal', 'clients show', {
      title: "Show a device's configuration",
      summary: 'Shows the configuration of a device again, with a QR code and any problems.',
      usage: '[NAME]',
      flags: { plain: { meaning: 'print only the configuration, for use in a pipe' } },
      load: async () => (await import('./tunnel-clients.ts')).clientsShow,
    }),
    resumableFlow('operate', 'clients disable', {
      title: 'Disable a tunnel device',
      summary: 'Disables a device until it is enabled again. Its keys and address are kept.',
      usage: '[NAME]',
      load: async () => (await import('./tunnel-clients.ts')).clientsDisable,
    }),
    resumableFlow('operate', 'clients enable', {
      title: 'Enable a tunnel device',
      summary: 'Enables a disabled device.',
      usage: '[NAME]',
      load: async () => (await import('./tunnel-clients.ts')).clientsEnable,
    }),
    resumableFlow('destroy', 'clients remove', {
      title: 'Remove a device from the tunnel',
      summary: 'Removes a device and its keys, so its configuration stops working.',
      usage: '[NAME]',
      load: async () => (await import('./tunnel-clients.ts')).clientsRemove,
    }),
  ]),
  ...lazyFlows({ about: 'host' }, [
    flow('read', 'ingress check', {
      title: 'Check the rules of an outbound tunnel',
      summary:
        'Checks the ingress rules of an outbound tunnel (cloudflared), reports problems with line and column, and shows which rule matches an address. Without a file, checks the deployed tunnel. Exits with 1 if there are errors, but not if there are only warnings.',
      usage: '[FILE] [ADDRESS...]',
      flags: { stdin: { meaning: 'read the configuration from standard input' } },
      load: async () => (await import('./ingress-check.ts')).ingressCheck,
    }),
  ]),
];
