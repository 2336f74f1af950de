import { type Answer, type Asked, type ExecAnswer, said } from '../answers.ts';
import type { LogTemplates } from './log-templates.ts';

/** By path without query; `*` is for every other path. The environment is that of the container. */
export type Pages = Readonly<Record<string, Answer | ((asked: Asked, environment: Readonly<Record<string, string>>) => Answer)>>;

/** Behaviour of a service, always or during an incident. */
export interface Scenario {
  /** Missing where it writes no log, or its product does. */
  log?: LogTemplates;
  /** By container port. */
  pages?: Readonly<Record<number, Pages>>;
  /** Result of its health check; an image without a check has none. */
  health?: { status: 'starting' | 'healthy' | 'unhealthy'; output: string };
  /** By default those of a program that only waits. */
  figures?: Figures;
  /** It ends by itself soon after each start. */
  dies?: { exitCode: number; afterMs: number; log: LogTemplates };
}

/** Average and amplitude of what it uses. */
export interface Figures {
  cpuPercent: readonly [average: number, amplitude: number];
  memoryMb: readonly [average: number, amplitude: number];
}

export interface PracticeService extends Scenario {
  /** Between its start and its first answer: half a second by default. */
  bootMs?: number;
  tty?: boolean;
  processes?: readonly [string, ...string[]];
  files?: Readonly<Record<string, string>>;
  exec?(argv: readonly string[], scenario: string): ExecAnswer | undefined;
  scenarios?: Readonly<Record<string, Scenario>>;
  /** It changes to this scenario a while after its start: a feed that is loading is loaded then. */
  settles?: { afterMs: number; scenario: string };
  /** The scenario after a restart, where a restart fixes it. */
  restarted?: string;
  /** A job that has ended with 0. */
  finished?: boolean;
}

/** A component of the catalog in the practice stack. Images, mounts and environment come from the catalog. */
export interface PracticeComponent {
  component: string;
  /** It was started without compose. */
  byHand?: true;
  /** Missing where it is not deployed, but can be. */
  past?: { createdAgoMs: number; startedAgoMs: number; stoppedAgoMs?: number };
  /** Host ports by container port, where another component has the catalog's own. */
  hostPorts?: Readonly<Record<number, number>>;
  /** Values of variables in compose.yaml. */
  values?: Readonly<Record<string, string>>;
  services: Readonly<Record<string, PracticeService>>;
  /** What the operator has written into its files, by path below its folder. */
  files?: Readonly<Record<string, string>>;
}

export const minutes = (count: number) => count * 60_000;
export const hours = (count: number) => count * 3_600_000;
export const days = (count: number) => count * 86_400_000;

export const printed = (line: string) => said(`${line}\n`);
