import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { ComposeTool } from '../engine/compose-tool.ts';
import type { Engine, EngineFacts } from '../engine/engine.ts';
import type { Host } from '../hosts/host.ts';
import { readEnv } from './env-file.ts';
import type { Finding } from './finding.ts';
import { askHost, type HostAnswers } from './host-answers.ts';
import type { Answers, Deployment, Plan } from './model.ts';
import { type Project, readProject } from './preflight-project.ts';

export interface PreflightInput {
  entry: CatalogEntry;
  answers: Answers;
  host: Host;
  engine: Engine;
  facts: EngineFacts;
  /** Of the whole stack, this component's included. */
  deployments: readonly Deployment[];
  catalog: Catalog;
  /** Undefined where the host has none. */
  composeTool: ComposeTool | undefined;
  /** By variable, the newest version that the vault has. */
  secretsKnown: Readonly<Record<string, string>>;
  /** By variable, when that version was made. */
  secretsMadeMs?: Readonly<Record<string, number>>;
  /** What others have asked already, of several plans at once. */
  asked?: HostAnswers;
  signal: AbortSignal;
}

/** What the checks look at. What has to be asked is asked once, and only by who needs it. */
export interface PreflightContext extends PreflightInput, HostAnswers {
  plan: Plan;
  /** This component as it stands. */
  deployment: Deployment | undefined;
  /** Plain variables in force after the plan. */
  values: Readonly<Record<string, string>>;
  /** compose.yaml after the plan, with those values in it. */
  project: Project;
  nowMs: number;
}

/** One question of preflight. Throws where a fact cannot be had: that is said, with `what` it was about. */
export interface PreflightCheck {
  id: string;
  /** `Free space on the host`. */
  what: string;
  run: (context: PreflightContext) => Promise<readonly Finding[]> | readonly Finding[];
}

export async function openContext(plan: Plan, input: PreflightInput): Promise<PreflightContext> {
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
    project: await readProject(planned('compose.yaml') ?? deployment?.compose, values, folder, entry),
    nowMs: Date.now(),
  };
}

export function warning(id: string, message: string, advice: string, more: Partial<Finding> = {}): Finding {
  return { id, level: 'warning', message, advice, ...more };
}

export function blocking(id: string, message: string, advice: string, more: Partial<Finding> = {}): Finding {
  return { id, level: 'blocking', message, advice, ...more };
}
