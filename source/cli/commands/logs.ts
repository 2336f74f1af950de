import { Fault, isAbort } from '../../faults/fault.ts';
import { throwIfNothingAnswers } from '../../fleet/engine-view.ts';
import type { ComponentView, Fleet, FleetSnapshot } from '../../fleet/model.ts';
import { isUpState } from '../../fleet/service-state.ts';
import { type LogFilter, loadLogFilter } from '../../logs/filter.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { countText } from '../../text/quantities.ts';
import { parseTimeWords } from '../../text/time-words.ts';
import type { VerbContext } from '../command.ts';
import { findComponent } from '../find-component.ts';
import { createLogText } from '../log-text.ts';
import { whileWaiting } from '../slow-waits.ts';
import { settleFleet } from './status.ts';

export type LogsFlags = Partial<Record<'follow' | 'stdout' | 'stderr' | 'timestamps' | 'raw' | 'all', boolean>> &
  Partial<Record<'since' | 'until' | 'tail' | 'grep', string>> & { service?: readonly string[] };

const interruptedCode = 130;
const writeCharacters = 64 * 1024;

/** Returns 0 when the logs end or the reader is gone (`| head`). While following, an interrupt is the ordinary end. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a stream from its arguments to the exit code, with every way that it ends
export async function runLogsVerb(context: VerbContext, names: readonly string[], flags: LogsFlags): Promise<number> {
  const { output, options, signal } = context;
  // Errors in the arguments are reported before anything is queried.
  const filter = await filterOf(flags);
  const range = rangeOf(flags, Date.now());
  const tail = tailOf(flags);
  refuseRaw(context, flags);
  if (names.length === 0 && !flags.all)
    throw usage('component', 'logs requires a component.', 'Use quarterdeck logs COMPONENT, or quarterdeck logs --all.');
  if (names.length > 0 && flags.all) throw usage('all', '--all cannot be combined with component names.', 'Omit --all or the names.');

  const { fleet, logs } = await context.app();
  const snapshot = await settleFleet(context, fleet);
  throwIfNothingAnswers(snapshot);
  const { components, services } = chosen(names, flags, snapshot, options.host === 'all');
  const follow = flags.follow === true;
  const note = (sentence: string) => output.note(output.paintError('faint', cleanLine(sentence)));
  const readable = follow ? components : withContainers(components, note);

  const write = createLogText(readable, {
    filter,
    streams: { stdout: flags.stdout === true || !flags.stderr, stderr: flags.stderr === true || !flags.stdout },
    wanted: services,
    json: options.json,
    raw: flags.raw === true,
    timestamps: flags.timestamps === true,
    coloured: output.coloured && !options.json && flags.raw !== true,
    plainEnough: (line) => (output.interactive ? output.plainEnough(line) : line),
  });
  // When a connection is lost, the stream of each of many containers reports it.
  const lost = new Set<string>();
  const noteLoss = (sentence: string) => {
    if (lost.has(sentence)) return;
    lost.add(sentence);
    note(sentence);
  };
  const stopWatching = follow ? noteChanges(fleet, { components, services }, note, () => lost.clear()) : () => {};
  const ending = AbortSignal.any([signal, output.gone]);
  let cutLines = 0;
  let waiting = '';
  try {
    const stream = logs.stream({
      componentKeys: readable.map(({ key }) => key),
      services: servicesOf(readable, services),
      follow,
      tail,
      ...range,
      untimed: readable.length === 1 && flags.timestamps !== true && !options.json,
      signal: ending,
      onNotice: noteLoss,
    });
    const read = async () => {
      for await (const run of stream) {
        for (let at = 0; at < run.lines.length; at++) if (run.lines.isCut(at)) cutLines++;
        waiting += write(run);
        // Following shows each line at once; a dump is written in large pieces.
        if (waiting === '' || (!follow && waiting.length < writeCharacters)) continue;
        const taken = output.text(waiting, ending);
        waiting = '';
        if (taken) await taken;
        if (ending.aborted) break;
      }
    };
    // A followed log may stay silent.
    if (follow) await read();
    else await whileWaiting(output, () => `Reading the logs of ${readable.map(({ id }) => id).join(', ')}`, read);
  } catch (thrown) {
    if (!ending.aborted || !(isAbort(thrown) || thrown === ending.reason)) throw thrown;
  } finally {
    stopWatching();
    // Written even when the log was interrupted: the lines read are valid.
    if (waiting !== '' && !ending.aborted) await output.text(waiting, ending);
  }
  // The reader closed the pipe and needs no more.
  if (output.gone.aborted) return 0;
  if (signal.aborted) return interruptedCode;
  if (cutLines > 0) note(`${countText(cutLines, 'line was', 'lines were')} longer than the limit and truncated.`);
  return 0;
}

const usage = (what: string, message: string, remedy: string): Fault => new Fault(`usage.${what}`, message, remedy);

async function filterOf({ grep }: LogsFlags): Promise<LogFilter | undefined> {
  if (grep === undefined) return undefined;
  const answer = await loadLogFilter(grep);
  if (answer.state === 'ready') return answer.filter;
  const remedy = 'Use a text or a /regular expression/; a leading ! excludes matching lines.';
  throw usage('filter', `--grep: ${answer.problem}`, remedy);
}

function rangeOf({ since, until }: LogsFlags, nowMs: number): { sinceMs?: number; untilMs?: number } {
  const read = (option: string, typed: string | undefined): number | undefined => {
    if (typed === undefined) return undefined;
    const answer = parseTimeWords(typed, nowMs);
    if ('timeMs' in answer) return answer.timeMs;
    throw usage('time', `--${option}: ${answer.problem}`, `For example: --${option} 10m`);
  };
  const sinceMs = read('since', since);
  const untilMs = read('until', until);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs) {
    throw usage('time', '--until must not be earlier than --since.', 'Change --since or --until.');
  }
  return { sinceMs, untilMs };
}

function tailOf({ tail }: LogsFlags): number | undefined {
  if (tail === undefined || tail === 'all') return undefined;
  const lines = /^\d{1,9}$/.test(tail) ? Number(tail) : Number.NaN;
  if (Number.isNaN(lines))
    throw usage('tail', `--tail must be a number of lines or all, not "${cleanLine(tail)}".`, 'For example: --tail 100 or --tail all');
  return lines;
}

function refuseRaw({ output, options }: VerbContext, { raw }: LogsFlags): void {
  if (!raw || options.json || !output.interactive) return;
  const message = 'Raw lines can control the terminal: move the cursor, change the title, write to the clipboard.';
  throw new Fault('refused.raw', message, 'Pipe the output of --raw to a program or a file, or omit it.');
}

interface Chosen {
  components: readonly ComponentView[];
  /** Selected services by component key, for components of which only some services are shown. */
  services: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Returns the components that a name stands for: on every host, each one with this id. */
function onEachHost(name: string, { components }: FleetSnapshot): readonly ComponentView[] {
  const alike = components.filter(({ id }) => id === name);
  return new Set(alike.map(({ host }) => host)).size === alike.length ? alike : [];
}

function chosen(names: readonly string[], { all, service }: LogsFlags, snapshot: FleetSnapshot, allHosts: boolean): Chosen {
  const components = new Map<string, ComponentView>();
  const services = new Map<string, Set<string>>();
  if (all) for (const component of snapshot.components) components.set(component.key, component);
  if (all && components.size === 0) throw new Fault('failed.empty', 'No containers found.', 'Show the engines: quarterdeck status');
  const whole = new Set<string>();
  for (const name of names) {
    const alike = allHosts ? onEachHost(name, snapshot) : [];
    for (const component of alike) {
      components.set(component.key, component);
      whole.add(component.key);
    }
    if (alike.length > 0) continue;
    const found = findComponent(name, snapshot);
    const { key } = found.component;
    components.set(key, found.component);
    if (!found.service) whole.add(key);
    else services.set(key, (services.get(key) ?? new Set()).add(found.service.name));
  }
  // When a component and one of its containers are named, the whole component is shown.
  for (const key of whole) services.delete(key);
  if (service && service.length > 0) narrow(components, services, service);
  return { components: [...components.values()], services };
}

/** Returns the service filter for the engine. Where the services differ per component, lines are filtered when they are written. */
function servicesOf(components: readonly ComponentView[], services: Chosen['services']): readonly string[] | undefined {
  const sets = components.map(({ key }) => services.get(key));
  return sets.every((names) => names !== undefined) ? [...new Set(sets.flatMap((names) => [...names]))] : undefined;
}

function narrow(components: Map<string, ComponentView>, services: Map<string, Set<string>>, wanted: readonly string[]): void {
  const known = new Set([...components.values()].flatMap((component) => component.services.map(({ name }) => name)));
  const unknown = wanted.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw usage('service', `No service is named "${cleanLine(unknown)}".`, nameRemedy(unknown, known, 'No services found.'));
  }
  for (const [key, component] of components) {
    const here = component.services
      .map(({ name }) => name)
      .filter((name) => wanted.includes(name) && services.get(key)?.has(name) !== false);
    if (here.length > 0) services.set(key, new Set(here));
    else components.delete(key);
  }
}

function withContainers(components: readonly ComponentView[], note: (sentence: string) => void): readonly ComponentView[] {
  const readable = components.filter((component) => component.services.some(({ containerId }) => containerId !== undefined));
  const without = components.filter((component) => !readable.includes(component)).map(({ id }) => id);
  if (without.length === 0) return components;
  const sentence = `${without.join(', ')} ${without.length === 1 ? 'has' : 'have'} no container and no log.`;
  if (readable.length === 0) throw new Fault('failed.noContainer', sentence, 'Start the component, or use --follow to wait for it.');
  note(sentence);
  return readable;
}

const livenessText = {
  up: 'is running.',
  down: 'is not running; waiting for it to start.',
  none: 'has no container; waiting for one.',
} as const;
type Liveness = keyof typeof livenessText;

/** Reports why no lines come, and when they continue. The stream itself reports an unreachable engine. */
function noteChanges(fleet: Fleet, { components, services }: Chosen, note: (sentence: string) => void, onBack: () => void): () => void {
  const hosts = new Set(components.map(({ host }) => host));
  const remote = new Set(fleet.snapshot().engines.flatMap(({ name, hostKind }) => (hostKind === 'ssh' ? [name] : [])));
  const away = new Set<string>();
  const before = new Map<string, Liveness>();

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: engines and components are compared with the last look
  function look(): void {
    const { engines, components: current } = fleet.snapshot();
    for (const { name, link } of engines) {
      if (!hosts.has(name)) continue;
      if (link.state === 'away') away.add(name);
      else if (link.state === 'connected' && away.delete(name)) {
        onBack();
        note(remote.has(name) ? `${name} is reachable again.` : `The engine${hosts.size > 1 ? ` of ${name}` : ''} is reachable again.`);
      }
    }
    for (const { key, id, host } of components) {
      // The last known state may be out of date.
      if (away.has(host)) continue;
      const wanted = services.get(key);
      const found = current.find((component) => component.key === key);
      const now = livenessOf(found, wanted);
      const last = before.get(key);
      before.set(key, now);
      const name = wanted ? `${id} (${[...wanted].join(', ')})` : id;
      if (now !== last && (now !== 'up' || last !== undefined)) note(`${name} ${livenessText[now]}`);
    }
  }

  look();
  return fleet.subscribe(look);
}

function livenessOf(component: ComponentView | undefined, wanted: ReadonlySet<string> | undefined): Liveness {
  const containers = component?.services.filter(({ name, containerId }) => containerId !== undefined && wanted?.has(name) !== false) ?? [];
  if (containers.length === 0) return 'none';
  // The state of an engine that was just connected is not complete yet.
  return containers.some(({ state }) => isUpState(state) || state === 'paused' || state === 'unknown') ? 'up' : 'down';
}
