import { z } from 'zod';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import type { NotificationEvent } from './evaluate.ts';

/** What one rule has to report at one time. */
export const messageShape = z.object({
  ...{ rule: z.string(), urgent: z.boolean(), title: z.string(), text: z.string() },
  events: z.array(z.custom<EventJson>((value) => typeof value === 'object' && value !== null)).readonly(),
});
export type Message = z.infer<typeof messageShape>;

/** As targets of the types webhook and command receive it, and `--json` prints it. */
export type EventJson = ReturnType<typeof eventJson>;

export function eventJson({ event, rule, kind, host, about, message, remedy, sinceMs, atMs, count }: NotificationEvent) {
  return {
    ...{ event, rule, condition: kind, host, about, message, remedy },
    ...{ since: new Date(sinceMs).toISOString(), at: new Date(atMs).toISOString(), ...(count !== undefined && { lines: count }) },
  };
}

/** As the body of a webhook, and the input of a command. */
export function messageJson({ rule, urgent, title, text, events }: Message) {
  return { schema: 1, rule, urgent, title, text, events };
}

const labels = { problem: 'Problem', resolved: 'Resolved' } as const;

export function eventText({ event, host, about, message, remedy, lines }: EventJson): string {
  const where = host === about ? about : `${about} on ${host}`;
  const more = lines !== undefined && lines > 1 ? ` (${countText(lines, 'line')})` : '';
  const end = /[.!?]$/.test(message) && more === '' ? '' : '.';
  return cleanLine(`${labels[event]}: ${where}: ${message}${more}${end}${event === 'problem' ? ` ${remedy}` : ''}`).trim();
}

export function ruleMessage(rule: string, urgent: boolean, reported: readonly NotificationEvent[]): Message {
  const events = reported.map(eventJson);
  const [first] = events;
  const count = (event: NotificationEvent['event']) => events.filter((one) => one.event === event).length;
  const parts = [
    ...(count('problem') > 0 ? [countText(count('problem'), 'problem')] : []),
    ...(count('resolved') > 0 ? [`${count('resolved')} resolved`] : []),
  ];
  const title = first && events.length === 1 ? `${labels[first.event]}: ${first.about} (${rule})` : `${rule}: ${parts.join(', ')}`;
  return { rule, urgent, title: cleanLine(title), text: events.map(eventText).join('\n'), events };
}

export const testMessage: Message = {
  ...{ rule: 'test', urgent: false, title: 'Quarterdeck: test', text: 'This is a test message from Quarterdeck.', events: [] },
};
