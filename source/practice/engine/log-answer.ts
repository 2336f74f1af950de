import type { Container } from './container.ts';
import { wireBytes } from './container-log.ts';
import { readMoment } from './durations.ts';
import { Refusal } from './refusal.ts';
import { type EngineRequest, isSet, sendSlowly, untilClosed } from './request.ts';

const batchRecords = 200;

export async function sendLogs({ query, response }: EngineRequest, container: Container): Promise<void> {
  const streams = { stdout: isSet(query.get('stdout')), stderr: isSet(query.get('stderr')) };
  if (!streams.stdout && !streams.stderr) throw new Refusal(400, 'Bad parameters: you must choose at least one stream');
  if (container.spec.logDriver === 'none') throw new Refusal(501, 'configured logging driver does not support reading');
  const { tty } = container.spec;
  const form = { tty, timestamps: isSet(query.get('timestamps')) };
  const tail = /^\d+$/.test(query.get('tail') ?? '') ? Number(query.get('tail')) : undefined;
  const until = readMoment(query.get('until'));
  const signal = untilClosed(response, until);
  const follows = isSet(query.get('follow')) && (container.isUp || container.state.status === 'created');
  // Followed from the same moment as read: no line is missing between the two, none comes twice.
  const coming = follows ? container.log.follow(signal) : [];
  const past = container.log.read({ ...streams, since: readMoment(query.get('since')), until, tail });
  response.writeHead(200, { 'Content-Type': `application/vnd.docker.${tty ? 'raw' : 'multiplexed'}-stream` });
  response.flushHeaders();
  try {
    for (let at = 0; at < past.length; at += batchRecords) {
      const batch = past.slice(at, at + batchRecords).map((record) => wireBytes(record, form));
      if (!(await sendSlowly(response, Buffer.concat(batch)))) return;
    }
    for await (const [record] of coming) if (streams[record.stream]) await sendSlowly(response, wireBytes(record, form));
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    response.end();
  }
}
