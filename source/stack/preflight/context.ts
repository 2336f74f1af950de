import type { Catalog, CatalogEntry } from '../../catalog/catalog.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { Engine, EngineFacts } from '../../engine/engine.ts';
import type { Host } from '../../hosts/host.ts';
import type { Answers, Deployment, Plan, Values } from '../model.ts';
import { readEnv } from '../plan/env-file.ts';
import { askHost, type HostAnswers } from './host-facts.ts';
import { type Project, readProject } from './project.ts';

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
  project: Project;
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
    ...(input.asked ?? askHost(host, engine, signal)),
    plan,
    deployment,
    values,
    project: readProject(planned('compose.yaml') ?? deployment?.compose, values, folder, entry),
    nowMs: Date.now(),
  };
}
