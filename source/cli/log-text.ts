import { createSourceColours } from '../app/source-colours.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { LogFilter } from '../logs/filter.ts';
import type { StreamedLine } from '../logs/store.ts';
import { cleanColoured, cleanLine, jsonText } from '../text/clean.ts';
import { cut, pad, textWidth } from '../text/width.ts';

interface LogTextOptions {
  filter: LogFilter | undefined;
  streams: { stdout: boolean; stderr: boolean };
  /** Selected services by component key, for components of which only some are shown. */
  wanted: ReadonlyMap<string, ReadonlySet<string>>;
  json: boolean;
  raw: boolean;
  timestamps: boolean;
  coloured: boolean;
  /** Replaces characters that a terminal without Unicode cannot show. */
  plainEnough: (text: string) => string;
}

interface Label {
  text: string;
  json: { head: string; stdout: string; stderr: string };
}

const labelColumns = 32;
/** The colours without another meaning here; red and grey have one. */
const labelColours = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];
const matchStart = '\x1b[1;31m';
const matchEnd = '\x1b[22;39m';

/** The parts that all lines of a source share are created once: a pipe accepts 300,000 lines a second. */
export class LogText {
  readonly #options: LogTextOptions;
  readonly #components: ReadonlyMap<string, ComponentView>;
  /** Several sources alternate, so each line must name its own. */
  readonly #named: boolean;
  readonly #columns: number;
  /** Lines come from several hosts: the host precedes the component. */
  readonly #severalHosts: boolean;
  readonly #coloursOf = createSourceColours(labelColours.length);
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
    this.#colours = this.#coloursOf([...new Set(names)].sort());
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop without intermediate objects, as a pipe accepts 300,000 lines a second
  write(batch: readonly StreamedLine[]): string {
    const { filter, streams, wanted, json, raw, coloured, timestamps, plainEnough } = this.#options;
    let text = '';
    for (const line of batch) {
      if (!streams[line.stream]) continue;
      if (wanted.size > 0 && wanted.get(line.component)?.has(line.service) === false) continue;
      // The search applies to the text as shown, as in the console.
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

  /** Reuses the previous result, because adjacent lines often have the same time. */
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

  /**
   * Returns the service within one component. Among several components, returns the component, with its service if it has several, and with
   * its whole key where two have the same name on one host.
   */
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
    if (!this.#colours.has(name)) this.#colours = this.#coloursOf([...this.#colours.keys(), name]);
    return labelColours[this.#colours.get(name) ?? 0] ?? 36;
  }
}

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
