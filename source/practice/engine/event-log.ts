/** One event as it is kept; how it is told depends on the version that asks. */
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

export class EventLog {
  #events: PracticeEvent[] = [];
  #sequence = 0;
  readonly #listeners = new Set<(event: PracticeEvent) => void>();

  tell(type: PracticeEvent['type'], action: string, id: string, attributes: Readonly<Record<string, string>>, ms: number): void {
    const event = { type, action, id, attributes, ms, sequence: this.#sequence++ };
    this.#events.push(event);
    if (this.#events.length > kept * 2) this.#events = this.#events.slice(-kept);
    for (const listener of [...this.#listeners]) listener(event);
  }

  past(): readonly PracticeEvent[] {
    return this.#events.slice(-kept);
  }

  listen(listener: (event: PracticeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** From API 1.52 on the old `status`, `id` and `from` are gone. */
export function eventJson(event: PracticeEvent, minor: number): object {
  const old = minor < 52 && event.type === 'container' ? { status: event.action, id: event.id, from: event.attributes['image'] ?? '' } : {};
  return {
    ...old,
    Type: event.type,
    Action: event.action,
    Actor: { ID: event.id, Attributes: event.attributes },
    scope: 'local',
    time: Math.floor(event.ms / 1000),
    timeNano: event.ms * 1_000_000 + (event.sequence % 1000),
  };
}
