import { Fault, isAbort, messageOf } from '../faults/fault.ts';
import type { Finding } from './finding.ts';
import type { Plan } from './model.ts';
import { openContext, type PreflightCheck, type PreflightContext, type PreflightInput, warning } from './preflight-context.ts';
import { exposureChecks } from './preflight-exposure.ts';
import { fileChecks } from './preflight-files.ts';
import { hostChecks } from './preflight-host.ts';
import { instanceChecks } from './preflight-instances.ts';
import { portChecks } from './preflight-ports.ts';
import { rootlessChecks } from './preflight-rootless.ts';
import { selinuxChecks } from './preflight-selinux.ts';
import { storageChecks } from './preflight-storage.ts';
import { valueChecks } from './preflight-values.ts';

export type { PreflightInput } from './preflight-context.ts';

const checks: readonly PreflightCheck[] = [
  ...instanceChecks,
  ...portChecks,
  ...exposureChecks,
  ...valueChecks,
  ...fileChecks,
  ...hostChecks,
  ...storageChecks,
  ...rootlessChecks,
  ...selinuxChecks,
];

/**
 * What stands against a plan, or should be known before it is applied: blocking findings first. Everything is asked at once and nothing is changed; a
 * fact that cannot be had becomes a finding `unknown:…` that says so. Throws only when the signal is aborted.
 */
export async function preflight(plan: Plan, input: PreflightInput): Promise<Finding[]> {
  const context = await openContext(plan, input);
  // Taking away needs none of the rest.
  const asked = plan.kind === 'remove' ? checks.filter(({ id }) => id === 'compose') : checks;
  const findings = (await Promise.all(asked.map((check) => ask(check, context)))).flat();
  return [...findings.filter(({ level }) => level === 'blocking'), ...findings.filter(({ level }) => level === 'warning')];
}

async function ask({ id, what, run }: PreflightCheck, context: PreflightContext): Promise<readonly Finding[]> {
  try {
    return await run(context);
  } catch (thrown) {
    context.signal.throwIfAborted();
    if (!(thrown instanceof Fault) && !isAbort(thrown)) throw thrown;
    const reason = messageOf(thrown).replace(/\.$/, '');
    return [
      warning(
        `unknown:${id}`,
        `${what} could not be checked: ${reason}.`,
        thrown instanceof Fault ? thrown.remedy : 'Try again, or look for yourself.',
      ),
    ];
  }
}
