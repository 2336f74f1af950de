import { join } from 'node:path';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import { writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { DeployedComponent, Practice } from '../practice/practice.ts';
import { openSecretStorage } from '../secrets/open-secrets.ts';
import type { SecretName, SecretStorage } from '../secrets/secrets.ts';
import { openJournal } from '../session/journal.ts';
import { openSession } from '../session/open-session.ts';
import { recordOf } from '../stack/apply/apply.ts';
import { type ComponentSource, readComponentSource } from '../stack/component-source.ts';
import { answersOf } from '../stack/plan/answers.ts';
import type { FormContext } from '../stack/plan/form.ts';
import { networksOf, usedAddresses } from '../stack/plan/networks.ts';
import { planDeploy } from '../stack/plan/plan.ts';
import { composeOf, variablesOf } from '../stack/plan/variables.ts';
import { recordPath } from '../stack/read-deployment.ts';
import { openOwnAudit } from './audit-log.ts';
import { practiceSecretOptions } from './secrets.ts';
import { JsonSink, UnattendedOperator } from './unattended-operator.ts';

interface Deployment {
  deployed: DeployedComponent;
  secrets: Readonly<Record<string, string>>;
}

/** The first version of every secret of the practice stack. */
const firstVersion = 'practice';
const engineName = 'practice';

/**
 * Turns the components of a practice stack into ordinary deployments: writes the files that a deployment would have written, its record,
 * and its secrets in the secret storage of the practice. Every action on a deployment can then be practised on them.
 */
export async function layPracticeDeployments(
  practice: Practice,
  { catalog, folder, paths }: { catalog: Catalog; folder: string; paths: OwnPaths },
): Promise<void> {
  const signal = AbortSignal.timeout(120_000);
  const stackFolder = join(folder, 'home', 'stack');
  const ids = practice.deployed.map(({ component }) => component);
  const deployments: Deployment[] = [];
  for (const deployed of practice.deployed) {
    const entry = catalog.get(deployed.component);
    if (entry?.deploy !== 'compose') continue;
    const source = await readComponentSource(entry);
    const { values, secrets } = splitValues(entry, source, deployed);
    const version = Object.fromEntries(Object.keys(secrets).map((variable) => [variable, firstVersion]));
    const others = ids.filter((id) => id !== entry.id);
    const context: FormContext = {
      source,
      others: [],
      secretsKnown: version,
      hasData: true,
      runtime: 'docker',
      suggested: usedAddresses(entry, catalog, others),
      values,
    };
    const answers = answersOf(entry, context, {});
    const plan = planDeploy({
      kind: 'deploy',
      entry,
      source,
      answers,
      deployment: undefined,
      engineName,
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
    for (const [path, text] of Object.entries(deployed.files)) await writeOwnFile(join(stackFolder, entry.id, path), text, { mode: 0o644 });
    const startedAt = new Date(deployed.atMs).toISOString();
    const run = `${startedAt.replaceAll(/[-:]|\.\d+/g, '')}-0000`;
    const record = recordOf({ schema: 1, run, startedAt, by: 'practice', plans: [plan] }, plan, undefined, deployed.images);
    await writeOwnFile(recordPath(stackFolder, entry.id), `${JSON.stringify(record, null, 2)}\n`);
    deployments.push({ deployed, secrets });
  }
  await practice.adopt(
    deployments.map(({ deployed: { component }, secrets }) => ({ component, folder: join(stackFolder, component), environment: secrets })),
  );
  await keepSecrets(deployments, paths, signal);
}

function splitValues(entry: CatalogEntry, source: ComponentSource, { values, hostPorts, images }: DeployedComponent) {
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
  const profiles = Object.keys(images).flatMap((service) => compose.services.get(service)?.profiles.slice(0, 1) ?? []);
  if (profiles.length > 0) plain['COMPOSE_PROFILES'] = [...new Set(profiles)].join(',');
  return { values: plain, secrets };
}

/** Uses a session and an audit of its own, so that the operator's audit begins with the operator's first action. */
async function keepSecrets(deployments: readonly Deployment[], paths: OwnPaths, signal: AbortSignal): Promise<void> {
  const own: OwnPaths = { ...paths, state: join(paths.state, 'made') };
  const vault: SecretStorage = await openSecretStorage({ ...(await practiceSecretOptions(paths)), paths, signal });
  const { session, end } = openSession({
    flow: 'practice',
    operator: new UnattendedOperator({ sink: new JsonSink(), yes: true }),
    policy: { readOnly: false, dryRun: false, productionHosts: new Set() },
    journal: await openJournal({ folder: join(own.state, 'journal'), flow: 'practice', engineName }),
    audit: openOwnAudit(own, { QUARTERDECK_KEYCHAIN: 'off' }),
    signal,
  });
  await session.act({
    id: 'secrets',
    right: 'operate',
    request: 'store the secrets that the practice stack was deployed with',
    target: { host: engineName },
    run: async (grant) => {
      for (const { deployed, secrets } of deployments)
        for (const [variable, value] of Object.entries(secrets)) {
          const name: SecretName = `${engineName}/${deployed.component}/${variable}`;
          await vault.care.restore(grant, name, { id: firstVersion, createdMs: deployed.atMs, origin: 'generated', value });
        }
    },
  });
  await end('done');
}
