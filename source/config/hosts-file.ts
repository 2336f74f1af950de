import { type Document, isMap, isNode, isScalar, type Pair, type Scalar, stringify } from 'yaml';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { parseYamlDocument } from '../text/yaml-text.ts';
import { readOwnText, writeOwnFile } from './own-files.ts';
import type { HostSettings } from './settings.ts';
import { checkSettings } from './settings-file.ts';

/**
 * Writes a host into the configuration. Comments, order and everything else in the file stay as they are.
 * @param file `config.yaml`; made when it is missing
 * @throws Fault `refused.hostThere` for a name that is taken, `config.*` for a file that cannot be read or changed
 */
export async function writeHost(grant: Grant, file: string, name: string, settings: HostSettings): Promise<void> {
  const text = await textOf(file);
  grant.signal.throwIfAborted();
  await writeOwnFile(file, withHost(file, text, name, settings), { chosen: true });
}

/**
 * Takes a host out of the configuration.
 * @throws Fault `usage.host` when there is none of that name
 */
export async function dropHost(grant: Grant, file: string, name: string): Promise<void> {
  const text = await textOf(file);
  grant.signal.throwIfAborted();
  await writeOwnFile(file, withoutHost(file, text, name), { chosen: true });
}

async function textOf(file: string): Promise<string> {
  return (await readOwnText(file)) ?? '';
}

/** The text of the configuration with one host more. */
export function withHost(file: string, text: string, name: string, settings: HostSettings): string {
  const document = parsed(file, text);
  if (checkSettings(text).settings.hosts[name]) {
    throw new Fault({
      code: 'refused.hostThere',
      message: `There is a host called ${name} already.`,
      remedy: `Choose another name, or take it away first: quarterdeck hosts remove ${name}`,
      where: { file },
    });
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

/** The text of the configuration without a host. Comments above it stay: they may be about more than it. */
export function withoutHost(file: string, text: string, name: string): string {
  const document = parsed(file, text);
  const pair = hostsPair(document);
  const hosts = pair?.value;
  const host = isMap(hosts) ? hosts.items.find(({ key }) => isScalar(key) && String(key.value) === name) : undefined;
  if (!pair || !isMap(hosts) || !host) {
    throw new Fault({
      code: 'usage.host',
      message: `There is no host called ${name}.`,
      remedy: 'quarterdeck hosts list shows those that there are.',
      where: { file },
    });
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
    // Without its last host the key goes too.
    const kept = hosts.items.length > 1 ? before : before.slice(0, head) + before.slice(lineEnd(before, startOf(pair.key)));
    changed = kept + text.slice(to);
  }
  return checkedText(file, changed, (left) => left[name] === undefined);
}

function parsed(file: string, text: string): Document.Parsed {
  const [problem] = checkSettings(text).problems;
  if (problem) {
    throw new Fault({
      code: problem.code,
      message: `The configuration is wrong, so nothing is written into it: ${problem.message}`,
      remedy: problem.remedy,
      where: { file, line: problem.line, column: problem.column, field: problem.field || undefined },
    });
  }
  return parseYamlDocument(text);
}

function hostsPair({ contents }: Document.Parsed): Pair | undefined {
  return isMap(contents) ? contents.items.find(({ key }) => isScalar(key) && key.value === 'hosts') : undefined;
}

/** On one line, quoted where it has to be. */
function written(value: string | HostSettings): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
}

function startOf(node: unknown): number {
  return (isNode(node) ? node.range?.[0] : undefined) ?? 0;
}

/** Where the last thing in it ends, without what stands behind it. */
function deepEnd(node: unknown): number {
  if (isMap(node) && !node.flow) {
    const last = node.items.at(-1);
    return last ? deepEnd(isNode(last.value) ? last.value : last.key) : (node.range?.[1] ?? 0);
  }
  return (isNode(node) ? node.range?.[1] : undefined) ?? 0;
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** Behind the end of its line. */
function lineEnd(text: string, offset = 0): number {
  const at = text.indexOf('\n', offset);
  return at < 0 ? text.length : at + 1;
}

function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Written only when it says what it is to say, and nothing that was right is wrong now. */
function checkedText(file: string, text: string, isRight: (hosts: Readonly<Record<string, HostSettings>>) => boolean): string {
  const { settings, problems } = checkSettings(text);
  if (problems.length === 0 && isRight(settings.hosts)) return text;
  throw new Fault({
    code: 'config.unwritable',
    message: `${file} is written in a way that cannot be changed from here; nothing was.`,
    remedy: 'Change "hosts:" in it by hand.',
    where: { file },
  });
}
