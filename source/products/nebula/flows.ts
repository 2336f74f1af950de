import { lazyFlows, resumable } from '../../flows/flow.ts';

export const nebulaFlows = lazyFlows({ about: 'host' }, [
  {
    verb: 'overlay ca',
    title: 'Make the authority of the overlay mesh',
    summary:
      'Makes the authority that signs the certificates of an overlay mesh (nebula), with nebula-cert on this machine. Its private key goes into the vault, and nowhere else.',
    ...resumable('operate'),
    usage: '[NAME]',
    flags: { for: { meaning: 'how long it is good: 1095d', value: 'DURATION' } },
    load: async () => (await import('./overlay.ts')).overlayCa,
  },
  {
    verb: 'overlay sign',
    title: 'Sign a node of the overlay mesh',
    summary:
      'Makes a key for a node of the overlay mesh and signs its certificate. The key goes into the vault; a node of the same name gets a new one, which is how a certificate is renewed.',
    ...resumable('reveal'),
    usage: '[NAME]',
    flags: {
      ip: { meaning: 'its address in the mesh, with the prefix: 10.1.0.2/24', value: 'NETWORK' },
      groups: { meaning: 'what firewall rules call it, with commas', value: 'LIST' },
      subnets: { meaning: 'networks behind it, with commas', value: 'LIST' },
      for: { meaning: "how long it is good; without it as long as the authority's", value: 'DURATION' },
      out: {
        meaning: 'write ca.crt, NAME.crt and NAME.key into this folder of this machine, the key for its owner alone',
        value: 'FOLDER',
      },
      install: { meaning: 'put them where the overlay mesh of this host finds them, deployed or not yet' },
    },
    load: async () => (await import('./overlay.ts')).overlaySign,
  },
  {
    verb: 'overlay list',
    title: 'List the certificates of the overlay mesh',
    summary: 'Lists the authority and every node that was signed from here, and when each certificate ends. Ends with 1 where one is over.',
    right: 'read',
    load: async () => (await import('./overlay-mesh.ts')).overlayList,
  },
  {
    verb: 'overlay inspect',
    title: 'Look at a certificate of an overlay mesh',
    summary: 'Says what a certificate is good for, until when, and whether the authority of this mesh signed it.',
    right: 'read',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'take the certificate from what is piped in' } },
    load: async () => (await import('./overlay-mesh.ts')).overlayInspect,
  },
]);
