import { stringify } from 'yaml';

/**
 * A kubeconfig for the practice cluster at this address. kubectl sends a token over TLS only: for an `http:` address it comes as nobody,
 * whom the cluster lets in when it was made with `open`.
 */
export const kubeconfigText = (serverUrl: string, token: string, caPem?: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'practice',
        cluster: {
          server: serverUrl,
          ...(caPem === undefined ? {} : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') }),
        },
      },
    ],
    users: [{ name: 'practice', user: { token } }],
    contexts: [{ name: 'practice', context: { cluster: 'practice', user: 'practice', namespace: 'default' } }],
    'current-context': 'practice',
  });
