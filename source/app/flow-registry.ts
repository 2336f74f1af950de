import { backupFlows } from '../flows/backup/flows.ts';
import { catalogFlows } from '../flows/catalog/flows.ts';
import { componentFlows } from '../flows/components/flows.ts';
import { deployFlows } from '../flows/deploy/flows.ts';
import type { Flow } from '../flows/flow.ts';
import { hostFlows } from '../flows/hosts/flows.ts';
import { notificationFlows } from '../flows/notifications/flows.ts';
import { operationFlows } from '../flows/operations/flows.ts';
import { secretFlows } from '../flows/secrets/flows.ts';
import { autheliaFlows } from '../products/authelia/flows.ts';
import { crowdsecFlows } from '../products/crowdsec/flows.ts';
import { headscaleFlows } from '../products/headscale/flows.ts';
import { identityFlows } from '../products/identity/flows.ts';
import { kubernetesFlows } from '../products/kubernetes/flows.ts';
import { nebulaFlows } from '../products/nebula/flows.ts';
import { objectStorageFlows } from '../products/object-storage/flows.ts';
import { tunnelFlows } from '../products/tunnels/flows.ts';
import { vaultFlows } from '../products/vault/flows.ts';
import { vaultwardenFlows } from '../products/vaultwarden/flows.ts';
import { vulnerabilityFlows } from '../products/vulnerabilities/flows.ts';
import { wireguardFlows } from '../products/wireguard/flows.ts';

/** Every flow. Commands, palette, help and rights are created from this list; nothing else names a flow. */
export const flows: readonly Flow[] = [
  ...deployFlows,
  ...componentFlows,
  ...operationFlows,
  ...catalogFlows,
  ...backupFlows,
  ...secretFlows,
  ...hostFlows,
  ...notificationFlows,
  ...vaultFlows,
  ...headscaleFlows,
  ...autheliaFlows,
  ...crowdsecFlows,
  ...identityFlows,
  ...vaultwardenFlows,
  ...objectStorageFlows,
  ...wireguardFlows,
  ...tunnelFlows,
  ...nebulaFlows,
  ...vulnerabilityFlows,
  ...kubernetesFlows,
];
