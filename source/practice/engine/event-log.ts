import { EventEmitter } from 'node:events';

export interface PracticeEvent {
  type: 'container' | 'image' | 'network' | 'volume';
  action: string;
  id: string;
  attributes: Readonly<Record<string, string>>;
  ms: number;
  sequence: number;
}

/** As many as dockerd keeps. */
const kept = 256;

export class EventLog extends EventEmitter<{ event: [PracticeEvent] }> {
  past: readonly PracticeEvent[] = [];
  #sequence = 0;

  tell(type: PracticeEvent['type'], action: string, id: string, attributes: Readonly<Record<string, string>>, ms = Date.now()): void {
    const event = { type, action, id, attributes, ms, sequence: this.#sequence++ };
    this.past = [...this.past.slice(-kept + 1), event];
    this.emit('event', event);
  }
}

export function eventJson({ type, action, id, attributes, ms, sequence }: PracticeEvent): object {
  return {
    Type: type,
    Action: action,
    Actor: { ID: id, Attributes: attributes },
    scope: 'local',
    time: Math.floor(ms / 1000),
    timeNano: ms * 1_000_000 + (sequence % 1000),
  };
}
