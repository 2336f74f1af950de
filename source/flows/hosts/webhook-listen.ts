import { Fault } from '../../faults/fault.ts';
import { type Delivery, type RejectedRequest, WebhookReceiver } from '../../hosts/webhook-receiver.ts';
import { addressProblem } from '../../session/answer-checks.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine, cleanLines } from '../../text/clean.ts';
import { parseJson } from '../../text/json-value.ts';
import { isLoopback } from '../../text/loopback.ts';
import type { FlowInput, Lasting, Procedure } from '../flow.ts';
import { optionOf, portOption, wordsUpTo } from '../flow-options.ts';

/** Limit of the displayed body; `--json` has four times as much. */
const shownCharacters = 16_384;
const shownLines = 60;

export const webhookListen: Procedure = async (session, input) => {
  wordsUpTo(0, input, {
    takes: 'quarterdeck webhook listen accepts no arguments',
    remedy: 'For example: quarterdeck webhook listen --address 192.168.1.10 --port 9000',
  });
  const address = optionOf(input, 'address') ?? '127.0.0.1';
  if (address.includes('/') || addressProblem(address)) {
    const message = `--address must be an IP address of this machine, not "${cleanLine(address)}".`;
    throw new Fault('usage.address', message, 'For example: --address 192.168.1.10');
  }
  const port = portOption(input, 'port');
  // A dry run does not listen, and needs no secret.
  const secret = session.dryRun ? '' : await readSecret(session, input);
  session.hide(secret);
  const receiver = await session.act({
    id: 'listen',
    right: 'operate',
    request: `listen for webhooks on ${port === undefined ? `a free port of ${address}` : `${address}:${port}`}`,
    run: (grant) => WebhookReceiver.open(grant, { address, port, secret }),
  });
  if (!receiver) return { message: 'Dry run: not listening.' };
  const { url } = receiver;
  const loopback = isLoopback(address)
    ? ' Most containers cannot reach this address; pass another address of this machine with --address.'
    : '';
  return { message: `Listening on ${url}.${loopback}`, data: { url }, lasts: lastingOf(receiver) };
};

async function readSecret(session: Session, { stdin }: FlowInput): Promise<string> {
  const secret = stdin
    ? new TextDecoder().decode(stdin).replace(/\r?\n$/, '')
    : await session.ask.secret({
        id: 'secret',
        label: 'Webhook secret',
        help: "The secret from the sender's webhook settings. It is not stored.",
        check: (text) => (text === '' ? 'A secret is required; without one, anyone could send deliveries.' : undefined),
      });
  if (secret === '') throw new Fault('usage.secret', 'No secret on standard input.', 'Pipe in the secret that the sender uses to sign.');
  return secret;
}

function lastingOf(receiver: WebhookReceiver): Lasting {
  return {
    closed: receiver.closed,
    close: () => receiver.close(),
    follow(tell) {
      /** Repeated refusals of the same kind are reported once. */
      const reported = new Set<string>();
      return receiver.listen({
        delivered(delivery) {
          const lines = [headLine(delivery), ...bodyLines(delivery.body).map((line) => `  ${line}`)];
          tell('delivered', lines.join('\n'), deliveryData(delivery));
        },
        repeated(delivery, firstMs) {
          const firstAt = new Date(firstMs).toISOString();
          const text = `${headLine(delivery)}\n  repeat of the delivery received at ${firstAt}; not processed again`;
          tell('repeated', text, { ...deliveryFacts(delivery), firstAt });
        },
        turnedAway({ from, path, reason }) {
          const sentence = `Rejected a request from ${from} to ${cutTo(cleanLine(path), 100)}: ${reasons[reason]}.`;
          if (reported.has(sentence) || reported.size >= 1_000) return;
          reported.add(sentence);
          tell('refused', sentence);
        },
      });
    },
  };
}

const reasons: Readonly<Record<RejectedRequest['reason'], string>> = {
  'no signature': 'no header X-<vendor>-Signature or X-<vendor>-Signature-256',
  'wrong signature': 'not signed with this secret (HMAC-SHA256 of the body, in hex)',
  'too large': 'larger than 1 MiB',
  'no POST': 'not a POST request',
  'too many': 'too many deliveries to show',
};

const cutTo = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}...` : text);

/** Returns the kind of event that its sender states: `X-GitHub-Event: push`. */
function eventHeaders({ headers }: Delivery): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    /^x-.*(event|topic|hook-id|delivery)/.test(name) && typeof value === 'string'
      ? [[name, cutTo(cleanLine(value), 200)] satisfies [string, string]]
      : [],
  );
}

function headLine(delivery: Delivery): string {
  const { receivedMs, from, path, body } = delivery;
  const events = eventHeaders(delivery).map(([name, value]) => `, ${name}: ${value}`);
  return `${new Date(receivedMs).toISOString()} from ${from} to ${cutTo(cleanLine(path), 200)}, ${body.length} bytes${events.join('')}`;
}

function deliveryFacts(delivery: Delivery) {
  const { receivedMs, from, path, body } = delivery;
  const headers = Object.fromEntries(eventHeaders(delivery));
  return { at: new Date(receivedMs).toISOString(), from, path: cleanLine(path), headers, sizeBytes: body.length };
}

/** Formats JSON with one member per line; other text is unchanged. Shortened, and cleaned (R58). */
function bodyLines(body: Buffer): string[] {
  const text = body.toString('utf8');
  const json = jsonOf(text);
  const whole = json === undefined ? text : JSON.stringify(json, null, 2);
  const lines = cleanLines(whole.slice(0, shownCharacters));
  if (lines.length === 1 && lines[0] === '') return [];
  const left = lines.length - shownLines;
  const wasCut = whole.length > shownCharacters || left > 0;
  return [...lines.slice(0, shownLines), ...(wasCut ? ['... truncated; use --json to see more'] : [])];
}

/** Returns undefined for text that is not JSON, or is nested too deeply to be shown. */
function jsonOf(text: string): unknown {
  try {
    const value: unknown = parseJson(text);
    JSON.stringify(value);
    return value;
  } catch {
    return undefined;
  }
}

function deliveryData(delivery: Delivery) {
  const { headers, body } = delivery;
  const text = body.toString('utf8');
  const json = body.length <= 4 * shownCharacters ? jsonOf(text) : undefined;
  const content = json === undefined ? { text: cutTo(text, 4 * shownCharacters) } : { json };
  return { ...deliveryFacts(delivery), contentType: cleanLine(headers['content-type'] ?? ''), ...content };
}
