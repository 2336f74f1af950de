import { homedir } from 'node:os';
import { join } from 'node:path';
import { installationFolder } from '../config/installation.ts';
import { refuseForeignFiles, watchOwnFile } from '../config/own-files.ts';
import { expandHome, ownPaths } from '../config/paths.ts';
import { defaultSettings, loadSettings, type Settings, settingsFile } from '../config/settings.ts';
import { Fault, isAbort } from '../faults/fault.ts';
import { disconnectedFault } from '../fleet/engine-view.ts';
import type { EngineSource } from '../fleet/engine-watch.ts';
import { openFleet } from '../fleet/open-fleet.ts';
import { EngineScope } from '../flows/engine-scope.ts';
import type { FlowContext } from '../flows/flow.ts';
import type { Grant } from '../grants/grant.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { Tunnels } from '../hosts/tunnel.ts';
import { openLogs } from '../logs/rings.ts';
import { createNotifications } from '../notifications/notifications.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import type { SecretName, SecretStorage } from '../secrets/secrets.ts';
import type { Session } from '../session/session.ts';
import { parseJson } from '../text/json-value.ts';
import type { AppOptions, QuarterdeckApp } from './app.ts';
import { backupAgesOf } from './backup-ages.ts';
import { flows } from './flow-registry.ts';
import { HostQuestions } from './host-questions.ts';
import { ownHosts, readOnlyHere } from './listed-hosts.ts';
import { enginesOn, openAt, practiceEngines } from './local-engines.ts';
import { openOwnCatalog } from './open-catalog.ts';
import type { ProbeCredentials } from './probe-credentials.ts';
import { createRemoteFleet } from './remote-fleet.ts';
import { createRemoteHosts } from './remote-hosts.ts';
import { keepSeenComponents } from './seen-components.ts';

/** Throws faults in the settings and the options. A missing or unreachable engine is a state of that engine, which is retried. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the parts refer to one another and are closed together
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: practice, read-only mode and remote hosts differ in single parts of it
export async function createApp(options: AppOptions): Promise<QuarterdeckApp> {
  const env = process.env;
  const { practice } = options;
  // The audit log and the backup keys of practice do not use the operator's keychain.
  const ownEnv = practice ? { ...env, QUARTERDECK_KEYCHAIN: 'off' } : env;
  const home = env.HOME || homedir();
  const paths = practice?.paths ?? ownPaths(env, home);
  const dataFolder = practice ? join(practice.folder, 'data') : paths.data;
  // The practice modules are loaded only for practice.
  const host = practice ? (await import('../hosts/practice-host.ts')).openPracticeHost(practice.folder) : openLocalHost();
  const wanted = options.host ?? host.name;
  const questions = new HostQuestions();
  const remoteOptions = { paths, env, questions, openAt, enginesChanged: (name: string) => void remoteFleet.grow(name) };
  const remoteHosts = createRemoteHosts(remoteOptions);
  // Checked before any of our files is read or written.
  const reading = refuseForeignFiles(paths).then(() => loadSettings(paths, home));
  const openRemote = async (hosts: Settings['hosts']): Promise<EngineSource[]> => {
    const [target = ''] = wanted.split('/', 1);
    if (options.readOnly && hosts[target]) throw readOnlyHere(wanted);
    // ssh is loaded only when the settings list remote hosts.
    const chosen = options.readOnly ? [] : Object.entries(hosts).filter(([name]) => wanted === 'all' || target === name);
    const sources = chosen.map(async ([name, remoteHost]) => {
      const opened = await remoteHosts.open(name, remoteHost);
      const engines = await (await import('./remote-engines.ts')).openRemoteEngines(opened, remoteHost, remoteOptions);
      // Callers that need the host wait for it, and get the fault.
      opened.link.ready(new AbortController().signal).catch(() => undefined);
      return engines;
    });
    return (await Promise.all(sources)).flat();
  };
  // Remote hosts are connected to while the catalog is read.
  const [{ settings, catalog }, remote, here] = await Promise.all([
    openOwnCatalog({ paths, env, readOnly: options.readOnly }, reading),
    reading.then(({ hosts }) => (practice ? [] : openRemote(hosts))),
    practice ? { engines: practiceEngines(practice, host), engineMissing: false } : enginesOn(host, options.signal),
  ]).catch(async (thrown: unknown) => {
    await remoteHosts.closeAll().catch(() => undefined);
    throw thrown;
  });
  // An operator with remote hosts does not need an engine on this machine.
  const engineMissing = here.engineMissing && remote.length === 0;
  const showsHere = remote.length === 0 || (wanted === 'all' && !here.engineMissing);
  const allEngines = [...(showsHere ? here.engines : []), ...remote];
  const isWhole = wanted === 'all' || allEngines.every(({ host }) => host.name === wanted);
  const engines = allEngines.filter(({ name, host }) => isWhole || name === wanted || name === `${host.name}/${wanted}`);
  if (engines.length === 0) {
    const hostNames = practice ? ['practice'] : ['local', ...Object.keys(settings.hosts)];
    const known = allEngines.length > 0 ? `Engines: ${allEngines.map(({ name }) => name).join(', ')}. ` : '';
    const remedy = `${known}Hosts: ${hostNames.join(', ')}.${practice ? '' : ' To add a host: quarterdeck hosts add NAME [user@]host'}`;
    throw new Fault('usage.host', `Unknown host or engine "${wanted}".`, remedy);
  }
  // Practice keeps to its own home, whatever the settings say.
  const stackFolder = practice ? defaultSettings.stackFolder : settings.stackFolder;
  let { backups } = settings;
  const production = new Set<string>();
  const prepare = (engineView: EngineSource, { productionHosts }: Settings): EngineSource => {
    if (productionHosts.some((name) => name === engineView.name || name === engineView.host.name)) production.add(engineView.name);
    else production.delete(engineView.name);
    return { ...engineView, stackFolder: stackFolderFor(engineView, engineView.stackFolder ?? stackFolder) };
  };
  let vault: Promise<SecretStorage> | undefined;
  let probeCredentials: Promise<ProbeCredentials> | undefined;
  // Loaded by the first probe that may log in, or by a login.
  const credentials = () => {
    probeCredentials ??= import('./probe-credentials.ts').then(({ ProbeCredentials }) => {
      const open = async () => {
        const opened = await vault;
        if (practice || opened?.kind === 'file' || (opened && process.platform === 'darwin')) return opened;
        // A keychain that a flow has opened may be locked again.
        const { openSecretStorageQuietly } = await import('./secrets.ts');
        return openSecretStorageQuietly({ paths, env });
      };
      return new ProbeCredentials({ open, ...(!practice && { refusedFile: join(paths.state, 'refused-credentials.json') }) });
    });
    return probeCredentials;
  };
  const fleet = openFleet({
    engines: engines.map((engine) => prepare(engine, settings)),
    catalog,
    stackFolder,
    execAllowed: !options.readOnly,
    probeIntervalMs: settings.probeIntervalMs,
    ...(!options.readOnly && { findCredential: async (target, call) => (await credentials()).find(target, call) }),
    ...(!practice && { observationsFile: join(paths.state, 'observations.json') }),
    observationsKept: !options.readOnly,
    backupAges: practice ? async () => 'pretended' : backupAgesOf((engineName) => backups[engineName], catalog, stackFolder),
  });
  const logs = openLogs(fleet);

  // Messages are sent from this machine, also for a practice stack.
  const localHost = practice ? openLocalHost() : host;
  const notifications = options.readOnly
    ? undefined
    : createNotifications({
        ...{ fleet, logs, local: localHost, isWhole: wanted === 'all' || practice !== undefined },
        file: join(paths.state, 'notifications.json'),
        readSettings: async () => (await loadSettings(paths, home)).notifications,
        watchSettings: (changed) => watchOwnFile(settingsFile(paths), settingsEveryMs, changed),
        readable: () =>
          fleet.snapshot().engines.flatMap(({ name, engine }, index, all) => {
            // Engines on one machine share its disks.
            const isFirst = all.findIndex((other) => fleet.watchOf(other.name)?.host === fleet.watchOf(name)?.host) === index;
            const watch = engine.reachable && isFirst ? fleet.watchOf(name) : undefined;
            const folders = async (signal: AbortSignal) => [
              await context.stackFolderOf(name, signal),
              ...(watch?.facts?.rootFolder === undefined ? [] : [watch.facts.rootFolder]),
            ];
            return watch ? [{ name, host: watch.host, folders }] : [];
          }),
      });

  const practiceControls = practice && (await import('../flows/components/incident.ts'));
  const tunnels = new Tunnels();
  let backupKeys: BackupKeys | undefined;
  let inFront: Session | undefined;
  const remoteFleet = createRemoteFleet({
    ...{ fleet, tunnels, hosts: remoteHosts, engines: remoteOptions },
    prepare: (engine, now) => {
      backups = now.backups;
      return prepare(engine, now);
    },
    otherwise: here.engines.map((engine) => prepare(engine, settings)),
  });
  const hosts = practice
    ? undefined
    : ownHosts({
        ...{ paths, env, home, settings, openAt, hosts: remoteHosts, readOnly: options.readOnly },
        changed: () => remoteFleet.changed(),
      });
  const askPractice = async (folder: string, path: string, signal: AbortSignal) => {
    const { queryEngine } = await import('../hosts/practice-host.ts');
    return queryEngine(join(folder, 'engine.sock'), 'POST', path, signal);
  };
  const inForce = async (name: SecretName, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> => {
    const { versionsInForce } = await import('../stack/apply/recover.ts');
    // The name of a further engine contains a slash.
    const [variable = '', component = '', ...engineName] = name.split('/').reverse();
    const at = engineName.reverse().join('/');
    try {
      const host = context.hostOf(at);
      return await versionsInForce(host, { stackFolder: await context.stackFolderOf(at, signal), component, variable }, signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || signal.aborted) throw thrown;
      return undefined;
    }
  };
  const asking = () => {
    // Probes read secrets without a session.
    if (!inFront) throw new Fault('refused.sealed', 'The secrets are sealed.', 'Run the command in a terminal.');
    return inFront;
  };
  const context: FlowContext = {
    fleet,
    engineOf(engineName) {
      const watch = fleet.watchOf(engineName);
      if (watch?.engine && watch.link.state === 'connected') return watch.engine;
      throw disconnectedFault(`"${engineName}"`, watch?.link);
    },
    engineFactsOf(engineName) {
      const facts = fleet.watchOf(engineName)?.facts;
      if (facts) return facts;
      const message = `The engine of "${engineName}" has not been identified yet.`;
      throw new Fault('unreachable.engine', message, 'Try again when the host is connected.');
    },
    hostOf(engineName) {
      const watch = fleet.watchOf(engineName);
      if (!watch) remoteFleet.throwIfGone(engineName);
      return watch?.host ?? host;
    },
    catalog,
    async vault(session) {
      inFront = session;
      const { openOwnSecretStorage } = await import('./secrets.ts');
      await practice?.prepare?.();
      // A storage that could not be opened is retried: the passphrase was wrong, or the keychain locked.
      const forget = (thrown: unknown) => {
        vault = undefined;
        throw thrown;
      };
      vault ??= openOwnSecretStorage({ paths, env, asking, practice: practice !== undefined, inForce }).catch(forget);
      return vault;
    },
    flowOf: (id) => flows.find((flow) => flow.id === id),
    async backupKeys() {
      const [{ openBackupKeys }, { keychainStore, keyFile }] = await Promise.all([
        import('../secrets/backup-keys.ts'),
        import('../secrets/secret-store.ts'),
      ]);
      // In the keychain, or in a file of the data folder when the keychain does not respond.
      const stores = [keychainStore(ownEnv), keyFile(join(dataFolder, 'backup-key.json'), 'backup')];
      backupKeys ??= openBackupKeys(stores, join(dataFolder, 'backup-key'));
      return backupKeys;
    },
    tunnels,
    backupTargetOf: (engineName) => backups[engineName],
    ...(hosts && { hosts }),
    ...(notifications && { notifications }),
    localHost,
    cacheFolder: paths.cache,
    ...(settings.catalogFolder !== undefined && { ownCatalogFolder: settings.catalogFolder }),
    dataFolder,
    async checklists() {
      const { identityOf, whoText } = await import('../session/identity.ts');
      return { folder: join(paths.state, 'checklists'), who: whoText(identityOf(env)) };
    },
    get program() {
      return ownProgram(env);
    },
    async applySecrets(session, engineName, changes, applied) {
      const { applySecrets } = await import('../flows/deploy/apply-secrets.ts');
      return applySecrets(new EngineScope(session, context, engineName), changes, applied);
    },
    async stackFolderOf(engineName, signal) {
      await practice?.prepare?.();
      const facts = await context.hostOf(engineName).facts(signal);
      return expandHome(fleet.watchOf(engineName)?.stackFolder ?? stackFolder, facts.home);
    },
    ...(practice && {
      practice: {
        incidents: practice.facts.incidents,
        play: async (grant: Grant, name: string) => {
          await askPractice(practice.folder, `/practice/incidents/${encodeURIComponent(name)}`, grant.signal);
        },
        runOnNode: async (node: string, argv: readonly string[], signal: AbortSignal) => {
          const words = new URLSearchParams(argv.map((word): [string, string] => ['argv', word]));
          const answer = await askPractice(practice.folder, `/practice/nodes/${encodeURIComponent(node)}/run?${words}`, signal);
          return parseJson(answer) as { exitCode: number; stdout: string; stderr: string };
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
    context,
    flows: practiceControls ? [...flows, practiceControls.incident] : flows,
    engineMissing,
    questions,
    tunnels,
    async run(flow, input, operator, signal, resume) {
      // Modules that only flows need are not loaded before the first frame.
      const [{ openSession }, { openJournal }, { openOwnAudit, auditSubject }, { operatorFor, outcomeFor, subjectIn, thrownFor }] =
        await Promise.all([
          import('../session/open-session.ts'),
          import('../session/journal.ts'),
          import('./audit-log.ts'),
          import('./commands-for.ts'),
        ]);
      const subject = subjectIn(fleet.snapshot().engines, input.engineName, input.component?.id);
      const { session, end, reported } = openSession({
        flow: flow.id,
        operator: operatorFor(subject, operator),
        policy: { readOnly: options.readOnly, dryRun: options.dryRun, productionHosts: production },
        journal: await openJournal({
          folder: join(paths.state, 'journal'),
          flow: flow.id,
          engineName: input.engineName,
          ...(input.component && { component: input.component.id, key: input.component.key }),
          ...(flow.resumes && input.words.length > 0 && { words: input.words }),
          ...(flow.resumes && Object.keys(input.options).length > 0 && { options: input.options }),
          ...(resume !== undefined && { resume }),
        }),
        audit: openOwnAudit(paths, ownEnv, (to) => {
          const text = `The end of the audit log was damaged and was moved to ${to}.\n`;
          operator.show({ kind: 'output', stream: 'stderr', bytes: new TextEncoder().encode(text) });
        }),
        about: { right: flow.right, host: input.engineName, ...(input.component && { component: input.component.key }) },
        subjectOf: (target) => auditSubject(fleet.snapshot().components, input, target),
        signal,
      });
      try {
        const outcome = await flow.run(session, input, context);
        await end('done');
        return outcomeFor(subject, outcome);
      } catch (thrown) {
        const wasCancelled = signal.aborted || isAbort(thrown) || (thrown instanceof Fault && thrown.kind === 'interrupted');
        // Done before the session forgets the secrets to mask.
        const notified = thrownFor(subject, reported(thrown));
        await end(wasCancelled ? 'cancelled' : 'failed', thrown);
        throw notified;
      } finally {
        if (inFront === session) {
          inFront = undefined;
          const afterLogin = flow.id === 'login';
          if (probeCredentials || afterLogin) await (await credentials()).drop({ afterLogin });
        }
      }
    },
    async unfinished(signal) {
      const { unfinishedChanges } = await import('./unfinished-changes.ts');
      const names = fleet.snapshot().engines.map(({ name }) => name);
      return unfinishedChanges(context, names, signal);
    },
    async notify(report, signal) {
      // The practice stack, and one host of several, are watched only by a command that says so.
      if (!notifications || practice || wanted !== 'all') return;
      const { unattended, openOwnSecretStorage } = await import('./secrets.ts');
      let opened: Promise<SecretStorage> | undefined;
      const forget = (thrown: unknown) => {
        opened = undefined;
        throw thrown;
      };
      const secrets = () => {
        opened ??= openOwnSecretStorage({ paths, env, asking: () => unattended(signal), practice: false }).catch(forget);
        return vault ?? opened;
      };
      if ((await notifications.settings()).rules.length > 0) await notifications.run(secrets, report, signal);
    },
    async followHosts() {
      if (practice || options.readOnly || wanted !== 'all') return;
      // Never done before the first frame.
      await fleet.settle(options.signal, 'listed').catch(() => undefined);
      await remoteFleet.follow({ file: settingsFile(paths), read: () => loadSettings(paths, home), shown: settings.hosts });
    },
    async close() {
      remoteFleet.close();
      const keeping = practice || options.readOnly ? undefined : keepSeenComponents(paths, fleet.snapshot());
      const observing = fleet.keepObservations();
      for (const part of [tunnels, logs, fleet]) part.close();
      await Promise.all([host.close(), ...(practice ? [localHost.close()] : []), remoteHosts.closeAll(), keeping, observing]);
    },
  };
}

/** Returns the stack folder of an engine. Engines of one host would conflict in one folder, so further engines use a folder beside it. */
function stackFolderFor({ name, host }: EngineSource, stackFolder: string): string {
  const engine = name.startsWith(`${host.name}/`) ? name.slice(host.name.length + 1) : '';
  return engine === '' ? stackFolder : `${stackFolder}-${engine.replaceAll('/', '-')}`;
}

/** How often the settings are checked for other rules and targets. */
const settingsEveryMs = 2_000;

/** Variables that decide what a run finds: a timer or cron starts programs with almost no environment. */
const carried = [
  ...['HOME', 'PATH', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'],
  ...['DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH', 'CONTAINER_HOST'],
  ...['QUARTERDECK_HOME', 'QUARTERDECK_SECRETS', 'QUARTERDECK_SECRETS_KEY_FILE'],
];

/** Returns the command line with which another program starts this one on the same data. None of its variables holds a secret. */
function ownProgram(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const settings = carried.flatMap((name) => (env[name] ? [`${name}=${env[name]}`] : []));
  return ['/usr/bin/env', ...settings, join(installationFolder(), 'bin', 'quarterdeck')];
}
