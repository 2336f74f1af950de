import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const nebulaFlows = lazyFlows({ about: 'host' }, [
  resumableFlow('operate', 'overlay ca', {
    title: 'Create the CA of the overlay mesh',
    summary:
      'Creates the certificate authority (CA) that signs the certificates of an overlay mesh (Nebula), with nebula-cert on this machine. The private key of the CA is stored only in the secret store.',
    usage: '[NAME]',
    flags: { for: { meaning: 'validity, e.g. 1095d', value: 'DURATION' } },
    load: async () => (await import('./overlay.ts')).overlayCa,
  }),
  resumableFlow('reveal', 'overlay sign', {
    title: 'Sign a node of the overlay mesh',
    summary:
      'Creates a key for a node of the overlay mesh and signs its certificate. The key is stored in the secret store. To renew a certificate, sign the same name again.',
    usage: '[NAME]',
    flags: {
      ip: { meaning: 'address in the mesh with prefix length, e.g. 10.1.0.2/24', value: 'NETWORK' },
      groups: { meaning: 'groups for firewall rules, comma-separated', value: 'LIST' },
      subnets: { meaning: 'networks behind the node, comma-separated', value: 'LIST' },
      for: { meaning: 'validity (default: until the CA expires)', value: 'DURATION' },
      out: {
        meaning: 'write ca.crt, NAME.crt and NAME.key to this folder on this machine; only the owner can read the key',
        value: 'FOLDER',
      },
      install: { meaning: 'install the certificate and key for overlay-mesh on the host, even if overlay-mesh is not deployed yet' },
    },
    load: async () => (await import('./overlay.ts')).overlaySign,
  }),
  flow('read', 'overlay list', {
    title: 'List the certificates of the overlay mesh',
    summary:
      'Lists the CA certificate and the node certificates that Quarterdeck signed, with their expiry dates. Exits with code 1 if any has expired.',
    load: async () => (await import('./overlay-mesh.ts')).overlayList,
  }),
  flow('read', 'overlay inspect', {
    title: 'Check a certificate of an overlay mesh',
    summary: 'Shows the names and the expiry date of a certificate, and whether the CA of this mesh signed it.',
    usage: '[FILE]',
    flags: { stdin: { meaning: 'read the certificate from standard input' } },
    load: async () => (await import('./overlay-mesh.ts')).overlayInspect,
  }),
]);
