import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import { planComponent } from '../../source/flows/deploy/plan-component.ts';
import { formContextOf, gatherStackFacts, inspectHost } from '../../source/flows/deploy/stack-facts.ts';
import { EngineScope } from '../../source/flows/engine-scope.ts';
import type { FlowContext } from '../../source/flows/flow.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { openAudit } from '../../source/session/audit.ts';
import { identityOf } from '../../source/session/identity.ts';
import { openJournal } from '../../source/session/journal.ts';
import { openSession } from '../../source/session/open-session.ts';
import type { FormField } from '../../source/session/session.ts';
import { answersOf } from '../../source/stack/plan/answers.ts';
import { formOf } from '../../source/stack/plan/form.ts';
import { backupKeysDouble } from '../doubles/backup-keys-double.ts';
import { FleetDouble } from '../doubles/fleet-double.ts';
import { OperatorDouble } from '../doubles/operator-double.ts';
import { SecretStoreDouble } from '../doubles/secret-store-double.ts';
import { VaultDouble } from '../doubles/vault-double.ts';
import { nowMs } from './engine-relay.ts';

/**
 * Plans components on a real engine, with preflight, and prints as one line of JSON when it began and ended: ENGINE_URL FOLDER COUNT, where FOLDER is a stack and a
 * cache of its own. With "prepare" behind, the components are written into the stack instead, as if they had been deployed.
 */
const [url = '', folder = '', count = '1', prepare] = process.argv.slice(2);
const root = fileURLToPath(new URL('../../', import.meta.url));
const signal = AbortSignal.timeout(120_000);
const stack = join(folder, 'stack');

const catalog = await openCatalog({ compiledFile: join(root, 'dist', 'catalog.json'), ownFolder: await twins(join(folder, 'catalog')) });
const host = openLocalHost();
const engine = await openEngine({ url, origin: 'bench' }, host);
const engineFacts = await engine.connect(signal);
const vault = new VaultDouble();
const flowContext: FlowContext = {
  fleet: new FleetDouble(),
  engineOf: () => engine,
  engineFactsOf: () => engineFacts,
  hostOf: () => host,
  catalog,
  vault: async () => vault,
  backupKeys: async () => backupKeysDouble(),
  stackFolderOf: async () => stack,
  cacheFolder: join(folder, 'cache'),
  dataFolder: join(folder, 'data'),
};
const { session } = openSession({
  flow: 'deploy',
  operator: new OperatorDouble(),
  policy: { readOnly: false, dryRun: true, productionHosts: new Set() },
  journal: await openJournal({ folder: join(folder, 'runs'), flow: 'deploy', engineName: 'local' }),
  audit: openAudit({ path: join(folder, 'audit.jsonl'), stores: [new SecretStoreDouble()], identity: identityOf() }),
  signal,
});
const wanted = catalog.entries
  .filter(({ deploy }) => deploy === 'compose')
  .sort(byWeight)
  .slice(0, Number(count));
if (wanted.length < Number(count)) throw new Error(`the catalog has only ${wanted.length} components to plan`);

const cpu = process.cpuUsage();
const sinceMs = nowMs();
const look = await inspectHost(new EngineScope(session, flowContext, 'local'));
const planning = pLimit(4);
const ready = await Promise.all(
  wanted.map(async (entry) => {
    const facts = await gatherStackFacts(look.scope, entry, look);
    const context = formContextOf(facts, {});
    const shown = Object.fromEntries(formOf(entry, context).fields.map((field) => [field.id, field.value || typed(field)]));
    return planning(() => planComponent(facts, answersOf(entry, context, shown), { kind: 'deploy' }, look.asked));
  }),
);
const untilMs = nowMs();
const { user, system } = process.cpuUsage(cpu);

if (prepare === 'prepare') {
  for (const { path, after } of ready.flatMap(({ plan }) => plan.files)) {
    if (after === undefined) continue;
    await mkdir(dirname(join(stack, path)), { recursive: true });
    await writeFile(join(stack, path), after);
  }
}
console.log(
  JSON.stringify({
    sinceMs,
    untilMs,
    cpuMs: (user + system) / 1000,
    components: ready.length,
    findings: ready.flatMap(({ findings }) => findings).length,
    unknown: ready.flatMap(({ findings }) => findings.flatMap(({ id, message }) => (id.startsWith('unknown:') ? [message] : []))),
  }),
);
process.exit(0);

/** What an operator would have to type: the plan of a component without it ends at its files. */
function typed({ kind, required, section, check }: FormField): string {
  // Of the address others are derived.
  if (kind !== 'text' || !(required || section === 'Address')) return '';
  return (
    ['https://bench.example.com', 'bench.example.com', 'bench@example.com', '192.0.2.1', '1'].find((text) => !check?.(text)) ?? 'bench'
  );
}

/** Those with the most services first: the one that is planned alone is no easy one. */
function byWeight(one: CatalogEntry, other: CatalogEntry): number {
  return Number(one.own) - Number(other.own) || other.services.length - one.services.length || (one.id < other.id ? -1 : 1);
}

/** The catalog has fewer than twenty components: each once more, under another name. */
async function twins(own: string): Promise<string> {
  if ((await readdir(own).catch(() => [])).length > 0) return own;
  for (const group of await readdir(join(root, 'catalog'))) {
    for (const id of await readdir(join(root, 'catalog', group))) {
      const from = join(root, 'catalog', group, id);
      for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        const to = join(own, `${id}-twin`, path.slice(from.length + 1));
        const text = await readFile(path, 'utf8');
        await mkdir(dirname(to), { recursive: true });
        await writeFile(to, entry.name === 'component.yaml' ? text.replace(/^id: .*$/m, `id: ${id}-twin`) : text);
      }
    }
  }
  return own;
}
