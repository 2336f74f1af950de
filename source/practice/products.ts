import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterPort, createCluster } from './cluster/cluster.ts';
import { createIntrusionPrevention } from './intrusion-prevention/intrusion-prevention.ts';
import { createMesh } from './mesh/mesh.ts';
import { createPasswordVault } from './password-vault/password-vault.ts';
import type { PracticeFacts, PracticeProduct } from './practice.ts';
import { createSecretsManager } from './secrets-manager/secrets-manager.ts';
import { createSsoPortal } from './sso-portal/sso-portal.ts';
import { createTunnelUi } from './tunnel-ui/tunnel-ui.ts';
import type { Products } from './world/parts/products.ts';

/** The products behind the practice components, and what opens them. */
export interface OpenProducts extends Products {
  all: readonly PracticeProduct[];
  keys: Pick<PracticeFacts, 'shares' | 'threshold' | 'rootToken' | 'apiKeys' | 'kubeconfig'>;
  close(): Promise<void>;
}

/** Makes them anew: no key or token of an earlier practice opens anything. */
export async function openProducts(folder: string): Promise<OpenProducts> {
  const secrets = await createSecretsManager();
  const prevention = createIntrusionPrevention({ blocklist: 300 });
  const mesh = createMesh();
  const cluster = createCluster();
  const portal = createSsoPortal();
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(`http://127.0.0.1:${clusterPort}`), { mode: 0o600 });
  return {
    secretsManager: secrets.product,
    mesh: mesh.product,
    intrusionPrevention: prevention.product,
    intrusionPreventionLogin: prevention.machine,
    cluster: cluster.product,
    ssoPortal: portal.product,
    passwordVault: createPasswordVault(),
    tunnelUi: createTunnelUi(),
    all: [secrets.product, mesh.product, prevention.product, cluster.product, portal.product],
    keys: {
      shares: secrets.shares,
      threshold: secrets.threshold,
      rootToken: secrets.rootToken,
      apiKeys: { 'mesh-control-server': mesh.apiKey, 'intrusion-prevention': prevention.bouncerKey },
      kubeconfig,
    },
    close: async () => undefined,
  };
}
