import { request } from 'node:http';

export interface Answer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

/**
 * One HTTP request, to an engine over its socket or to a URL. Beside the product's own client, so that a test can look at the
 * truth by another way.
 */
export async function ask(
  where: { socket: string } | string,
  path = '',
  options: { method?: string; headers?: Record<string, string>; body?: string; limitMs?: number } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body, limitMs = 60_000 } = options;
  return await new Promise((resolve, reject) => {
    const common = { method, headers, signal: AbortSignal.timeout(limitMs) };
    const receive = (answer: import('node:http').IncomingMessage): void => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.once('error', reject);
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
    };
    const sent =
      typeof where === 'string'
        ? request(new URL(path, where), common, receive)
        : request({ socketPath: where.socket, path, ...common }, receive);
    sent.once('error', reject);
    sent.end(body);
  });
}

/** Asks again and again until the answer is right, and fails with the last one (or the last error) after the limit. */
export async function askUntil(
  where: { socket: string } | string,
  path: string,
  right: (answer: Answer) => boolean,
  options: Parameters<typeof ask>[2] & { withinMs?: number } = {},
): Promise<Answer> {
  const until = Date.now() + (options.withinMs ?? 60_000);
  for (;;) {
    const outcome = await ask(where, path, options).catch((error: unknown) => error as Error);
    if (!(outcome instanceof Error) && right(outcome)) return outcome;
    if (Date.now() > until) {
      const last = outcome instanceof Error ? outcome.message : `${outcome.status} ${outcome.body.slice(0, 500)}`;
      throw new Error(`${typeof where === 'string' ? where : where.socket}${path} never answered as it should; last: ${last}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
