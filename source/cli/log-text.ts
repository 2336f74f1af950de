import { createSourceColours } from '../app/source-colours.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { LogFilter } from '../logs/filter.ts';
import type { LogRun } from '../logs/merge.ts';
import type { LogOrigin } from '../logs/targets.ts';
import { areCleanLines, cleanColoured, cleanLine, jsonText } from '../text/clean.ts';
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

/**
 * Returns a function that writes lines as text. The parts that all lines of a source share are created once: a pipe accepts 300,000 lines
 * a second.
 */
export function createLogText(components: readonly ComponentView[], options: LogTextOptions): (run: LogRun<LogOrigin>) => string {
  const { filter, streams, wanted, json, raw, coloured, timestamps, plainEnough } = options;
  const byKey = new Map(components.map((component) => [component.key, component]));
  const severalHosts = new Set(components.map(({ host }) => host)).size > 1;
  const names = components.flatMap(({ key, services }) =>
    services.filter(({ name }) => wanted.get(key)?.has(name) !== false).map(({ name }) => nameOf(key, name)),
  );
  /** Several sources alternate, so each line must name its own. */
  const isNamed = components.length > 1 || names.length > 1;
  const columns = Math.min(labelColumns, Math.max(0, ...names.map(textWidth)));
  const coloursOf = createSourceColours(labelColours.length);
  let colours = coloursOf([...new Set(names)].sort());
  const labels = new Map<string, Label>();
  let lastMs: number | undefined;
  let lastTime = '';

  /**
   * Returns the service within one component. Among several components, returns the component, with its service if it has several, and with
   * its whole key where two have the same name on one host.
   */
  function nameOf(key: string, service: string): string {
    const component = byKey.get(key);
    if (!component || byKey.size === 1) return cleanLine(service);
    const { id, host } = component;
    const isTwice = components.filter((other) => other.id === id && other.host === host).length > 1;
    const name = isTwice ? key : severalHosts ? `${host}/${id}` : id;
    return cleanLine(component.services.length > 1 ? `${name}/${service}` : name);
  }

  function prefix(name: string): string {
    const text = `${pad(cut(name, labelColumns), columns)} | `;
    if (!coloured) return text;
    if (!colours.has(name)) colours = coloursOf([...colours.keys(), name]);
    return `\x1b[${labelColours[colours.get(name) ?? 0] ?? 36}m${text}\x1b[39m`;
  }

  function labelOf({ component, service }: LogOrigin): Label {
    const key = `${component}\n${service}`;
    const known = labels.get(key);
    if (known) return known;
    const view = byKey.get(component);
    const [host = ''] = component.split('/');
    const after = (stream: string) =>
      `,"component":${jsonText(view?.id ?? component)},"service":${jsonText(service)},"stream":"${stream}","line":`;
    const label: Label = {
      text: isNamed ? prefix(nameOf(component, service)) : '',
      json: { head: `{"host":${jsonText(view?.host ?? host)},"time":`, stdout: after('stdout'), stderr: after('stderr') },
    };
    labels.set(key, label);
    return label;
  }

  /** Reuses the previous result, because adjacent lines often have the same time. */
  function timeOf(timeMs: number): string {
    if (timeMs !== lastMs) lastTime = new Date(timeMs).toISOString();
    lastMs = timeMs;
    return lastTime;
  }

  function lead(timeMs: number | undefined): string {
    const time = timeMs === undefined ? '-'.padEnd(24) : timeOf(timeMs);
    return coloured ? `\x1b[90m${time}\x1b[39m ` : `${time} `;
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one loop without intermediate objects, as a pipe accepts 300,000 lines a second
  return ({ origin, lines: all }) => {
    if (wanted.get(origin.component)?.has(origin.service) === false) return '';
    const lines = streams.stdout && streams.stderr ? all : all.filter((at) => streams[all.stream(at)]);
    const whole = lines.text();
    const isClean = areCleanLines(whole);
    if ((isClean || raw) && !filter && !json && !timestamps && !isNamed) return raw ? whole : plainEnough(whole);
    const texts = whole.split('\n');
    let label: Label | undefined;
    let text = '';
    for (let at = 0; at < lines.length; at++) {
      const line = texts[at] ?? '';
      // The search applies to the text as shown, as in the console.
      const plain = isClean || (raw && !filter) ? line : cleanLine(line);
      if (filter && !filter.passes(plain)) continue;
      label ??= labelOf(origin);
      const timeMs = lines.timeMs(at);
      if (json) {
        const time = timeMs === undefined ? 'null' : `"${timeOf(timeMs)}"`;
        text += `${label.json.head}${time}${label.json[lines.stream(at)]}${raw ? jsonText(line) : JSON.stringify(plain)}${lines.isCut(at) ? ',"cut":true}' : '}'}\n`;
        continue;
      }
      text += label.text;
      if (timestamps) text += lead(timeMs);
      text += raw ? line : coloured ? shown(line, plain, filter) : plain;
      text += '\n';
    }
    return raw || json ? text : plainEnough(text);
  };
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
