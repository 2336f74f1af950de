import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSsoPortal } from '../products/authelia/simulator/sso-portal.ts';
import { createIntrusionPrevention } from '../products/crowdsec/simulator/intrusion-prevention.ts';
import { createMesh } from '../products/headscale/simulator/mesh.ts';
import { clusterPort, createCluster } from '../products/kubernetes/simulator/cluster.ts';
import { createTunnelUi } from '../products/tunnels/simulator/tunnel-ui.ts';
import { createSecretsManager } from '../products/vault/simulator/secrets-manager.ts';
import { createPasswordVault } from '../products/vaultwarden/simulator/password-vault.ts';
import type { PracticeProduct } from './practice.ts';

/** The simulators behind the practice components, by component, and their keys: those of an earlier practice are not valid. */
export async function openProducts(folder: string) {
  const secrets = await createSecretsManager();
  const prevention = createIntrusionPrevention({ blocklist: 300 });
  const mesh = createMesh();
  const cluster = createCluster();
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(`http://127.0.0.1:${clusterPort}`), { mode: 0o600 });
  const products: Readonly<Record<string, PracticeProduct>> = {
    'secrets-manager-path': secrets.product,
    'mesh-control-server': mesh.product,
    'intrusion-prevention': prevention.product,
    'sso-portal': createSsoPortal(),
    'password-vault': createPasswordVault(),
    'tunnel-server-ui': createTunnelUi(),
  };
  return {
    products,
    cluster: cluster.product,
    keys: {
      shares: secrets.shares,
      threshold: secrets.threshold,
      rootToken: secrets.rootToken,
      apiKeys: { 'mesh-control-server': mesh.apiKey, 'intrusion-prevention': prevention.bouncerKey },
      kubeconfig,
    },
  };
}
