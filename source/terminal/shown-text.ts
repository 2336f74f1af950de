import type { Shown } from '../session/session.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import type { Output } from './output.ts';
import { tableLines } from './table.ts';

/** Where a flow's output goes: onto the screen, or into the one JSON object that `--json` prints at the end. */
export interface ShownSink {
  show(shown: Shown): void;
}

const itemTones = { todo: 'idle', running: 'busy', ok: 'good', warning: 'warn', blocked: 'bad', skipped: 'idle' } as const;

export class TextSink implements ShownSink {
  readonly #output: Output;
  #any = false;

  constructor(output: Output) {
    this.#output = output;
  }

  show(shown: Shown): void {
    const output = this.#output;
    switch (shown.kind) {
      case 'text':
        for (const line of cleanLines(shown.text)) output.line(line);
        break;
      case 'table': {
        if (this.#any) output.line();
        if (shown.title) output.line(output.paint('strong', cleanLine(shown.title)));
        const columns = shown.columns.map((heading, index) => ({ heading, align: shown.align?.[index] ?? 'left', least: 12 }) as const);
        const rows = shown.rows.map((row) => row.map(cleanLine));
        for (const line of tableLines(columns, rows, { width: output.columns, heading: (text) => output.paint('faint', text) }))
          output.line(line);
        break;
      }
      case 'item': {
        const tone = itemTones[shown.state];
        const evidence = shown.evidence === undefined ? '' : output.paint('faint', `  ${cleanLine(shown.evidence)}`);
        output.line(`${output.paint(tone, `${output.glyph(tone)} ${shown.state.padEnd(7)}`)}  ${cleanLine(shown.title)}${evidence}`);
        break;
      }
      case 'output':
        if (shown.stream === 'stdout' && output.interactive) {
          for (const line of cleanLines(new TextDecoder().decode(shown.bytes))) output.line(line);
        } else if (shown.stream === 'stderr') {
          for (const line of cleanLines(new TextDecoder().decode(shown.bytes))) output.note(line);
        } else {
          output.bytes('stdout', shown.bytes);
        }
        break;
    }
    this.#any = true;
  }
}

/** Collects what a person would have seen. Output of programs is in the outcome already. */
export class JsonSink implements ShownSink {
  readonly shown: Exclude<Shown, { kind: 'output' }>[] = [];

  show(shown: Shown): void {
    if (shown.kind !== 'output') this.shown.push(shown);
  }
}
