import ipaddr from 'ipaddr.js';
import { httpEndpointOf } from '../../calls/http-client.ts';
import type { Engine } from '../../engine/engine.ts';
import { apiComponentOf, runningContainer } from '../../flows/api-component.ts';
import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { objectOf, parsedJson, textOf } from '../../text/json-value.ts';
import { parseYamlDocument } from '../../yaml/text.ts';
import { greet } from './client/headscale-api.ts';
import type { MeshNode } from './client/headscale-records.ts';
import { meshVersionOf } from './client/headscale-version.ts';

export type MeshTarget = Awaited<ReturnType<typeof meshTargetOf>>;

const configPath = '/etc/headscale/config.yaml';
const configLimitBytes = 256 * 1024;

/** Throws `usage.component` and `unreachable.component`. */
export async function meshTargetOf(session: Session, input: FlowInput, context: FlowContext) {
  const found = await apiComponentOf(session, input, context, { name: 'headscale', what: 'mesh control server' });
  const { component, api, target } = found;
  const { host, engine } = target;
  const container = runningContainer(found);
  const { endpoint, version } = await greet({ ...httpEndpointOf(target, api.port ?? ''), tls: false }, session.signal);
  const reported = version ?? (session.readOnly ? undefined : await versionByCommand(engine, container.id, session.signal));
  return { session, component, host, engine, container, endpoint, version: meshVersionOf(reported) };
}

/** Returns the version by the server's own command: before 0.26 the API does not report it. */
async function versionByCommand(engine: Engine, container: string, signal: AbortSignal): Promise<string | undefined> {
  const { exitCode, stdout } = await engine.execReading(container, ['headscale', 'version', '-o', 'json'], { signal });
  const text = new TextDecoder().decode(stdout);
  if (exitCode !== 0) return undefined;
  const json = parsedJson(text);
  return json === undefined ? /v?\d+\.\d+\.\d+\S*/.exec(text)?.[0] : textOf(objectOf(json)?.['version'] ?? json) || undefined;
}

export async function settingOf({ session: { signal }, engine, container }: MeshTarget, variable: string, path: readonly string[]) {
  const given = container.env.find(([name]) => name === variable)?.[1];
  if (given) return cleanLine(given);
  const file = await engine.readFile(container.id, configPath, { signal, limitBytes: configLimitBytes });
  if (!file) return undefined;
  const value: unknown = parseYamlDocument(new TextDecoder().decode(file)).getIn(path);
  return typeof value === 'string' ? cleanLine(value) : undefined;
}

export async function loginServerOf(target: MeshTarget): Promise<string | undefined> {
  const url = await settingOf(target, 'HEADSCALE_SERVER_URL', ['server_url']);
  return url && URL.canParse(url) ? url.replace(/\/$/, '') : undefined;
}

/** Returns the node that the operator's connection to the host goes through: removing it locks the operator out. */
export async function ownConnectionOf({ session, host }: MeshTarget, nodes: readonly MeshNode[]) {
  if (!host.link) return undefined;
  const [from = '', , to = ''] = ((await host.facts(session.signal)).env['SSH_CONNECTION'] ?? '').split(' ');
  const own = [from, to].filter(ipaddr.isValid).map((each) => ipaddr.process(each).toString());
  for (const node of nodes) {
    const address = node.addresses.find((each) => ipaddr.isValid(each) && own.includes(ipaddr.process(each).toString()));
    if (address !== undefined) return { node, address };
  }
  return undefined;
}
