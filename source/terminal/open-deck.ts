import { homedir } from 'node:os';
import { join } from 'node:path';
import { refuseForeignFiles } from '../config/own-files.ts';
import { expandHome, ownPaths } from '../config/paths.ts';
import { defaultSettings, loadSettings, type Settings, settingsFile } from '../config/settings.ts';
import type { Engine, EngineFacts } from '../engine/engine.ts';
import { Fault, isAbort } from '../faults/fault.ts';
import { openLogs } from '../fleet/log-rings.ts';
import { openFleet } from '../fleet/open-fleet.ts';
import type { PlaceSource } from '../fleet/place-watch.ts';
import type { FlowWorld } from '../flows/flow.ts';
import { flows } from '../flows/registry.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { Tunnels } from '../hosts/tunnel.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import type { SecretName, SecretVault } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import { parseJson } from '../text/json-value.ts';
import { backupAgesOf } from './backup-ages.ts';
import type { Deck, DeckOptions } from './deck.ts';
import { FarFleet } from './far-fleet.ts';
import { FarHosts } from './far-hosts.ts';
import type { FarPlacesOptions } from './far-places.ts';
import { HostQuestions } from './host-questions.ts';
import { openAt, placesOn, practicePlaces } from './near-places.ts';
import { openOwnCatalog } from './own-catalog.ts';
import { ownHosts } from './own-hosts.ts';
import { ownProgram } from './own-program.ts';
import { keepSeenComponents } from './seen-components.ts';

/**
 * Puts a process together: settings, catalog, the machine's engines, the stores. Throws what is wrong with the settings and the options; an engine
 * that is missing or away is not a fault here but a state of its place, which goes on looking for it.
 */
export async function openDeck(options: DeckOptions): Promise<Deck> {
  const env = process.env;
  const { practice } = options;
  const paths = practice?.paths ?? ownPaths(env, env.HOME || homedir());
  // Nothing of practice is loaded for who does not practise.
  const host = practice ? (await import('../hosts/practice-host.ts')).openPracticeHost(practice.folder) : openLocalHost();
  const [{ settings, catalog }, here] = await Promise.all([
    // Before anything of ours is read or written.
    refuseForeignFiles(paths).then(() => openOwnCatalog({ paths, env, readOnly: options.readOnly })),
    practice ? { places: practicePlaces(practice, host), engineMissing: false } : placesOn(host, options.signal),
  ]);
  const wanted = options.host ?? host.name;
  if (options.readOnly && settings.hosts[wanted.split('/', 1)[0] ?? ''] && !practice) throw readOnlyHere(wanted);
  const questions = new HostQuestions();
  // ssh is loaded by who has hosts beside this machine.
  const farNames =
    practice || options.readOnly ? [] : Object.keys(settings.hosts).filter((name) => wanted === 'all' || wanted.split('/', 1)[0] === name);
  const farOptions = { paths, env, questions, openAt, enginesChanged: (name: string) => void farFleet.grow(name) };
  const farHosts = new FarHosts(farOptions);
  const far = await openFar(farNames, settings, farHosts, farOptions);
  // Who has hosts elsewhere need not have an engine here.
  const engineMissing = here.engineMissing && far.length === 0;
  const showsHere = farNames.length === 0 || (wanted === 'all' && !here.engineMissing);
  const allPlaces = [...(showsHere ? here.places : []), ...far];
  const places =
    wanted === 'all' || allPlaces.every((place) => place.host.name === wanted)
      ? allPlaces
      : allPlaces.filter(({ name, host: { name: hostName } }) => name === wanted || name === `${hostName}/${wanted}`);
  if (places.length === 0) {
    const names = practice ? ['practice'] : ['local', ...Object.keys(settings.hosts)];
    throw new Fault({
      code: 'usage.host',
      message: `There is no host or engine called "${wanted}".`,
      remedy: `${allPlaces.length > 0 ? `Engines there: ${allPlaces.map((place) => place.name).join(', ')}. ` : ''}Hosts: ${names.join(', ')}. To add one: quarterdeck hosts add NAME [user@]host`,
    });
  }
  // Whatever the settings say: practice keeps to its own home.
  const stackFolder = practice ? defaultSettings.stackFolder : settings.stackFolder;
  let { backups } = settings;
  const production = new Set<string>();
  const prepare = (place: PlaceSource, { productionHosts }: Settings): PlaceSource => {
    if (productionHosts.some((name) => name === place.name || name === place.host.name)) production.add(place.name);
    else production.delete(place.name);
    return { ...place, stackFolder: stackFolderFor(place, place.stackFolder ?? stackFolder) };
  };
  const fleet = openFleet({
    places: places.map((place) => prepare(place, settings)),
    catalog,
    stackFolder,
    execAllowed: !options.readOnly,
    probeIntervalMs: settings.probeIntervalMs,
    ...(!practice && { observationsFile: join(paths.state, 'observations.json') }),
    observationsKept: !options.readOnly,
    backupAges: practice ? async () => 'pretended' : backupAgesOf((place) => backups[place], catalog, stackFolder),
  });
  const logs = openLogs(fleet);

  const practiceWorld = practice && (await import('../flows/incident.ts'));
  const tunnels = new Tunnels();
  let vault: Promise<SecretVault> | undefined;
  let backupKeys: BackupKeys | undefined;
  let inFront: Session;
  const home = env.HOME || homedir();
  const farFleet = new FarFleet({
    ...{ fleet, tunnels, hosts: farHosts, places: farOptions },
    prepare: (place, now) => {
      backups = now.backups;
      return prepare(place, now);
    },
    otherwise: here.places.map((place) => prepare(place, settings)),
  });
  const hosts = practice
    ? undefined
    : ownHosts({
        ...{ paths, env, home, settings, openAt, hosts: farHosts, readOnly: options.readOnly },
        changed: () => farFleet.changed(),
      });
  const inForce = async (name: SecretName, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> => {
    const { versionsInForce } = await import('../stack/versions-in-force.ts');
    // The place of a further engine has a slash of its own.
    const [variable = '', component = '', ...place] = name.split('/').reverse();
    const at = place.reverse().join('/');
    try {
      const host = world.hostOf(at);
      return await versionsInForce(host, { stackFolder: await world.stackFolderOf(at, signal), component, variable }, signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || signal.aborted) throw thrown;
      return undefined;
    }
  };
  const world: FlowWorld = {
    fleet,
    engineOf(place: string): Engine {
      const watch = fleet.place(place);
      if (watch?.engine && watch.link.state === 'connected') return watch.engine;
      throw new Fault({
        code: 'unreachable.engine',
        message: watch?.link.message ?? `The engine of "${place}" is not connected.`,
        remedy: watch?.link.remedy ?? 'Start the engine; the connection comes back by itself.',
      });
    },
    engineFactsOf(place: string): EngineFacts {
      const facts = fleet.place(place)?.facts;
      if (facts) return facts;
      throw new Fault({
        code: 'unreachable.engine',
        message: `The engine of "${place}" has not said yet what it is.`,
        remedy: 'Try again when it is connected.',
      });
    },
    hostOf(place: string): Host {
      const watch = fleet.place(place);
      if (!watch) farFleet.throwIfGone(place);
      return watch?.host ?? host;
    },
    catalog,
    async vault(session: Session): Promise<SecretVault> {
      inFront = session;
      const { openOwnVault } = await import('./own-vault.ts');
      await practice?.prepare?.();
      // One that could not be opened is tried again: the passphrase was wrong, the keychain locked.
      vault ??= openOwnVault({ paths, env, asking: () => inFront, practice: practice !== undefined, inForce }).catch((thrown: unknown) => {
        vault = undefined;
        throw thrown;
      });
      return vault;
    },
    async backupKeys() {
      const { openOwnBackupKeys } = await import('./own-backup-keys.ts');
      backupKeys ??= practice
        ? openOwnBackupKeys(join(practice.folder, 'data'), { ...env, QUARTERDECK_KEYCHAIN: 'off' })
        : openOwnBackupKeys(paths.data, env);
      return backupKeys;
    },
    tunnels,
    backupTargetOf: (place) => backups[place],
    ...(hosts && { hosts }),
    cacheFolder: paths.cache,
    ...(settings.catalogFolder !== undefined && { ownCatalogFolder: settings.catalogFolder }),
    dataFolder: practice ? join(practice.folder, 'data') : paths.data,
    async checklists() {
      const { identityOf, whoText } = await import('../session/identity.ts');
      return { folder: join(paths.state, 'checklists'), who: whoText(identityOf(env)) };
    },
    get program() {
      return ownProgram(env);
    },
    async applySecrets(session, place, changes, applied) {
      const { applySecrets } = await import('../flows/apply-secrets.ts');
      return applySecrets(session, world, place, changes, applied);
    },
    async stackFolderOf(place: string, signal: AbortSignal): Promise<string> {
      await practice?.prepare?.();
      const facts = await world.hostOf(place).facts(signal);
      return expandHome(fleet.place(place)?.stackFolder ?? stackFolder, facts.home);
    },
    ...(practice && {
      practice: {
        incidents: practice.facts.incidents,
        play: async (grant: Grant, name: string) => {
          const { askEngine } = await import('../hosts/practice-host.ts');
          await askEngine(join(practice.folder, 'engine.sock'), 'POST', `/practice/incidents/${encodeURIComponent(name)}`, grant.signal);
        },
        runOnNode: async (node: string, argv: readonly string[], signal: AbortSignal) => {
          const { askEngine } = await import('../hosts/practice-host.ts');
          const words = new URLSearchParams(argv.map((word): [string, string] => ['argv', word]));
          const path = `/practice/nodes/${encodeURIComponent(node)}/run?${words}`;
          return parseJson(await askEngine(join(practice.folder, 'engine.sock'), 'POST', path, signal)) as {
            exitCode: number;
            stdout: string;
            stderr: string;
          };
        },
      },
    }),
  };

  return {
    options,
    settings,
    catalog,
    fleet,
    logs,
    world,
    flows: practiceWorld ? [...flows, practiceWorld.incident] : flows,
    engineMissing,
    questions,
    tunnels,
    async run(flow, input, operator, signal, resume) {
      // What only a flow needs is not loaded on the way to the first frame.
      const [{ openSession }, { openJournal }, { openOwnAudit }, { auditSubject }, { operatorFor, outcomeFor, subjectIn, thrownFor }] =
        await Promise.all([
          import('../session/open-session.ts'),
          import('../session/journal.ts'),
          import('./own-audit.ts'),
          import('../session/audit-subject.ts'),
          import('./commands-for.ts'),
        ]);
      const subject = subjectIn(fleet.snapshot().places, input.place, input.component?.id);
      const { session, end, reported } = openSession({
        flow: flow.id,
        operator: operatorFor(subject, operator),
        policy: { readOnly: options.readOnly, rehearsing: options.rehearsing, productionHosts: production },
        journal: await openJournal({
          folder: join(paths.state, 'journal'),
          flow: flow.id,
          place: input.place,
          ...(input.component && { component: input.component.id, key: input.component.key }),
          ...(flow.resumes && input.words.length > 0 && { words: input.words }),
          ...(flow.resumes && Object.keys(input.options).length > 0 && { options: input.options }),
          ...(resume !== undefined && { resume }),
        }),
        // What is practised is no business of the keychain.
        audit: openOwnAudit(paths, practice ? { ...env, QUARTERDECK_KEYCHAIN: 'off' } : env, (to) => {
          const text = `The end of the audit log was damaged. It is kept in ${to}.\n`;
          operator.show({ kind: 'output', stream: 'stderr', bytes: new TextEncoder().encode(text) });
        }),
        about: { right: flow.right, host: input.place, ...(input.component && { component: input.component.key }) },
        subjectOf: (target) => auditSubject(fleet.snapshot().components, input, target),
        signal,
      });
      try {
        const outcome = await flow.run(session, input, world);
        await end('done');
        return outcomeFor(subject, outcome);
      } catch (thrown) {
        const walkedAway = signal.aborted || isAbort(thrown) || (thrown instanceof Fault && thrown.kind === 'interrupted');
        // Before the session forgets what it has to hide.
        const told = thrownFor(subject, reported(thrown));
        await end(walkedAway ? 'cancelled' : 'failed', thrown);
        throw told;
      }
    },
    async unfinished(signal) {
      const { unfinishedChanges } = await import('./unfinished-changes.ts');
      const names = fleet.snapshot().places.map(({ name }) => name);
      return unfinishedChanges(world, names, signal);
    },
    async followHosts() {
      if (practice || options.readOnly || wanted !== 'all') return;
      // Never on the way to the first frame.
      await fleet.settle(options.signal, { listed: true }).catch(() => undefined);
      await farFleet.follow({ file: settingsFile(paths), read: () => loadSettings(paths, home), shown: settings.hosts });
    },
    async close() {
      farFleet.close();
      const keeping = practice || options.readOnly ? undefined : keepSeenComponents(paths, fleet.snapshot());
      const observing = fleet.keepObservations();
      tunnels.close();
      logs.close();
      fleet.close();
      await Promise.all([host.close(), farHosts.closeAll(), keeping, observing]);
    },
  };
}

/** A console that only reads is what others may be given: it takes nobody further, and starts no ssh with this operator's keys. */
function readOnlyHere(wanted: string): Fault {
  return new Fault({
    code: 'refused.readOnly',
    message: `--read-only shows this machine alone, and ${wanted} is another one.`,
    remedy: 'Run it without --read-only, or run it on that machine.',
  });
}

async function openFar(names: readonly string[], settings: Settings, hosts: FarHosts, options: FarPlacesOptions): Promise<PlaceSource[]> {
  if (names.length === 0) return [];
  const { openFarPlaces } = await import('./far-places.ts');
  const places = names.map(async (name) => {
    const host = settings.hosts[name];
    return host ? openFarPlaces(await hosts.open(name, host), host, options) : [];
  });
  return (await Promise.all(places)).flat();
}

/** Engines of one host would be in each other's way in one folder: further ones have their own beside it. */
function stackFolderFor({ name, host }: PlaceSource, stackFolder: string): string {
  const engine = name.startsWith(`${host.name}/`) ? name.slice(host.name.length + 1) : '';
  return engine === '' ? stackFolder : `${stackFolder}-${engine.replaceAll('/', '-')}`;
}
