import type { Duplex } from 'node:stream';
import type { Container } from './container.ts';
import { type LogRecord, wireBytes } from './container-log.ts';
import { readMoment } from './durations.ts';
import { Refusal } from './refusal.ts';
import { type EngineRequest, isSet, sendSlowly } from './request.ts';

const batchBytes = 64 * 1024;

/** What an attached client sees: what is written from now on, until the container ends. */
export function sendLive(container: Container, stream: Duplex): Promise<void> {
  const { tty } = container.spec;
  return new Promise((resolve) => {
    const unfollow = container.log.follow((record) => {
      if (record) stream.write(wireBytes(record, { tty, timestamps: false }));
      else finish();
    });
    const finish = () => {
      unfollow();
      stream.end();
      resolve();
    };
    stream.once('close', finish);
    stream.resume();
  });
}

/** `GET /containers/{id}/logs`: what is there, and, followed, what comes until the container ends or the client goes. */
export async function answerLogs({ query, response }: EngineRequest, container: Container): Promise<void> {
  const [stdout, stderr] = [isSet(query.get('stdout')), isSet(query.get('stderr'))];
  if (!stdout && !stderr) throw new Refusal(400, 'Bad parameters: you must choose at least one stream');
  if (container.spec.logDriver === 'none') throw new Refusal(501, 'configured logging driver does not support reading');
  const { tty } = container.spec;
  const form = { tty, timestamps: isSet(query.get('timestamps')) };
  const tail = /^\d+$/.test(query.get('tail') ?? '') ? Number(query.get('tail')) : undefined;
  const until = readMoment(query.get('until'));
  const range = { stdout, stderr, since: readMoment(query.get('since')), until, tail };
  // Followed from the same moment as read: nothing is missed between the two, nothing comes twice.
  const waiting: (LogRecord | undefined)[] = [];
  let wake = () => {};
  const follow = isSet(query.get('follow')) && (container.isUp || container.state.status === 'created');
  const unfollow = follow
    ? container.log.follow((record) => {
        if (!record || (record.stream === 'stdout' ? stdout : stderr)) waiting.push(record);
        wake();
      })
    : () => {};
  const past = container.log.read(range);
  response.writeHead(200, { 'Content-Type': `application/vnd.docker.${tty ? 'raw' : 'multiplexed'}-stream` });
  response.flushHeaders();
  response.once('close', () => {
    unfollow();
    wake();
  });
  try {
    if (!(await sendRecords(response, past, form)) || !follow) return;
    const untilTimer = until && setTimeout(() => wake(), Math.max(0, until.ms - Date.now()));
    for (;;) {
      if (waiting.length === 0 && !response.closed && !(until && Date.now() > until.ms)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const batch = waiting.splice(0);
      const ended = batch.includes(undefined);
      const open = await sendRecords(
        response,
        batch.filter((record) => record !== undefined),
        form,
      );
      if (!open || ended || response.closed || (until && Date.now() > until.ms)) break;
    }
    clearTimeout(untilTimer);
  } finally {
    unfollow();
    response.end();
  }
}

async function sendRecords(
  response: EngineRequest['response'],
  records: readonly LogRecord[],
  form: { tty: boolean; timestamps: boolean },
): Promise<boolean> {
  let batch: Buffer[] = [];
  let sizeBytes = 0;
  for (const record of records) {
    const bytes = wireBytes(record, form);
    batch.push(bytes);
    sizeBytes += bytes.length;
    if (sizeBytes < batchBytes) continue;
    if (!(await sendSlowly(response, Buffer.concat(batch)))) return false;
    batch = [];
    sizeBytes = 0;
  }
  return batch.length === 0 || sendSlowly(response, Buffer.concat(batch));
}
