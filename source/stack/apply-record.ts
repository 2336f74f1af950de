import type { Engine } from '../engine/engine.ts';
import { pinOf } from './image-pin.ts';
import type { DeployRecord, ImagePin, Plan } from './model.ts';
import { hashOf } from './read-deployment.ts';
import type { Transaction } from './transaction.ts';

/** What is written down of a component once it stands; undefined when it is removed. `before` is what was written down of it so far. */
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
    ...(before?.duties && { duties: before.duties }),
  };
}

/** The versions that a plan names, by variable. */
export function versionsIn(secrets: Plan['secrets']): Record<string, string> {
  return Object.fromEntries(secrets.flatMap(({ variable, version }) => (version === undefined ? [] : [[variable, version]])));
}

/** What each service's image is on this host now, after it was pulled and before it runs. */
export async function imagePins(engine: Engine, plan: Plan, signal: AbortSignal): Promise<Record<string, ImagePin>> {
  const pins: Record<string, ImagePin> = {};
  await Promise.all(
    plan.services.map(async ({ name, image, change }) => {
      if (change === 'remove') return;
      const found = await engine.image(image, signal);
      if (found) pins[name] = pinOf(image, found);
    }),
  );
  // In the order of the plan, so that two records of the same are the same text.
  return Object.fromEntries(plan.services.flatMap(({ name }) => (pins[name] ? [[name, pins[name]]] : [])));
}
