import { rm } from 'node:fs/promises';
import { describe, inject, it } from 'vitest';
import { describeUnless, isLong, requiredInCi } from '../required.ts';
import { loadBusybox } from './busybox.ts';
import { engineVariable, type RealEngineKind } from './engine-offer.ts';
import { enginesScript, makeEnginesFolder, runOrThrow, variablesOf } from './scripts.ts';
import { inTurn, inTurnOfOne } from './turns.ts';

export type { RealEngineKind } from './engine-offer.ts';

/** A container engine that really runs. */
export interface RealEngine {
  kind: RealEngineKind;
  /** `unix:///tmp/x/docker.sock` */
  readonly url: string;
  /** The path in it. */
  readonly socket: string;
}

const asEngine = (kind: RealEngineKind, url: string): RealEngine => ({ kind, url, socket: url.replace(/^unix:\/\//, '') });

/** The shared engine of this kind, to look at only: what changes something on it stands in `describeReal`. Throws with the reason where there is none. */
export function realEngine(kind: RealEngineKind): RealEngine {
  const offer = inject('engineOffers')[kind];
  if ('missing' in offer) throw new Error(`no ${kind}: ${offer.missing}`);
  return asEngine(kind, offer.url);
}

/**
 * A group of tests against a real engine, which no other group has meanwhile: files run at once. Of several Dockers it gets the one
 * that is free first, so it has to make what it expects to find. Without that engine the group is
 * skipped, with the reason in its title; under QUARTERDECK_REQUIRE_REAL=1 it fails instead.
 */
export function describeReal(kind: RealEngineKind, name: string, tests: (engine: RealEngine) => void): void {
  describeWith(kind, name, (engine) => {
    const urls = Object.fromEntries([[kind, engine.url], ...(kind === 'docker' ? inject('moreDockers').map((url) => [url, url]) : [])]);
    let own: RealEngine | undefined;
    const inItsTurn = (): RealEngine => {
      if (!own) throw new Error(`which ${kind} this group has is known in its hooks and tests, not before`);
      return own;
    };
    inTurnOfOne(Object.keys(urls), (name) => {
      own = asEngine(kind, urls[name] ?? '');
    });
    tests({
      kind,
      get url() {
        return inItsTurn().url;
      },
      get socket() {
        return inItsTurn().socket;
      },
    });
  });
}

/**
 * A group that takes minutes, and that shows on another engine, or with another compose program, what is shown already: all of them together would take longer than
 * anybody waits. QUARTERDECK_TEST_LONG=1 runs them too.
 */
export function describeAgain(kind: RealEngineKind, name: string, tests: (engine: RealEngine) => void, like = describeReal): void {
  if (isLong) like(kind, name, tests);
  else
    describe.skip(`${name} [${kind}] (skipped: it takes minutes, and another engine shows it; QUARTERDECK_TEST_LONG=1 runs it)`, () =>
      tests(asEngine(kind, 'unix:///nonexistent')));
}

/** A group that is one of `describeAgain` where `again` holds, and an ordinary one otherwise. */
export function describeOnce(again: boolean | undefined, like = describeReal): typeof describeReal {
  return again ? (kind, name, tests) => describeAgain(kind, name, tests, like) : like;
}

/** The same for one test of a group: its neighbours show that the engine and its compose program work together, another group the rest. */
export function itAgain(name: string, test: () => Promise<void>): void {
  if (isLong) it(name, test);
  else it.skip(`${name} (skipped: another engine or compose program shows it; QUARTERDECK_TEST_LONG=1 runs it)`, test);
}

/**
 * The same for tests that look at and touch nothing but what they made, under names that no other file has: such groups share a Docker.
 * Podman works on one thing at a time, so that there everybody would wait for everybody.
 */
export function describeBeside(kind: RealEngineKind, name: string, tests: (engine: RealEngine) => void): void {
  describeWith(kind, name, (engine) => {
    inTurn(kind, kind.startsWith('docker') ? 'beside' : 'alone');
    tests(engine);
  });
}

/** The same for tests that start engines of this kind for themselves and at most read the shared one: they wait for nobody. */
export function describePrivate(kind: RealEngineKind, name: string, tests: (shared: RealEngine) => void): void {
  describeWith(kind, name, tests);
}

function describeWith(kind: RealEngineKind, name: string, tests: (engine: RealEngine) => void): void {
  const offer = inject('engineOffers')[kind];
  const missing = 'missing' in offer ? offer.missing : undefined;
  const url = 'url' in offer ? offer.url : 'unix:///nonexistent';
  describeUnless(requiredInCi(missing), `${name} [${kind}]`, () => tests(asEngine(kind, url)));
}

/** One's own engine, for tests that end it. */
export interface PrivateEngine extends RealEngine {
  /** Ends the daemon as a crash does; containers are left as they would be. */
  kill(): Promise<void>;
  /** Ends the daemon as its service does. */
  stop(): Promise<void>;
  /** As a power cut and a start of the machine do: its containers are gone with it. */
  reboot(): Promise<void>;
  /** Brings a killed one back, on the same socket with the same containers. */
  start(): Promise<void>;
  /** Ends it for good, with everything in it. */
  down(): Promise<void>;
}

/**
 * Starts a private engine; it ends with `down()`, and with this process at the latest.
 *
 * @param options.busybox with that one image in it, rather than none
 */
export async function startPrivateEngine(kind: RealEngineKind, options: { busybox?: boolean } = {}): Promise<PrivateEngine> {
  // Whether this kind can run here was found out by the set-up, with the reason.
  realEngine(kind);
  const folder = await makeEnginesFolder();
  const env = { QUARTERDECK_ENGINES_OWNER: String(process.pid), QUARTERDECK_REQUIRE_REAL: '1' };
  const url = variablesOf(await runOrThrow([enginesScript, 'up', folder, kind], { env }))[engineVariable[kind]] ?? '';
  const engine = asEngine(kind, url);
  if (options.busybox) await loadBusybox(engine);
  return {
    ...engine,
    kill: async () => void (await runOrThrow([enginesScript, 'kill', folder, kind])),
    start: async () => void (await runOrThrow([enginesScript, 'start', folder, kind])),
    stop: async () => void (await runOrThrow([enginesScript, 'stop', folder, kind])),
    reboot: async () => void (await runOrThrow([enginesScript, 'reboot', folder, kind])),
    down: async () => {
      await runOrThrow([enginesScript, 'down', folder]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
