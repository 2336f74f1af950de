import { z } from 'zod';
import { readOwnFile, readOwnJson, writeOwnFile } from '../config/own-files.ts';
import { parsedJson } from '../text/json-value.ts';
import { messageShape } from './message.ts';

const ms = z.number();
const openProblem = z.object({
  ...{ rule: z.string(), host: z.string(), about: z.string(), component: z.string().optional(), message: z.string(), remedy: z.string() },
  kind: z.enum(['state', 'doctor', 'backup', 'disk', 'certificate', 'log', 'unreachable']),
  ...{ sinceMs: ms, reportedMs: ms.optional(), count: z.number().optional() },
});
/** Kept between evaluations, and between processes. `sentMs`: when each rule last sent a message. */
const memory = z.object({ problems: z.record(z.string(), openProblem).readonly(), sentMs: z.record(z.string(), ms).readonly() });
/** A message that could not be delivered yet. */
const queued = z.object({ target: z.string(), message: messageShape, queuedMs: ms, attempts: z.number(), nextMs: ms });
/** The last failure of a target, until a message is delivered to it. `dropped` messages will not be sent any more. */
const failure = z.object({ atMs: ms, message: z.string(), remedy: z.string(), dropped: z.number() });
const stateShape = z.object({ memory, queue: z.array(queued).readonly(), failures: z.record(z.string(), failure).readonly() });

export type OpenProblem = z.infer<typeof openProblem>;
export type Memory = z.infer<typeof memory>;
export type Queued = z.infer<typeof queued>;
export type DeliveryFailure = z.infer<typeof failure>;
export type NotificationState = z.infer<typeof stateShape>;

export const emptyState: NotificationState = { memory: { problems: {}, sentMs: {} }, queue: [], failures: {} };

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

export const stateText = (state: NotificationState): string => `${JSON.stringify({ schema: 1, ...state })}\n`;
