import type { ExecAnswer } from '../engine/program.ts';
import type { PracticeProduct } from '../practice.ts';
import type { Random } from './random.ts';
import type { Said, Voice } from './voice.ts';
import type { Pages } from './web.ts';

/** How a service of a component is played while it is in a mood. */
export interface Mood {
  voice?: Voice;
  /** By container port. */
  pages?: Readonly<Record<number, Pages>>;
  /** What its health check finds, and says. */
  health?: { status: 'starting' | 'healthy' | 'unhealthy'; output: string };
  figures?: Figures;
  /** It ends by itself soon after each start. */
  dies?: { exitCode: number; afterMs: number; says: (at: Date, random: Random) => readonly Said[] };
}

/** Average and swing of what it uses. */
export interface Figures {
  cpuPercent: readonly [usual: number, swing: number];
  memoryMb: readonly [usual: number, swing: number];
}

export interface Play extends Mood {
  voice: Voice;
  figures: Figures;
  /** What the image's health check runs; missing where it has none. */
  healthcheck?: readonly string[];
  /** Between its start and its first answer. */
  bootMs?: number;
  /** Of the program on SIGTERM; missing where it does not listen to it. */
  ends?: { exitCode: number; afterMs: number };
  tty?: boolean;
  processes?: readonly [string, ...string[]];
  files?: Readonly<Record<string, string>>;
  exec?(argv: readonly string[], mood: string): ExecAnswer | undefined;
  environment?: Readonly<Record<string, string>>;
  moods?: Readonly<Record<string, Mood>>;
  /** So long after its start it is in this mood for good: what loads is loaded one day. */
  settles?: { afterMs: number; mood: string };
  /** The mood that a restart puts it into: what a restart mends. */
  restarted?: string;
  /** A job: it has ended well. */
  finished?: boolean;
}

/** A component of the catalog in the practice world. Images, mounts and environment come from the catalog. */
export interface Part {
  component: string;
  /** Compose project; missing for one that somebody ran by hand. */
  project?: string;
  createdAgoMs: number;
  startedAgoMs: number;
  /** Host ports where the catalog's own are taken by another component, by container port. */
  hostPorts?: Readonly<Record<number, number>>;
  /** Values of variables in compose.yaml. */
  values?: Readonly<Record<string, string>>;
  plays: Readonly<Record<string, Play>>;
  /** What its operator has written into its files, by path below its folder. */
  files?: Readonly<Record<string, string>>;
  /** Stopped by somebody, so long ago. */
  stoppedAgoMs?: number;
  /** Plays the main service with a product of its own. */
  product?: PracticeProduct;
}

export const minutes = (count: number) => count * 60_000;
export const hours = (count: number) => count * 3_600_000;
export const days = (count: number) => count * 86_400_000;

export function said(stdout: string, exitCode = 0): ExecAnswer {
  return { exitCode, stdout: exitCode === 0 ? `${stdout}\n` : '', stderr: exitCode === 0 ? '' : `${stdout}\n` };
}
