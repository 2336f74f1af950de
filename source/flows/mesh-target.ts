import ipaddr from 'ipaddr.js';
import { findAddress } from '../calls/find-address.ts';
import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import { greet, type MeshPlace } from '../products/headscale-api.ts';
import type { MeshNode } from '../products/headscale-things.ts';
import { type MeshVersion, meshVersionOf } from '../products/headscale-version.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { parseYamlDocument } from '../text/yaml-text.ts';
import type { FlowWorld } from './flow.ts';
import { entryOf, targetOf } from './secret-proof.ts';

/** A control server that runs here, before anybody logs in to it. */
export interface MeshTarget {
  component: ComponentView;
  host: Host;
  engine: Engine;
  /** In which its own command is. */
  container: ContainerDetail;
  place: MeshPlace;
  version: MeshVersion;
  signal: AbortSignal;
}

const configPath = '/etc/headscale/config.yaml';
const configLimitBytes = 256 * 1024;

/** Throws `usage.component` and `unreachable.component`. */
export async function meshTargetOf(
  world: FlowWorld,
  component: ComponentView,
  execAllowed: boolean,
  signal: AbortSignal,
): Promise<MeshTarget> {
  const entry = entryOf(world, component);
  const { port, service = '' } = entry?.speaks ?? {};
  if (entry?.speaks?.api !== 'headscale' || port === undefined) {
    throw new Fault({
      code: 'usage.component',
      message: `${component.id} is no mesh control server.`,
      remedy: 'Name one that is: quarterdeck catalog list',
    });
  }
  const target = await targetOf(world, component.host, entry, signal, component);
  const address = findAddress(target, port);
  const container = target.containers.get(service);
  if (typeof address === 'string' || !container) {
    throw new Fault({
      code: 'unreachable.component',
      message: typeof address === 'string' ? address : `${component.id} has no container of the service ${service}.`,
      remedy: `Start it: quarterdeck start ${component.id}`,
    });
  }
  const name = address.host.includes(':') ? `[${address.host}]` : address.host;
  const shown = `${component.id} (${name}:${address.port})`;
  const { place, version } = await greet({ host: target.host, address, tls: false, shown }, signal);
  const told = version ?? (execAllowed ? await versionByCommand(target.engine, container.id, signal) : undefined);
  return { component, host: target.host, engine: target.engine, container, place, version: meshVersionOf(told), signal };
}

/** Before 0.26 the server tells its version to its own command alone. */
async function versionByCommand(engine: Engine, container: string, signal: AbortSignal): Promise<string | undefined> {
  const { exitCode, stdout } = await engine.execReading(container, ['headscale', 'version', '-o', 'json'], { signal });
  const text = new TextDecoder().decode(stdout);
  if (exitCode !== 0) return undefined;
  try {
    const told = parseJson(text) as unknown;
    return typeof told === 'string' ? told : (told as { version?: string } | null)?.version;
  } catch {
    return /v?\d+\.\d+\.\d+\S*/.exec(text)?.[0];
  }
}

/** Of the server's configuration: its environment first, then its file. */
async function settingOf(
  { engine, container, signal }: MeshTarget,
  variable: string,
  path: readonly string[],
): Promise<string | undefined> {
  const given = container.env.find(([name]) => name === variable)?.[1];
  if (given) return cleanLine(given);
  const file = await engine.readFile(container.id, configPath, { signal, limitBytes: configLimitBytes });
  if (!file) return undefined;
  const value: unknown = parseYamlDocument(new TextDecoder().decode(file)).getIn(path);
  return typeof value === 'string' ? cleanLine(value) : undefined;
}

/** What nodes are told to log in at. Undefined where nobody can tell. */
export async function loginServerOf(target: MeshTarget): Promise<string | undefined> {
  const url = await settingOf(target, 'HEADSCALE_SERVER_URL', ['server_url']);
  return url && URL.canParse(url) ? url.replace(/\/$/, '') : undefined;
}

/** Where the policy is kept; only one in the database can be set. The product's own default is a file. */
export async function policyHomeOf(target: MeshTarget): Promise<{ mode: 'database' | 'file' | 'unknown'; file: string }> {
  const mode = await settingOf(target, 'HEADSCALE_POLICY_MODE', ['policy', 'mode']);
  const file = (await settingOf(target, 'HEADSCALE_POLICY_PATH', ['policy', 'path'])) ?? '';
  return { mode: mode === 'database' || mode === 'file' ? mode : 'unknown', file };
}

/** The node among these that the operator's connection to the host leads from or to: whoever takes it away locks the operator out. None on this machine. */
export async function ownWayOf(
  { host, signal }: MeshTarget,
  nodes: readonly MeshNode[],
): Promise<{ node: MeshNode; address: string } | undefined> {
  if (!host.link) return undefined;
  const [from = '', , to = ''] = ((await host.facts(signal)).env['SSH_CONNECTION'] ?? '').split(' ');
  const own = [from, to].filter(ipaddr.isValid).map(canonical);
  for (const node of nodes) {
    const address = node.addresses.find((each) => ipaddr.isValid(each) && own.includes(canonical(each)));
    if (address !== undefined) return { node, address };
  }
  return undefined;
}

/** However it is written: an IPv4 address may come in the clothes of IPv6. */
function canonical(address: string): string {
  return ipaddr.process(address).toString();
}
