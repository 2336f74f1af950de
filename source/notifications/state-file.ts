import { z } from 'zod';
import { readOwnFile, readOwnJson, writeOwnFile } from '../config/own-files.ts';
import { parsedJson } from '../text/json-value.ts';
import type { Memory } from './evaluate.ts';
import type { Message } from './message.ts';

/** A message that could not be delivered yet. */
export interface Queued {
  target: string;
  message: Message;
  queuedMs: number;
  attempts: number;
  nextMs: number;
}

/** The last failure of a target, until a message is delivered to it. */
export interface DeliveryFailure {
  atMs: number;
  message: string;
  remedy: string;
  /** Messages that will not be sent any more. */
  dropped: number;
}

export interface NotificationState {
  memory: Memory;
  queue: readonly Queued[];
  failures: Readonly<Record<string, DeliveryFailure>>;
}

export const emptyState: NotificationState = { memory: { problems: {}, sentMs: {} }, queue: [], failures: {} };

const ms = z.number();
const problem = z.object({
  ...{ rule: z.string(), host: z.string(), about: z.string(), component: z.string().optional(), message: z.string(), remedy: z.string() },
  kind: z.enum(['state', 'doctor', 'backup', 'disk', 'certificate', 'log', 'unreachable']),
  ...{ sinceMs: ms, reportedMs: ms.optional(), count: z.number().optional() },
});
const message = z.object({
  ...{ rule: z.string(), urgent: z.boolean(), title: z.string(), text: z.string() },
  events: z.array(z.custom<Message['events'][number]>((value) => typeof value === 'object' && value !== null)),
});
const stateShape: z.ZodType<NotificationState> = z.object({
  memory: z.object({ problems: z.record(z.string(), problem), sentMs: z.record(z.string(), ms) }),
  queue: z.array(z.object({ target: z.string(), message, queuedMs: ms, attempts: z.number(), nextMs: ms })),
  failures: z.record(z.string(), z.object({ atMs: ms, message: z.string(), remedy: z.string(), dropped: z.number() })),
});

/** `damaged`: the file was not readable and was moved there; everything starts again, and open problems are reported once more. */
export async function readState(file: string): Promise<{ state: NotificationState; damaged?: string }> {
  const text = await readOwnFile(file);
  if (text === undefined) return { state: emptyState };
  const { data } = stateShape.safeParse(parsedJson(text));
  if (data) return { state: data };
  const damaged = `${file}.damaged`;
  await writeOwnFile(damaged, text);
  return { state: emptyState, damaged };
}

/** For a report about the targets: empty if the file is missing or damaged. */
export async function readFailures(file: string): Promise<NotificationState['failures']> {
  const { data } = stateShape.safeParse(await readOwnJson(file));
  return data?.failures ?? {};
}

export function stateText(state: NotificationState): string {
  return `${JSON.stringify({ schema: 1, ...state })}\n`;
}
