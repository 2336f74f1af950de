import type { Frame } from './screenshot.ts';
import type { Terminal } from './terminal.ts';

const keyMs = 80;
const quietMs = 400;

/** Records the screens of a terminal. A wait for the program is shortened: what is recorded is for how long a viewer needs each screen. */
export class Recording {
  readonly #terminal: Terminal;
  readonly frames: Frame[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows what is on the screen now, for so long. */
  hold(ms: number): void {
    this.frames.push({ rows: this.#terminal.cells(), ms });
  }

  /** Presses keys as a person does, each with its screen. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      this.#terminal.press(key);
      await this.settle();
      this.hold(keyMs * 2);
    }
  }

  async type(text: string): Promise<void> {
    for (const character of text) {
      this.#terminal.type(character);
      await this.settle();
      this.hold(keyMs);
    }
  }

  /** Returns when the screen has not changed for a moment: a frame arrives in parts. */
  async settle(): Promise<void> {
    let seen = -1;
    while (seen !== this.#terminal.raw.length) {
      seen = this.#terminal.raw.length;
      await new Promise((resume) => setTimeout(resume, quietMs));
    }
  }
}
