import type { Engine } from '../../engine/engine.ts';
import type { DeployRecord, ImagePin, Plan } from '../model.ts';
import { pinOf } from '../plan/image-pin.ts';
import { hashOf } from '../read-deployment.ts';
import type { Transaction } from './transaction.ts';

export function recordOf(
  { run, startedAt, by }: Transaction,
  plan: Plan,
  before: DeployRecord | undefined,
  images: Readonly<Record<string, ImagePin>>,
): DeployRecord | undefined {
  if (plan.kind === 'remove' || plan.kind === 'rejoin') return undefined;
  const files: Record<string, string> = { ...before?.files };
  for (const { path, after } of plan.files) {
    if (after === undefined) delete files[path];
    else files[path] = hashOf(after);
  }
  const planned = new Set(plan.files.map(({ path }) => path));
  const edited = [
    ...(before?.edited ?? []).filter((path) => !planned.has(path)),
    ...plan.files.flatMap(({ path, after, edited: own }) => (own && after !== undefined ? [path] : [])),
  ];
  return {
    schema: 1,
    component: plan.component,
    run,
    at: startedAt,
    by,
    files,
    secrets: versionsIn(plan.secrets),
    images,
    ...(plan.site !== '' && { site: plan.site }),
    ...(edited.length > 0 && { edited }),
    ...(before?.setupTasks && { setupTasks: before.setupTasks }),
  };
}

export function versionsIn(secrets: Plan['secrets']): Record<string, string> {
  return Object.fromEntries(secrets.flatMap(({ variable, version }) => (version === undefined ? [] : [[variable, version]])));
}

export async function imagePins(engine: Engine, plan: Plan, signal: AbortSignal): Promise<Record<string, ImagePin>> {
  const pins = await Promise.all(
    plan.services.map(async ({ name, image, change }): Promise<[string, ImagePin][]> => {
      const found = change === 'remove' ? undefined : await engine.image(image, signal);
      return found ? [[name, pinOf(image, found)]] : [];
    }),
  );
  return Object.fromEntries(pins.flat());
}
