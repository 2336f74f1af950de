import { Fault, isAbort } from '../faults/fault.ts';
import type { ComponentView, Fleet, FleetSnapshot } from '../fleet/model.ts';
import { isUpState } from '../fleet/service-state.ts';
import { cleanLine } from '../text/clean.ts';
import { type LogFilter, loadLogFilter } from '../text/log-filter.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { countText } from '../text/quantities.ts';
import { parseTimeWords } from '../text/time-words.ts';
import { findComponent } from './find-component.ts';
import { LogText } from './log-text.ts';
import { whileWaiting } from './slow-waits.ts';
import { throwIfNothingAnswers } from './status-verb.ts';
import type { VerbContext } from './verb.ts';

/** As they stand on the command line. */
export interface LogsFlags {
  follow?: boolean;
  since?: string;
  until?: string;
  tail?: string;
  grep?: string;
  service?: readonly string[];
  stdout?: boolean;
  stderr?: boolean;
  timestamps?: boolean;
  raw?: boolean;
  all?: boolean;
}

const interruptedCode = 130;
/** So many characters at least go into one write. */
const writeCharacters = 64 * 1024;

/**
 * `logs COMPONENT...`: lines into a terminal or a pipe, as fast as they are taken. Ends with 0 when the logs do, and when nobody reads any more
 * (`| head`); while it follows, an interrupt is the ordinary end, and says nothing.
 */
export async function runLogsVerb(context: VerbContext, names: readonly string[], flags: LogsFlags): Promise<number> {
  const { output, options, signal } = context;
  // What is wrong with the words is said before anything is asked for.
  const filter = await filterOf(flags);
  const range = rangeOf(flags, Date.now());
  const tail = tailOf(flags);
  refuseRaw(context, flags);
  if (names.length === 0 && !flags.all)
    throw usage('component', 'logs needs the name of a component.', 'quarterdeck logs COMPONENT, or --all for all of them.');
  if (names.length > 0 && flags.all) throw usage('all', '--all is every component, and some are named too.', 'Leave out either.');

  const { fleet, logs } = await context.deck();
  const snapshot = await whileWaiting(
    output,
    () => 'Waiting for the engine',
    () => fleet.settle(signal),
  );
  throwIfNothingAnswers(snapshot);
  const { components, services } = chosen(names, flags, snapshot, options.host === 'all');
  const follow = flags.follow === true;
  const note = (sentence: string) => output.note(output.paintError('faint', cleanLine(sentence)));
  const readable = follow ? components : withContainers(components, note);

  const text = new LogText(readable, {
    filter,
    streams: { stdout: flags.stdout === true || !flags.stderr, stderr: flags.stderr === true || !flags.stdout },
    wanted: services,
    json: options.json,
    raw: flags.raw === true,
    timestamps: flags.timestamps === true,
    coloured: output.coloured && !options.json && flags.raw !== true,
    plainEnough: (line) => (output.interactive ? output.plainEnough(line) : line),
  });
  // Each of many containers tells of the link that all of them lost.
  const lost = new Set<string>();
  const noteLoss = (sentence: string) => {
    if (lost.has(sentence)) return;
    lost.add(sentence);
    note(sentence);
  };
  const stopWatching = follow ? tellChanges(fleet, { components, services }, note, () => lost.clear()) : () => {};
  const ending = AbortSignal.any([signal, output.gone]);
  let cutLines = 0;
  let waiting = '';
  try {
    const stream = logs.stream({
      componentKeys: readable.map(({ key }) => key),
      ...servicesOf(readable, services),
      follow,
      ...(tail !== undefined && { tail }),
      ...range,
      signal: ending,
      onNotice: noteLoss,
    });
    const read = async () => {
      for await (const batch of stream) {
        for (const { cut } of batch) if (cut) cutLines++;
        waiting += text.write(batch);
        // Who follows sees each line at once; a dump goes in large pieces.
        if (waiting === '' || (!follow && waiting.length < writeCharacters)) continue;
        const taken = output.text(waiting, ending);
        waiting = '';
        if (taken) await taken;
        if (ending.aborted) break;
      }
    };
    // A log that is followed may have nothing to say.
    if (follow) await read();
    else await whileWaiting(output, () => `Reading the logs of ${readable.map(({ id }) => id).join(', ')}`, read);
  } catch (thrown) {
    if (!ending.aborted || !(isAbort(thrown) || thrown === ending.reason)) throw thrown;
  } finally {
    stopWatching();
    // Also when the log broke off: what was read is true.
    if (waiting !== '' && !ending.aborted) await output.text(waiting, ending);
  }
  // The reader has all it wanted.
  if (output.gone.aborted) return 0;
  if (signal.aborted) return interruptedCode;
  if (cutLines > 0) note(`${countText(cutLines, 'line was', 'lines were')} longer than what is read of one, and cut.`);
  return 0;
}

function usage(what: string, message: string, remedy: string): Fault {
  return new Fault({ code: `usage.${what}`, message, remedy });
}

async function filterOf({ grep }: LogsFlags): Promise<LogFilter | undefined> {
  if (grep === undefined) return undefined;
  const answer = await loadLogFilter(grep);
  if (answer.state === 'ready') return answer.filter;
  throw usage(
    'filter',
    `--grep: ${answer.problem}`,
    'It takes a text, /a regular expression/, or either behind ! for the lines without it.',
  );
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
    throw usage('time', 'Nothing lies between these two: --until is before --since.', 'Change one of them.');
  }
  return { ...(sinceMs !== undefined && { sinceMs }), ...(untilMs !== undefined && { untilMs }) };
}

/** Undefined is all. */
function tailOf({ tail }: LogsFlags): number | undefined {
  if (tail === undefined || tail === 'all') return undefined;
  const lines = /^\d{1,9}$/.test(tail) ? Number(tail) : Number.NaN;
  if (Number.isNaN(lines))
    throw usage('tail', `--tail takes a number of lines, and "${cleanLine(tail)}" is none.`, 'For example --tail 100, or --tail all.');
  return lines;
}

function refuseRaw({ output, options }: VerbContext, { raw }: LogsFlags): void {
  if (!raw || options.json || !output.interactive) return;
  throw new Fault({
    code: 'refused.raw',
    message: 'A terminal does what lines tell it that it is given as they are: move the cursor, change the title, write to the clipboard.',
    remedy: 'Pipe --raw into a program or a file, or leave it out.',
  });
}

interface Chosen {
  components: readonly ComponentView[];
  /** By key, of those of which not all services are wanted. */
  services: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The components that a name stands for: on all hosts, each that has one of this id. */
function onEachHost(name: string, { components }: FleetSnapshot): readonly ComponentView[] {
  const alike = components.filter(({ id }) => id === name);
  return new Set(alike.map(({ host }) => host)).size === alike.length ? alike : [];
}

function chosen(names: readonly string[], { all, service }: LogsFlags, snapshot: FleetSnapshot, allHosts: boolean): Chosen {
  const components = new Map<string, ComponentView>();
  const services = new Map<string, Set<string>>();
  if (all) for (const component of snapshot.components) components.set(component.key, component);
  if (all && components.size === 0)
    throw new Fault({
      code: 'failed.empty',
      message: 'There are no containers here.',
      remedy: '"quarterdeck status" says where it looked.',
    });
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
  // Who names a component and one of its containers wants the component.
  for (const key of whole) services.delete(key);
  if (service && service.length > 0) narrow(components, services, service);
  return { components: [...components.values()], services };
}

/** What the engine need not be asked for. Where it is another service for each component, the lines are chosen when they are written. */
function servicesOf(components: readonly ComponentView[], services: Chosen['services']): { services?: readonly string[] } {
  const sets = components.map(({ key }) => services.get(key));
  return sets.every((names) => names !== undefined) ? { services: [...new Set(sets.flatMap((names) => [...names]))] } : {};
}

/** To the services of these names, wherever there are some. */
function narrow(components: Map<string, ComponentView>, services: Map<string, Set<string>>, wanted: readonly string[]): void {
  const known = new Set([...components.values()].flatMap((component) => component.services.map(({ name }) => name)));
  const unknown = wanted.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw usage('service', `There is no service "${cleanLine(unknown)}" here.`, nameRemedy(unknown, known, 'It has none yet.'));
  }
  for (const [key, component] of components) {
    const here = component.services
      .map(({ name }) => name)
      .filter((name) => wanted.includes(name) && services.get(key)?.has(name) !== false);
    if (here.length > 0) services.set(key, new Set(here));
    else components.delete(key);
  }
}

/** What has no container has no log. */
function withContainers(components: readonly ComponentView[], note: (sentence: string) => void): readonly ComponentView[] {
  const readable = components.filter((component) => component.services.some(({ containerId }) => containerId !== undefined));
  const without = components.filter((component) => !readable.includes(component)).map(({ id }) => id);
  if (without.length === 0) return components;
  const sentence = `${without.join(', ')} ${without.length === 1 ? 'has' : 'have'} no container, and so no log.`;
  if (readable.length === 0) {
    throw new Fault({ code: 'failed.noContainer', message: sentence, remedy: 'Start it, or use --follow to wait for it.' });
  }
  note(sentence);
  return readable;
}

type Liveness = 'up' | 'down' | 'none';

/** Why nothing comes, and that it goes on. That an engine is away, the stream says. */
function tellChanges(fleet: Fleet, { components, services }: Chosen, note: (sentence: string) => void, onBack: () => void): () => void {
  const hosts = new Set(components.map(({ host }) => host));
  const far = new Set(fleet.snapshot().places.flatMap(({ name, hostKind }) => (hostKind === 'ssh' ? [name] : [])));
  const away = new Set<string>();
  const before = new Map<string, Liveness>();

  function look(): void {
    const { places, components: current } = fleet.snapshot();
    for (const { name, link } of places) {
      if (!hosts.has(name)) continue;
      if (link.state === 'away') away.add(name);
      else if (link.state === 'connected' && away.delete(name)) {
        onBack();
        note(far.has(name) ? `${name} is back.` : `The engine${hosts.size > 1 ? ` of ${name}` : ''} is back.`);
      }
    }
    for (const { key, id, host } of components) {
      // What it knew last is not what is.
      if (away.has(host)) continue;
      const now = livenessOf(
        current.find((component) => component.key === key),
        services.get(key),
      );
      const last = before.get(key);
      before.set(key, now);
      if (now !== last) tell(id, now, last);
    }
  }

  function tell(id: string, now: Liveness, last: Liveness | undefined): void {
    if (now === 'up') {
      if (last !== undefined) note(`${id} is running.`);
    } else if (now === 'down') note(`${id} is not running; waiting for it to start.`);
    else note(`${id} has no container; waiting for one.`);
  }

  look();
  return fleet.subscribe(look);
}

function livenessOf(component: ComponentView | undefined, wanted: ReadonlySet<string> | undefined): Liveness {
  const containers = component?.services.filter(({ name, containerId }) => containerId !== undefined && wanted?.has(name) !== false) ?? [];
  if (containers.length === 0) return 'none';
  // Of an engine that was just connected to, not everything is known yet.
  return containers.some(({ state }) => isUpState(state) || state === 'paused' || state === 'unknown') ? 'up' : 'down';
}
