import { Fault } from '../faults/fault.ts';
import type { CodeToSave } from '../flows/save-code.ts';
import type { Shown, ShownSecret } from '../session/session.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { blockSize, type Modules, moduleBlocks } from '../text/module-blocks.ts';
import type { Output } from './output.ts';
import { reviewLines } from './review-text.ts';
import { tableLines } from './table.ts';

/** Where a flow's output goes: onto the screen, or into the one JSON object that `--json` prints at the end. */
export interface ShownSink {
  show(shown: Shown): void;
}

const itemTones = { todo: 'idle', running: 'busy', ok: 'good', warning: 'warn', blocked: 'bad', skipped: 'idle' } as const;

export class TextSink implements ShownSink {
  readonly #output: Output;
  #any = false;
  #alone = false;
  #codeToSave: Pick<CodeToSave, 'code' | 'label'> | undefined;

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
        for (const line of tableLines(columns, rows, {
          width: output.columns,
          heading: (text) => output.paint('faint', text),
          whole: true,
        }))
          output.line(line);
        break;
      }
      case 'item': {
        // What begins is told when it has ended; a line for each would say everything twice.
        if (shown.state === 'todo' || shown.state === 'running') break;
        const tone = itemTones[shown.state];
        const evidence = shown.evidence === undefined ? '' : output.paint('faint', `  ${cleanLine(shown.evidence)}`);
        output.line(`${output.paint(tone, `${output.glyph(tone)} ${shown.state.padEnd(7)}`)}  ${cleanLine(shown.title)}${evidence}`);
        break;
      }
      case 'review':
        for (const line of reviewLines(shown.review, { paint: (paint, text) => output.paint(paint, text), columns: output.proseColumns }))
          output.line(line);
        break;
      case 'secret':
        this.#secret(shown);
        break;
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

  /** A value was written that must stay alone on stdout. */
  get valueAlone(): boolean {
    return this.#alone;
  }

  /** The last QR code that did not fit, or was drawn without colours and may be inverted. Returned once. */
  takeCode(): Pick<CodeToSave, 'code' | 'label'> | undefined {
    const code = this.#codeToSave;
    this.#codeToSave = undefined;
    return code;
  }

  #code(code: Modules, label: string): void {
    const output = this.#output;
    const { columns, rows } = blockSize(code, output);
    // The cursor stands below it.
    const fits = columns <= output.columns && rows < output.rows;
    this.#codeToSave = fits && output.coloured ? undefined : { code, label };
    if (!fits) {
      output.note(`The QR code needs ${columns} x ${rows + 1} characters, and this terminal has ${output.columns} x ${output.rows}.`);
      return;
    }
    for (const line of moduleBlocks(code, { ascii: output.ascii, colour: output.coloured, background: 'dark' })) output.line(line);
    if (!output.coloured) output.note('Without colours the QR code is drawn for a dark background.');
  }

  /** Once, on a terminal. Into a pipe only when that was asked for: then the value alone. */
  #secret({ label, value, plain, copyOnly, code }: ShownSecret): void {
    const output = this.#output;
    if (plain) {
      output.secret(value);
      this.#alone = true;
    } else if (!output.interactive) throw intoPipe(label);
    else if (copyOnly) {
      output.copy(value);
      output.note(`${cleanLine(label)} was handed to the clipboard of this terminal; not every terminal takes it.`);
    } else {
      const lines = cleanLines(value);
      const head = output.paint('strong', `${cleanLine(label)}:`);
      for (const line of lines.length === 1 ? [`${head} ${lines[0]}`] : [head, ...lines]) output.line(line);
      if (code) this.#code(code, label);
    }
  }
}

function intoPipe(label: string): Fault {
  return new Fault({
    code: 'refused.pipe',
    message: `${cleanLine(label)} is a secret, and the output is no terminal.`,
    remedy: 'Run it in a terminal, or add --plain to have the value alone written to the pipe.',
  });
}

/** Collects what a person would have seen, but for secrets. Output of programs is in the outcome already. */
export class JsonSink implements ShownSink {
  readonly shown: Exclude<Shown, { kind: 'output' | 'secret' }>[] = [];

  show(shown: Shown): void {
    if (shown.kind === 'secret') {
      if (!shown.plain) throw intoPipe(shown.label);
    } else if (shown.kind !== 'output') this.shown.push(shown);
  }
}
