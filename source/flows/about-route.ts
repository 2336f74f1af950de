import type { FlowAbout } from './flow.ts';

export const routeAbout: FlowAbout = {
  id: 'route',
  verb: 'route',
  title: 'Route it through the VPN gateway',
  summary:
    "Puts a component into the network of the VPN gateway, which publishes its ports from then on: whatever it sends leaves through the tunnel, or not at all. Proves it afterwards. It stays so when the gateway is updated, changed or restarted. --direct takes that back. Run again for one that is routed already, it asks whether that is to be taken back; unattended it puts the component into the gateway's network anew.",
  right: 'operate',
  about: 'component',
  flags: {
    through: { meaning: 'which gateway, where there are several', value: 'COMPONENT' },
    service: { meaning: 'which of its services, where that is not the main one', value: 'SERVICE' },
    direct: { meaning: 'give it its own network and ports back' },
  },
  ours: true,
  offered: ({ speaks, known }) => known && speaks !== 'gluetun',
};
