import { type Document, isMap, isPair, isScalar, isSeq, type YAMLMap } from 'yaml';
import { Fault, type FaultCode } from '../../faults/fault.ts';
import { keyText, writeOutAliases } from '../../yaml/aliases.ts';
import { YamlDocument } from '../../yaml/document.ts';
import { parseYamlDocument } from '../../yaml/text.ts';

/** Enough for a stack of twenty components, each before and after. */
const limit = 64;
const read = new Map<string, YamlDocument>();

/** Once per text: form, plan and preflight all read the same few texts, and parsing is the slowest part of a plan. */
export function composeDocument(text: string): YamlDocument {
  const document = read.get(text) ?? new YamlDocument(text);
  const [oldest] = read.keys();
  if (read.size >= limit && oldest !== undefined && !read.has(text)) read.delete(oldest);
  read.set(text, document);
  return document;
}

export type Service = Readonly<Record<string, unknown>>;

/** Returns the services as written. Entries that are not maps are skipped: compose itself reports the error. */
export function readServices(text: string): Readonly<Record<string, Service>> {
  const services = topLevel(text)['services'] ?? {};
  const isService = (pair: [string, unknown]): pair is [string, Service] => pair[1] !== null && typeof pair[1] === 'object';
  return Object.fromEntries(Object.entries(services).filter(isService));
}

export const topLevel = (text: string): Readonly<Record<string, unknown>> => (composeDocument(text).value ?? {}) as Service;

/** Throws a fault with the line of the first problem. */
export function refuseBroken(document: YamlDocument, file: string, code: FaultCode): void {
  const [problem] = document.problems;
  if (!problem) return;
  const { message, remedy, line, column } = problem;
  throw new Fault(code, `${file} cannot be read: ${message}`, remedy, { where: { file, line, column } });
}

/** Aliases and `<<` are expanded, so that a change of one service does not change another. Throws `config.compose`. */
export function editableCompose(text: string, file: string): Document.Parsed {
  refuseBroken(composeDocument(text), file, 'config.compose');
  const document = parseYamlDocument(text, { logLevel: 'error' });
  writeOutAliases(document);
  return document;
}

export const composeText = (document: Document.Parsed): string => document.toString({ lineWidth: 0, flowCollectionPadding: false });

/** Also declares the project's own network, which compose would no longer add by itself. */
export function declareNetwork(document: Document.Parsed, name: string): void {
  // podman-compose puts services into the only declared network, and has no default network beside named ones.
  if (!document.hasIn(['networks', 'default'])) document.setIn(['networks', 'default'], document.createNode({}));
  if (document.getIn(['networks', name, 'external']) !== true) document.setIn(['networks', name], document.createNode({ external: true }));
}

export function dropEmpty(document: Document.Parsed, key: string): boolean {
  const left = document.get(key);
  return isMap(left) && left.items.length === 0 && document.delete(key);
}

interface EnvironmentEntry {
  name: string;
  value: string;
  write(value: string): void;
  remove(): void;
}

export const listIn = (node: unknown): unknown[] => (isSeq(node) ? (node.toJSON() as unknown[]) : []);

/** Reads both forms: a map of names, and a list of NAME=value. */
export function environmentOf(service: YAMLMap): EnvironmentEntry[] {
  const environment = service.get('environment');
  if (!isMap(environment) && !isSeq(environment)) return [];
  const items: unknown[] = environment.items;
  return [...items].flatMap((item): EnvironmentEntry[] => {
    const remove = () => void items.splice(items.indexOf(item), 1);
    const scalar = isPair(item) ? item.value : item;
    if (!isScalar(scalar) || typeof scalar.value !== 'string') return [];
    const [, listed, value = ''] = /^([^=]*)=(.*)$/s.exec(scalar.value) ?? [];
    const write = (text: string) => {
      scalar.value = text;
    };
    if (isPair(item)) return [{ name: keyText(item.key), value: scalar.value, write, remove }];
    return listed === undefined ? [] : [{ name: listed, value, write: (text) => write(`${listed}=${text}`), remove }];
  });
}

export function mountSources(volumes: unknown): string[] {
  if (!Array.isArray(volumes)) return [];
  return volumes.flatMap((volume: unknown) => {
    if (typeof volume === 'string') return [volume.split(':')[0] ?? ''];
    const source = (volume as { source?: unknown } | null)?.source;
    return typeof source === 'string' ? [source] : [];
  });
}

/** A file of the component's folder may be mounted by itself, or with a folder above it. */
export function isMounted(path: string, sources: readonly string[]): boolean {
  return sources.some((source) => {
    const inside = source.replace(/^\.\//, '').replace(/\/$/, '');
    return path === inside || path.startsWith(`${inside}/`);
  });
}

export function networkMap(service: YAMLMap): Record<string, { aliases?: string[] } | null> {
  const networks = service.get('networks');
  if (isMap(networks)) return networks.toJSON() as Record<string, { aliases?: string[] } | null>;
  return Object.fromEntries((isSeq(networks) ? listIn(networks).map(String) : ['default']).map((name) => [name, {}]));
}
