import { reviewLines } from '../app/review-text.ts';
import { tableLines } from '../app/table.ts';
import { type ShownSink, secretIntoPipe } from '../app/unattended-operator.ts';
import type { CodeToSave } from '../flows/save-file.ts';
import type { Shown, ShownSecret } from '../session/session.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { blockSize, type Modules, moduleBlocks } from '../text/module-blocks.ts';
import type { Output } from './output.ts';

const itemSeverities = { todo: 'off', running: 'busy', ok: 'ok', warning: 'warning', blocked: 'error', skipped: 'off' } as const;

export class TextSink implements ShownSink {
  /** A value was written that must stay alone on stdout. */
  valueAlone = false;
  #any = false;
  #codeToSave: Pick<CodeToSave, 'code' | 'label'> | undefined;

  constructor(private readonly output: Output) {}

  show(shown: Shown): void {
    const { output } = this;
    switch (shown.kind) {
      case 'text':
        output.lines(cleanLines(shown.text));
        break;
      case 'table': {
        if (this.#any) output.line();
        if (shown.title) output.line(output.paint('strong', cleanLine(shown.title)));
        const columns = shown.columns.map((heading, index) => ({ heading, align: shown.align?.[index] ?? 'left', least: 12 }) as const);
        const rows = shown.rows.map((row) => row.map(cleanLine));
        const heading = (text: string) => output.paint('faint', text);
        output.lines(tableLines(columns, rows, { width: output.columns, heading, whole: true }));
        break;
      }
      case 'item': {
        // A step is printed when it has ended; a line at its start would print everything twice.
        if (shown.state === 'todo' || shown.state === 'running') break;
        const severity = itemSeverities[shown.state];
        const evidence = shown.evidence === undefined ? '' : output.paint('faint', `  ${cleanLine(shown.evidence)}`);
        const state = output.paint(severity, `${output.glyph(severity)} ${shown.state.padEnd(7)}`);
        output.line(`${state}  ${cleanLine(shown.title)}${evidence}`);
        break;
      }
      case 'review':
        output.lines(reviewLines(shown.review, { paint: (paint, text) => output.paint(paint, text), columns: output.proseColumns }));
        break;
      case 'secret':
        this.#secret(shown);
        break;
      case 'output':
        if (shown.stream === 'stdout' && output.interactive) {
          output.lines(cleanLines(new TextDecoder().decode(shown.bytes)));
        } else if (shown.stream === 'stderr') {
          for (const line of cleanLines(new TextDecoder().decode(shown.bytes))) output.note(line);
        } else {
          output.bytes('stdout', shown.bytes);
        }
        break;
    }
    this.#any = true;
  }

  /** Returns, once, the last QR code that did not fit, or that was drawn without colours and may be inverted. */
  takeCode(): Pick<CodeToSave, 'code' | 'label'> | undefined {
    const code = this.#codeToSave;
    this.#codeToSave = undefined;
    return code;
  }

  #code(code: Modules, label: string): void {
    const { output } = this;
    const { columns, rows } = blockSize(code, output);
    // The cursor is below the code.
    const fits = columns <= output.columns && rows < output.rows;
    this.#codeToSave = fits && output.coloured ? undefined : { code, label };
    if (!fits) {
      output.note(`The QR code needs ${columns} x ${rows + 1} characters, but this terminal has ${output.columns} x ${output.rows}.`);
      return;
    }
    output.lines(moduleBlocks(code, { ascii: output.ascii, colour: output.coloured, background: 'dark' }));
    if (!output.coloured) output.note('Without colours, the QR code is drawn for a dark background.');
  }

  /** Shows a secret once, on a terminal. A pipe gets it only on request, and then the value alone. */
  #secret({ label, value, plain, copyOnly, code }: ShownSecret): void {
    const { output } = this;
    if (plain) {
      output.secret(value);
      this.valueAlone = true;
    } else if (!output.interactive) throw secretIntoPipe(label);
    else if (copyOnly) {
      output.copy(value);
      output.note(`${cleanLine(label)} was sent to the terminal clipboard. Not every terminal supports this.`);
    } else {
      const lines = cleanLines(value);
      const head = output.paint('strong', `${cleanLine(label)}:`);
      output.lines(lines.length === 1 ? [`${head} ${lines[0]}`] : [head, ...lines]);
      if (code) this.#code(code, label);
    }
  }
}
