import { Fault, isAbort, messageOf } from '../../faults/fault.ts';
import { type Finding, warning } from '../finding.ts';
import type { Plan } from '../model.ts';
import { openContext, type PreflightContext, type PreflightInput } from './context.ts';
import { checkExposure, checkHttps, checkLogin } from './exposure.ts';
import { checkConfigFile } from './files.ts';
import { checkCompose, checkDevices, checkDisk, checkImages, checkMemory, checkName } from './host.ts';
import { checkInstances } from './instances.ts';
import { checkPorts } from './ports.ts';
import { checkBoot, checkHealthChecks, checkHostNetwork, checkLabels, checkLowPorts } from './rootless.ts';
import { checkBeforeStart, checkStorage } from './storage.ts';
import { checkLocalhost, checkMtu, checkProviders, checkRequired, checkSetupOnly, checkTokenAge, checkWebhook } from './values.ts';

interface PreflightCheck {
  id: string;
  what: string;
  run: (context: PreflightContext) => Iterable<Finding> | AsyncIterable<Finding>;
}

const checks: readonly PreflightCheck[] = [
  { id: 'instances', what: 'Running instances', run: checkInstances },
  { id: 'ports', what: 'Host ports', run: checkPorts },
  { id: 'exposure', what: 'Addresses of published ports', run: checkExposure },
  { id: 'https', what: 'HTTPS at the reverse proxy', run: checkHttps },
  { id: 'login', what: 'Login at the reverse proxy', run: checkLogin },
  { id: 'required', what: 'Required fields and secrets', run: checkRequired },
  { id: 'localhost', what: 'Addresses used by containers', run: checkLocalhost },
  { id: 'webhook', what: 'Webhook address', run: checkWebhook },
  { id: 'setup-only', what: 'Settings for setup only', run: checkSetupOnly },
  { id: 'mtu', what: 'Tunnel MTU', run: checkMtu },
  { id: 'token-age', what: 'Token age', run: checkTokenAge },
  { id: 'providers', what: 'Connected components', run: checkProviders },
  { id: 'config-file', what: 'Configuration file', run: checkConfigFile },
  { id: 'compose', what: 'Compose command', run: checkCompose },
  { id: 'disk', what: 'Free space on the host', run: checkDisk },
  { id: 'memory', what: 'Host memory', run: checkMemory },
  { id: 'images', what: 'Images on the host', run: checkImages },
  { id: 'devices', what: 'Host devices', run: checkDevices },
  { id: 'dns', what: 'Site name', run: checkName },
  { id: 'storage', what: 'Download and library folders', run: checkStorage },
  { id: 'before-start', what: 'Files required for startup', run: checkBeforeStart },
  { id: 'low-ports', what: 'Ports below 1024', run: checkLowPorts },
  { id: 'host-network', what: 'Host network', run: checkHostNetwork },
  { id: 'health-checks', what: 'Health check runner', run: checkHealthChecks },
  { id: 'boot', what: 'Start after a reboot', run: checkBoot },
  { id: 'selinux', what: 'Labels of mounted folders', run: checkLabels },
];

/** Blocking findings first. A fact that cannot be read becomes a finding `unknown:…`. Throws only when the signal is aborted. */
export async function preflight(plan: Plan, input: PreflightInput): Promise<Finding[]> {
  const context = openContext(plan, input);
  const findings = (await Promise.all(checks.map((check) => ask(check, context)))).flat();
  return [...findings.filter(({ level }) => level === 'blocking'), ...findings.filter(({ level }) => level === 'warning')];
}

async function ask({ id, what, run }: PreflightCheck, context: PreflightContext): Promise<readonly Finding[]> {
  try {
    const findings: Finding[] = [];
    for await (const finding of run(context)) findings.push(finding);
    return findings;
  } catch (thrown) {
    context.signal.throwIfAborted();
    if (!(thrown instanceof Fault) && !isAbort(thrown)) throw thrown;
    const message = `${what} could not be checked: ${messageOf(thrown).replace(/\.$/, '')}.`;
    return [warning(`unknown:${id}`, message, thrown instanceof Fault ? thrown.remedy : 'Try again, or check this manually.')];
  }
}
