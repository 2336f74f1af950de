import type { Catalog, CatalogEntry } from '../../catalog/catalog.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { Engine, EngineFacts } from '../../engine/engine.ts';
import type { Host } from '../../hosts/host.ts';
import type { Answers, Deployment, Plan, Values } from '../model.ts';
import { readEnv } from '../plan/env-file.ts';
import { type HostAnswers, queryHost } from './host-facts.ts';
import { type ProjectService, readProject } from './project.ts';

export interface PreflightInput {
  entry: CatalogEntry;
  answers: Answers;
  host: Host;
  engine: Engine;
  facts: EngineFacts;
  /** Deployments of the whole stack, including this component's. */
  deployments: readonly Deployment[];
  catalog: Catalog;
  /** Undefined if the host has none. */
  composeTool: ComposeTool | undefined;
  /** The newest stored version, by variable; and the time when it was created. */
  secretsKnown: Readonly<Record<string, string>>;
  secretsMadeMs?: Readonly<Record<string, number>>;
  asked?: HostAnswers;
  signal: AbortSignal;
}

/** The context of the checks. Each fact is read once, and only if a check needs it. */
export interface PreflightContext extends PreflightInput, HostAnswers {
  plan: Plan;
  deployment: Deployment | undefined;
  values: Values;
  /** Those of the compose file as the plan leaves it. */
  services: readonly ProjectService[];
  nowMs: number;
}

export function openContext(plan: Plan, input: PreflightInput): PreflightContext {
  const { entry, answers, deployments, host, engine, signal } = input;
  const deployment = deployments.find(({ component }) => component === entry.id);
  const planned = (file: string) => plan.files.find(({ path }) => path === `${entry.id}/${file}`)?.after;
  const env = planned('.env');
  const values = { ...(env === undefined ? deployment?.env : readEnv(env).values), ...answers.values };
  const folder = `${plan.stackFolder}/${entry.id}`;
  return {
    ...input,
    ...(input.asked ?? queryHost(host, engine, signal)),
    plan,
    deployment,
    values,
    services: readProject(planned('compose.yaml') ?? '', values, folder),
    nowMs: Date.now(),
  };
}
