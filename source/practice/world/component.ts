import type { ExecAnswer } from '../engine/program.ts';
import type { PracticeProduct } from '../practice.ts';
import type { LogTemplates } from './log-templates.ts';
import type { Pages } from './web.ts';

/** Behaviour of a service, always or during an incident. */
export interface Scenario {
  /** Missing where it writes no log, or its product does. */
  log?: LogTemplates;
  /** By container port. */
  pages?: Readonly<Record<number, Pages>>;
  /** Result of its health check: healthy, without output, unless it says otherwise. */
  health?: { status: 'starting' | 'healthy' | 'unhealthy'; output: string };
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
  figures: Figures;
  /** The health check of the image; missing where it has none. */
  healthcheck?: readonly string[];
  /** Between its start and its first answer: half a second by default. */
  bootMs?: number;
  /** Of the program on SIGTERM: by default it exits with 0 at once. */
  ends?: { exitCode: number; afterMs: number };
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
  createdAgoMs: number;
  startedAgoMs: number;
  /** Host ports by container port, where another component has the catalog's own. */
  hostPorts?: Readonly<Record<number, number>>;
  /** Values of variables in compose.yaml. */
  values?: Readonly<Record<string, string>>;
  services: Readonly<Record<string, PracticeService>>;
  /** What the operator has written into its files, by path below its folder. */
  files?: Readonly<Record<string, string>>;
  stoppedAgoMs?: number;
  /** Simulates the main service. */
  product?: PracticeProduct | undefined;
}

/** A component that can be deployed. */
export type NewComponent = Omit<PracticeComponent, 'createdAgoMs' | 'startedAgoMs'>;

export const minutes = (count: number) => count * 60_000;
export const hours = (count: number) => count * 3_600_000;
export const days = (count: number) => count * 86_400_000;

export function printed(stdout: string): ExecAnswer {
  return { exitCode: 0, stdout: `${stdout}\n`, stderr: '' };
}
