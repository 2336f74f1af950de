import { join } from 'node:path';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { interpolate } from '../catalog/interpolation.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import { installationFolder } from '../config/installation.ts';
import { writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { ImageDetail } from '../engine/engine.ts';
import { openPracticeHost } from '../hosts/practice-host.ts';
import type { DeployedPart, Practice } from '../practice/practice.ts';
import { openVault } from '../secrets/open-vault.ts';
import type { SecretName, SecretVault } from '../secrets/vault.ts';
import { openJournal } from '../session/journal.ts';
import { openSession } from '../session/open-session.ts';
import { answersOf } from '../stack/answers.ts';
import { recordOf } from '../stack/apply-record.ts';
import { type ComponentSource, readComponentSource } from '../stack/component-source.ts';
import type { FormContext } from '../stack/form.ts';
import type { ImagePin, Plan } from '../stack/model.ts';
import { networksOf, usedAddresses } from '../stack/networks.ts';
import { planDeploy } from '../stack/plan.ts';
import { recordPath } from '../stack/read-deployment.ts';
import { composeOf, variablesOf } from '../stack/variables.ts';
import { openOwnAudit } from './own-audit.ts';
import { practiceVaultOptions } from './own-vault.ts';
import { JsonSink } from './shown-text.ts';
import { UnattendedOperator } from './unattended-operator.ts';

interface Options {
  practice: Practice;
  catalog: Catalog;
  folder: string;
  paths: OwnPaths;
}

interface Laid {
  part: DeployedPart;
  plan: Plan;
  /** By variable. */
  secrets: Readonly<Record<string, string>>;
  version: Readonly<Record<string, string>>;
}

/** Version under which every secret of the practice stack begins. */
const firstVersion = 'practice';
const place = 'practice';

/**
 * Makes ordinary deployments of what a practice stack has: the files that deploying would have written, the record of it, the secrets in the vault of the
 * practice. So all that can be done to a deployment can be practised on it.
 */
export async function layPracticeDeployments({ practice, catalog, folder, paths }: Options): Promise<void> {
  const host = openPracticeHost(folder);
  const { openEngine } = await import('../engine/dockerode-engine.ts');
  const engine = openEngine({ url: practice.facts.engine, origin: 'practice stack' }, host);
  const signal = AbortSignal.timeout(120_000);
  const stackFolder = join(folder, 'home', 'stack');
  const ids = practice.deployed.map(({ component }) => component);
  const laid: Laid[] = [];
  const containers = await engine.list(signal);
  for (const part of practice.deployed) {
    const entry = catalog.get(part.component);
    if (entry?.deploy !== 'compose') continue;
    const source = await readComponentSource(entry, join(installationFolder(), 'catalog'));
    const { values, secrets } = splitValues(entry, source, part);
    const version = Object.fromEntries(Object.keys(secrets).map((variable) => [variable, firstVersion]));
    const context: FormContext = {
      source,
      others: [],
      secretsKnown: version,
      hasData: true,
      runtime: 'docker',
      suggested: usedAddresses(
        entry,
        catalog,
        ids.filter((id) => id !== entry.id),
      ),
      values,
    };
    const answers = answersOf(entry, context, {});
    const plan = planDeploy({
      kind: 'deploy',
      entry,
      source,
      answers,
      deployment: undefined,
      place,
      stackFolder,
      runtime: 'docker',
      tool: { kind: 'docker-compose' },
      networks: networksOf(entry, answers.values, catalog),
      networksThere: new Set(),
      containers: [],
      images: undefined,
    });
    for (const { path, after } of plan.files)
      if (after !== undefined) await writeOwnFile(join(stackFolder, path), after, path.endsWith('/.env') ? {} : { mode: 0o644 });
    for (const [path, text] of Object.entries(part.files ?? {}))
      await writeOwnFile(join(stackFolder, entry.id, path), text, { mode: 0o644 });
    const images: Record<string, ImagePin> = {};
    for (const { name, image } of entry.services) {
      const reference = interpolate(image, answers.values);
      const container = containers.find(
        ({ labels }) => labels['com.docker.compose.project'] === entry.id && labels['com.docker.compose.service'] === name,
      );
      const found: ImageDetail | undefined = container && (await engine.image(container.imageId, signal));
      if (found) images[name] = { reference, id: found.id, ...(found.digests[0] && { digest: found.digests[0] }) };
    }
    const startedAt = new Date(part.atMs).toISOString();
    const run = `${startedAt.replaceAll(/[-:]|\.\d+/g, '')}-0000`;
    const record = recordOf({ schema: 1, run, startedAt, by: 'practice', plans: [plan] }, plan, undefined, images);
    await writeOwnFile(recordPath(stackFolder, entry.id), `${JSON.stringify(record, null, 2)}\n`);
    laid.push({ part, plan, secrets, version });
  }
  await practice.madeFrom(
    laid.map(({ part, secrets }) => ({ component: part.component, folder: join(stackFolder, part.component), environment: secrets })),
  );
  await keepSecrets(laid, paths, signal);
}

function splitValues(entry: CatalogEntry, source: ComponentSource, { values, hostPorts, services }: DeployedPart) {
  const variables = new Map(variablesOf(entry, source).map((variable) => [variable.name, variable]));
  const plain: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (variables.get(name)?.kind === 'secret') secrets[name] = value;
    else if (variables.has(name)) plain[name] = value;
  }
  for (const { name, container } of entry.ports) {
    const host = hostPorts[container];
    if (host !== undefined) plain[portVariable(name)] = String(host);
  }
  const { compose } = composeOf(source.compose, join(source.folder, 'compose.yaml'));
  const profiles = services.flatMap((service) => compose.services.get(service)?.profiles.slice(0, 1) ?? []);
  if (profiles.length > 0) plain['COMPOSE_PROFILES'] = [...new Set(profiles)].join(',');
  return { values: plain, secrets };
}

/** In a session of its own, with an audit of its own: what the operator does in practice begins with the operator. */
async function keepSecrets(laid: readonly Laid[], paths: OwnPaths, signal: AbortSignal): Promise<void> {
  const own: OwnPaths = { ...paths, state: join(paths.state, 'made') };
  const vault: SecretVault = await openVault({ ...(await practiceVaultOptions(paths)), paths, signal });
  const { session, end } = openSession({
    flow: 'practice',
    operator: new UnattendedOperator({ sink: new JsonSink(), yes: true }),
    policy: { readOnly: false, rehearsing: false, productionHosts: new Set() },
    journal: await openJournal({ folder: join(own.state, 'journal'), flow: 'practice', place }),
    audit: openOwnAudit(own, { QUARTERDECK_KEYCHAIN: 'off' }),
    signal,
  });
  await session.act({
    id: 'secrets',
    right: 'operate',
    request: 'keep the secrets that the practice stack was deployed with',
    target: { host: place },
    run: async (grant) => {
      for (const { part, secrets } of laid)
        for (const [variable, value] of Object.entries(secrets)) {
          const name: SecretName = `${place}/${part.component}/${variable}`;
          await vault.care?.restore(grant, name, { id: firstVersion, createdMs: part.atMs, origin: 'generated', value });
        }
    },
  });
  await end('done');
}
