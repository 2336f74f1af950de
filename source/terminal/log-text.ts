import type { StreamedLine } from '../fleet/log-store.ts';
import type { ComponentView } from '../fleet/model.ts';
import { cleanColoured, cleanLine, jsonText } from '../text/clean.ts';
import type { LogFilter } from '../text/log-filter.ts';
import { cut, pad, textWidth } from '../text/width.ts';
import { SourceColours } from './source-colours.ts';

/** How lines are written. */
export interface LogTextOptions {
  filter: LogFilter | undefined;
  streams: { stdout: boolean; stderr: boolean };
  /** Services of a component by its key, where not all are wanted. */
  wanted: ReadonlyMap<string, ReadonlySet<string>>;
  json: boolean;
  raw: boolean;
  timestamps: boolean;
  coloured: boolean;
  /** Makes a text fit for a terminal without Unicode. */
  plainEnough: (text: string) => string;
}

/** Whose line it is, as it is written before each one. */
interface Label {
  text: string;
  /** Without the time: what JSON says of it. */
  json: { head: string; stdout: string; stderr: string };
}

const labelColumns = 32;
/** The colours that mean nothing else here: red and grey do. */
const labelColours = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];
const matchStart = '\x1b[1;31m';
const matchEnd = '\x1b[22;39m';

/** Writes batches of lines as one text each. What is the same for all lines of a source is made once: a pipe takes 300,000 lines a second. */
export class LogText {
  readonly #options: LogTextOptions;
  readonly #components: ReadonlyMap<string, ComponentView>;
  /** Several of them take turns, so that each line must name its own. */
  readonly #named: boolean;
  readonly #columns: number;
  /** Lines of several hosts: which one stands before the component. */
  readonly #severalHosts: boolean;
  readonly #sources = new SourceColours(labelColours.length);
  #colours: ReadonlyMap<string, number>;
  readonly #labels = new Map<string, Label>();
  #lastMs: number | undefined;
  #lastTime = '';

  constructor(components: readonly ComponentView[], options: LogTextOptions) {
    this.#options = options;
    this.#components = new Map(components.map((component) => [component.key, component]));
    this.#severalHosts = new Set(components.map(({ host }) => host)).size > 1;
    const names = components.flatMap((component) =>
      component.services
        .filter(({ name }) => options.wanted.get(component.key)?.has(name) !== false)
        .map(({ name }) => this.#nameOf(component.key, name)),
    );
    this.#named = components.length > 1 || names.length > 1;
    this.#columns = Math.min(labelColumns, Math.max(0, ...names.map(textWidth)));
    this.#colours = this.#sources.of([...new Set(names)].sort());
  }

  /** What of a batch is wanted, each line with its newline; empty when nothing is. */
  write(batch: readonly StreamedLine[]): string {
    const { filter, streams, wanted, json, raw, coloured, timestamps, plainEnough } = this.#options;
    let text = '';
    for (const line of batch) {
      if (!streams[line.stream]) continue;
      if (wanted.size > 0 && wanted.get(line.component)?.has(line.service) === false) continue;
      // What is searched is what is seen, here as in the console.
      const plain = raw && !filter ? line.text : cleanLine(line.text);
      if (filter && !filter.passes(plain)) continue;
      const label = this.#labelOf(line);
      if (json) {
        const time = line.timeMs === undefined ? 'null' : `"${this.#timeOf(line.timeMs)}"`;
        text += `${label.json.head}${time}${label.json[line.stream]}${raw ? jsonText(line.text) : JSON.stringify(plain)}${line.cut ? ',"cut":true}' : '}'}\n`;
        continue;
      }
      text += label.text;
      if (timestamps) text += this.#lead(line.timeMs);
      text += raw ? line.text : coloured ? shown(line.text, plain, filter) : plain;
      text += '\n';
    }
    return raw || json ? text : plainEnough(text);
  }

  #lead(timeMs: number | undefined): string {
    const time = timeMs === undefined ? '-'.padEnd(24) : this.#timeOf(timeMs);
    return this.#options.coloured ? `\x1b[90m${time}\x1b[39m ` : `${time} `;
  }

  /** Neighbours often have the same. */
  #timeOf(timeMs: number): string {
    if (timeMs !== this.#lastMs) {
      this.#lastMs = timeMs;
      this.#lastTime = new Date(timeMs).toISOString();
    }
    return this.#lastTime;
  }

  #labelOf({ component, service }: StreamedLine): Label {
    const key = `${component}\n${service}`;
    const known = this.#labels.get(key);
    if (known) return known;
    const view = this.#components.get(component);
    const [host = ''] = component.split('/');
    const after = (stream: string) =>
      `,"component":${jsonText(view?.id ?? component)},"service":${jsonText(service)},"stream":"${stream}","line":`;
    const label: Label = {
      text: this.#named ? this.#prefix(this.#nameOf(component, service)) : '',
      json: { head: `{"host":${jsonText(view?.host ?? host)},"time":`, stdout: after('stdout'), stderr: after('stderr') },
    };
    this.#labels.set(key, label);
    return label;
  }

  #prefix(name: string): string {
    const text = `${pad(cut(name, labelColumns), this.#columns)} | `;
    return this.#options.coloured ? `\x1b[${this.#colourOf(name)}m${text}\x1b[39m` : text;
  }

  /** The service within one component, the component where it is alone in it, both otherwise; more where two are called the same. */
  #nameOf(key: string, service: string): string {
    const component = this.#components.get(key);
    if (!component) return cleanLine(service);
    if (this.#components.size === 1) return cleanLine(service);
    const { id, host } = component;
    const isTwice = [...this.#components.values()].filter((other) => other.id === id && other.host === host).length > 1;
    const name = isTwice ? key : this.#severalHosts ? `${host}/${id}` : id;
    return cleanLine(component.services.length > 1 ? `${name}/${service}` : name);
  }

  #colourOf(name: string): number {
    if (!this.#colours.has(name)) this.#colours = this.#sources.of([...this.#colours.keys(), name]);
    return labelColours[this.#colours.get(name) ?? 0] ?? 36;
  }
}

/** With the program's own plain colours, or, where something was searched, with what was found. */
function shown(text: string, plain: string, filter: LogFilter | undefined): string {
  const ranges = filter?.ranges(plain) ?? [];
  if (ranges.length === 0) return cleanColoured(text);
  let result = '';
  let at = 0;
  for (const [start, end] of ranges) {
    result += `${plain.slice(at, start)}${matchStart}${plain.slice(start, end)}${matchEnd}`;
    at = end;
  }
  return result + plain.slice(at);
}
