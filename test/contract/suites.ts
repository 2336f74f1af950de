import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build, transform } from 'esbuild';

/** A contract suite, which a simulator and a real server both pass. */
export interface Suite {
  /** Entry points, from the root of the repository. What they import belongs to them. */
  readonly simulators: readonly string[];
  readonly contracts: readonly string[];
  /** The test in `test/real` that asks the real server; undefined where there is none yet. */
  readonly real?: string;
  /** The command that provides the server; undefined where CI has it, so that each of its runs is the proof. */
  readonly provide?: string;
}

const contract = (...names: readonly string[]) => names.map((name) => `test/contract/${name}.contract.ts`);
const simulator = (product: string, name: string) => [`source/products/${product}/simulator/${name}.ts`];

export const suites = {
  engine: {
    simulators: ['source/practice/engine/api-server.ts', 'source/practice/engine/machine.ts'],
    contracts: contract('engine'),
    real: 'engine',
  },
  'crowdsec-1.4': {
    simulators: simulator('crowdsec', 'intrusion-prevention'),
    contracts: contract('intrusion-prevention'),
    real: 'crowdsec',
  },
  'crowdsec-1.7': {
    simulators: simulator('crowdsec', 'intrusion-prevention'),
    contracts: contract('intrusion-prevention'),
    real: 'crowdsec',
    provide: 'test/real/servers crowdsec',
  },
  vault: {
    simulators: simulator('vault', 'secrets-manager'),
    contracts: contract('secrets-manager', 'auto-unseal'),
    real: 'secrets-manager',
    provide: 'test/real/servers openbao',
  },
  headscale: {
    simulators: simulator('headscale', 'mesh'),
    contracts: contract('mesh'),
    real: 'mesh',
    provide: 'test/real/servers headscale',
  },
  authelia: {
    simulators: simulator('authelia', 'sso-portal'),
    contracts: contract('sso-portal'),
    real: 'sso-portal',
    provide: 'test/real/servers authelia',
  },
  'object-storage': {
    simulators: ['test/doubles/object-store-double.ts'],
    contracts: contract('object-storage'),
    real: 'object-storage',
    provide: 'test/real/servers minio',
  },
  tunnels: {
    simulators: [...simulator('tunnels', 'tunnel-ui'), 'test/doubles/tunnel-ui-double.ts'],
    contracts: contract('tunnel-ui'),
    real: 'tunnel-ui',
    provide: 'export QUARTERDECK_TEST_WG_EASY=FOLDER (src/ of wg-easy 14 after npm install)',
  },
  kubernetes: { simulators: simulator('kubernetes', 'cluster'), contracts: contract('cluster') },
  vaultwarden: { simulators: simulator('vaultwarden', 'password-vault'), contracts: [] },
} as const satisfies Record<string, Suite>;

export type SuiteName = keyof typeof suites;
export const suiteNames = Object.keys(suites) as SuiteName[];

/** When a suite last passed against the real server, or why there is no proof. */
export type Proof = { server: string; date: string; tests: number; hash: string } | { unproven: string };
export type Proofs = Partial<Record<SuiteName, Proof>>;

const root = resolve(import.meta.dirname, '../..');
const proofsPath = resolve(import.meta.dirname, 'proven.json');

export function readProofs(): Proofs {
  return JSON.parse(readFileSync(proofsPath, 'utf8')) as Proofs;
}

export function writeProofs(proofs: Proofs): void {
  const ordered = Object.fromEntries(suiteNames.flatMap((name) => (proofs[name] ? [[name, proofs[name]]] : [])));
  writeFileSync(proofsPath, `${JSON.stringify(ordered, undefined, 2)}\n`);
}

/** What a test imports of the program that is no simulator. All of it has one name, so that moving a file makes no difference. */
const leaveClient = ({ path }: { path: string }) =>
  /\/(?:simulator|practice)\//.test(path) ? undefined : { path: 'client', external: true, sideEffects: false };

/**
 * Returns a hash of the code of a simulator and its contract, with everything that they import by a relative path. It is taken of the minified bundle, so that
 * types, comments, formatting, names of files and local variables, and code that they do not reach, make no difference. Packages are not part of it, and neither is
 * the client with which a contract asks: it is tested against the simulator.
 * A new esbuild may minify differently: then all proofs are renewed.
 */
export async function hashSuite({ simulators, contracts }: Suite, folder = root): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [...simulators, ...contracts],
    absWorkingDir: folder,
    bundle: true,
    minifyWhitespace: true,
    write: false,
    outdir: 'unused',
    format: 'esm',
    platform: 'node',
    packages: 'external',
    plugins: [{ name: 'without-client', setup: (bundle) => void bundle.onResolve({ filter: /^\.{1,2}\/.*\/source\// }, leaveClient) }],
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  const hash = createHash('sha256');
  // Once more, for short names depend on all code that was read, also where the bundle is without it.
  for (const { text } of outputFiles) hash.update((await transform(text, { minify: true })).code);
  return hash.digest('hex').slice(0, 16);
}

/** Returns why a proof does not hold for the code as it is, and what renews it; undefined where it holds. */
export function findStaleness(name: SuiteName, proof: Proof | undefined, hash: string): string | undefined {
  const { provide }: Suite = suites[name];
  const renew = `Run: ${provide} && npm run prove ${name}`;
  if (proof === undefined) return `${name} has no entry in test/contract/proven.json. ${renew}`;
  if ('unproven' in proof || proof.hash === hash) return undefined;
  return `The simulator or contract of ${name} changed since it passed against ${proof.server} on ${proof.date}. ${renew}`;
}
