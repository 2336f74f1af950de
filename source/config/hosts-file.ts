import { type Document, isMap, isNode, isScalar, type Pair, type Scalar, stringify } from 'yaml';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { parseYamlDocument } from '../yaml/text.ts';
import { readOwnText, writeOwnFile } from './own-files.ts';
import { type HostSettings, settingsFault } from './settings.ts';
import { checkSettings } from './settings-file.ts';

/**
 * Adds a host to the configuration. Comments, order and everything else in the file stay unchanged.
 * @param file `config.yaml`; created if it is missing
 * @throws Fault `refused.hostThere` if the name is in use, `config.*` if the file cannot be read or changed
 */
export const writeHost = (grant: Grant, file: string, name: string, settings: HostSettings): Promise<void> =>
  rewrite(grant, file, (text) => withHost(file, text, name, settings));

/** @throws Fault `usage.host` if there is no host with that name */
export const dropHost = (grant: Grant, file: string, name: string): Promise<void> =>
  rewrite(grant, file, (text) => withoutHost(file, text, name));

async function rewrite(grant: Grant, file: string, change: (text: string) => string): Promise<void> {
  const text = (await readOwnText(file)) ?? '';
  grant.signal.throwIfAborted();
  await writeOwnFile(file, change(text), { chosen: true });
}

export function withHost(file: string, text: string, name: string, settings: HostSettings): string {
  const document = parsed(file, text);
  if (checkSettings(text).settings.hosts[name]) {
    const remedy = `Choose another name, or remove that host first: quarterdeck hosts remove ${name}`;
    throw new Fault('refused.hostThere', `A host named ${name} already exists.`, remedy, { where: { file } });
  }
  const line = `${written(name)}: ${written(settings)}\n`;
  const pair = hostsPair(document);
  const value = pair?.value;
  let changed: string;
  if (!pair) changed = `${ended(text)}hosts:\n  ${line}`;
  else if (isMap(value) && value.items.length > 0 && !value.flow) {
    const at = lineEnd(text, deepEnd(value));
    changed = `${ended(text.slice(0, at))}${' '.repeat(columnOf(text, startOf(value.items[0]?.key)))}${line}${text.slice(at)}`;
  } else if (isMap(value) && value.items.length > 0) {
    document.setIn(['hosts', name], document.createNode(settings, { flow: true }));
    changed = document.toString({ lineWidth: 0 });
  } else {
    const at = lineEnd(text, isNode(value) && isMap(value) ? deepEnd(value) : (pair.key as Scalar).range?.[1]);
    changed = `${text.slice(0, startOf(pair.key))}hosts:\n  ${line}${text.slice(at)}`;
  }
  return checkedText(file, changed, (hosts) => hosts[name]?.ssh === settings.ssh);
}

/** Returns the text of the configuration without a host. Comments above it stay: they may be about other hosts too. */
export function withoutHost(file: string, text: string, name: string): string {
  const document = parsed(file, text);
  const pair = hostsPair(document);
  const hosts = pair?.value;
  const host = isMap(hosts) ? hosts.items.find(({ key }) => isScalar(key) && String(key.value) === name) : undefined;
  if (!pair || !isMap(hosts) || !host) {
    const remedy = 'List the hosts: quarterdeck hosts list';
    throw new Fault('usage.host', `No host is named ${name}.`, remedy, { where: { file } });
  }
  let changed: string;
  if (hosts.flow) {
    document.deleteIn(hosts.items.length === 1 ? ['hosts'] : ['hosts', name]);
    changed = document.toString({ lineWidth: 0 });
  } else {
    const from = lineStart(text, startOf(host.key));
    const to = lineEnd(text, isNode(host.value) ? deepEnd(host.value) : startOf(host.key));
    const before = text.slice(0, from);
    const head = lineStart(text, startOf(pair.key));
    // Without its last host, the key is removed too.
    const kept = hosts.items.length > 1 ? before : before.slice(0, head) + before.slice(lineEnd(before, startOf(pair.key)));
    changed = kept + text.slice(to);
  }
  return checkedText(file, changed, (left) => left[name] === undefined);
}

function parsed(file: string, text: string): Document.Parsed {
  const [problem] = checkSettings(text).problems;
  if (problem) throw settingsFault(file, problem, `The configuration is invalid and was not changed: ${problem.message}`);
  return parseYamlDocument(text);
}

function hostsPair({ contents }: Document.Parsed): Pair | undefined {
  return isMap(contents) ? contents.items.find(({ key }) => isScalar(key) && key.value === 'hosts') : undefined;
}

function written(value: string | HostSettings): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
}

const startOf = (node: unknown): number => (isNode(node) ? node.range?.[0] : undefined) ?? 0;

/** Returns where its last value ends, without the text after it. */
function deepEnd(node: unknown): number {
  if (isMap(node) && !node.flow) {
    const last = node.items.at(-1);
    return last ? deepEnd(isNode(last.value) ? last.value : last.key) : (node.range?.[1] ?? 0);
  }
  return (isNode(node) ? node.range?.[1] : undefined) ?? 0;
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

function lineEnd(text: string, offset = 0): number {
  const at = text.indexOf('\n', offset);
  return at < 0 ? text.length : at + 1;
}

const columnOf = (text: string, offset: number): number => offset - lineStart(text, offset);

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Writes only if the new text has the intended content and no new errors. */
function checkedText(file: string, text: string, isRight: (hosts: Readonly<Record<string, HostSettings>>) => boolean): string {
  const { settings, problems } = checkSettings(text);
  if (problems.length === 0 && isRight(settings.hosts)) return text;
  const message = `The layout of ${file} cannot be edited automatically; nothing was changed.`;
  throw new Fault('config.unwritable', message, 'Edit "hosts:" in the file by hand.', { where: { file } });
}
