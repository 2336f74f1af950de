/** Ink writes these before and after a frame, so that the terminal shows it as a whole. */
const begin = '\x1b[?2026h';
const end = '\x1b[?2026l';

// Ink begins the changed part of a row with all colours that were begun and ended before it.
const unusedColour = /\x1b\[(?:3[0-7]|9[0-7]|38[;\d]+)m(?=\x1b\[39m)/g;
const endedTwice = /(?:\x1b\[39m){2,}/g;

// To the beginning of the next row. mosh does not know this one, and draws over the row above. Ink never moves beyond its own frame, so nothing scrolls.
const nextRow = /\x1b\[E/g;

/** The same on the screen, in a quarter fewer bytes, and in every terminal. */
export function leaner(frame: string): string {
  return frame.replace(unusedColour, '').replace(endedTwice, '\x1b[39m').replace(nextRow, '\r\n');
}

/** The terminal as Ink is given it: a frame is one write instead of three, and how long the terminal took for it is told. */
export function frameOutput(stdout: NodeJS.WriteStream, written: (tookMs: number, sizeBytes: number) => void): NodeJS.WriteStream {
  let frame = '';
  const flush = (): boolean => {
    if (frame === '') return true;
    const whole = leaner(frame);
    frame = '';
    const startMs = performance.now();
    // On a terminal this waits until it was taken.
    const goOn = stdout.write(whole);
    written(performance.now() - startMs, Buffer.byteLength(whole));
    return goOn;
  };
  const write = (data: string, ...rest: []): boolean => {
    if (rest.length > 0 || typeof data !== 'string') flush();
    else if (data === begin || frame !== '') {
      // Should it never be ended.
      if (frame === '') queueMicrotask(flush);
      frame += data;
      return data === end ? flush() : true;
    }
    return stdout.write(data, ...rest);
  };
  return new Proxy(stdout, {
    get(target, name) {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
