import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { vaultEndpointAt } from './client/vault-api.ts';
import { type Engine, VaultPaths } from './client/vault-paths.ts';
import { vaultFault } from './client/vault-refusal.ts';

export interface SecretsFolder {
  paths: VaultPaths;
  engine: Engine;
  folder: string;
  origin: string;
}

/** Opens the secrets manager of the flags. Throws the faults of `VaultPaths`, `usage.address` and `refused.clear`. */
export async function openManager(session: Session, input: FlowInput, context: FlowContext): Promise<SecretsFolder | undefined> {
  const manager = optionOf(input, 'manager');
  if (manager === undefined) return undefined;
  const endpoint = vaultEndpointAt(context.hostOf(input.engineName), manager);
  // The address is checked before the prompt for a token.
  new VaultPaths(endpoint);
  const token = await session.ask.secret({
    id: 'token',
    label: `Token for ${manager}`,
    check: (typed) => (typed.trim() === '' ? 'Type one.' : undefined),
  });
  const paths = new VaultPaths(endpoint, token.trim());
  const named = (name: string, usual: string) => (optionOf(input, name) ?? usual).replace(/^\/|\/$/g, '');
  const mount = named('mount', 'secret');
  const engine = await paths.engineOf(mount, session.signal);
  if (engine.version !== 2) throw vaultFault(`"${cleanLine(mount)}" is no key-value engine of version 2.`, 'Name another with --mount.');
  return { paths, engine, folder: named('folder', 'quarterdeck'), origin: new URL(manager).origin };
}

/** Returns the text values of a path, and the version that a later write is compared with; 0 if there is none. */
export async function readEntry(
  { paths, engine }: SecretsFolder,
  path: string,
  signal: AbortSignal,
): Promise<{ values: Record<string, string>; version: number }> {
  const { values = {}, version = 0 } = (await paths.read(engine, `${engine.mount}${path}`, signal)) ?? {};
  const texts = Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { values: Object.fromEntries(texts), version };
}
