import { findAddress } from '../../calls/find-address.ts';
import { httpEndpointAt } from '../../calls/http-client.ts';
import type { HttpEndpoint } from '../../calls/http-exchange.ts';
import type { Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { isServing } from '../../fleet/service-state.ts';
import { entryOf } from '../../flows/call-target.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import type { Host } from '../../hosts/host.ts';
import type { ActTarget, Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { isOwnAddress } from '../../text/loopback.ts';
import { Crowdsec } from './client/crowdsec.ts';
import { alertReader, parseMachineLogin, type ReadAlerts } from './client/crowdsec-api.ts';
import { type CscliTarget, cscliInContainer, cscliOnHost, readVersion } from './client/cscli.ts';

export interface Prevention {
  crowdsec: Crowdsec;
  target: ActTarget;
  /** Missing if CrowdSec runs on the machine itself. `name` and `key` are those of the component. */
  container?: { id: string; name: string; key: string; engine: Engine };
}

const credentialsPath = '/etc/crowdsec/local_api_credentials.yaml';
const lookLimitMs = 15_000;

/** The CrowdSec of a flow, with the session that works on it. */
export type FlowPrevention = Prevention & { session: Session; input: FlowInput; context: FlowContext };

type PreventionRun = (prevention: FlowPrevention) => ReturnType<Procedure>;

export function onPrevention(run: PreventionRun): Procedure {
  return async (session, input, context) => run({ ...(await preventionOf(context, input, session)), session, input, context });
}

/** Runs a listing flow for each of several hosts: a host without CrowdSec is reported and does not stop the others. */
export function onHostsThatHaveIt(run: PreventionRun): Procedure {
  return async (session, input, context) => {
    try {
      return await onPrevention(run)(session, input, context);
    } catch (thrown) {
      const several = context.fleet.snapshot().engines.filter(({ engine }) => engine.reachable).length > 1;
      if (!several || !(thrown instanceof Fault) || thrown.code !== 'refused.noCrowdsec') throw thrown;
      return { message: thrown.message, data: {} };
    }
  };
}

/** The caller: a session, or a monitor without one. Without `ask` the first of several is used. */
export type Looking = Pick<Session, 'signal' | 'readOnly' | 'hide'> & { ask?: Pick<Session['ask'], 'choice'> };

/** Throws `unreachable.component` if CrowdSec does not run, and `refused.noCrowdsec` if the host has none. */
export async function preventionOf(context: FlowContext, input: Pick<FlowInput, 'engineName' | 'options'>, looking: Looking) {
  const { engineName } = input;
  const found = context.fleet.snapshot().components.filter(({ host, speaks }) => host === engineName && speaks === 'crowdsec');
  const named = optionOf(input, 'component');
  const up = found.filter(({ serviceState }) => isServing(serviceState));
  // The right one of several cannot be guessed: a ban at the wrong one has no effect.
  const chosen = named ?? (up.length > 1 ? await looking.ask?.choice(whichOf(up)) : undefined);
  const component = chosen === undefined ? (up[0] ?? found[0]) : found.find(({ id, key, project }) => [id, key, project].includes(chosen));
  if (named !== undefined && !component) {
    const message = `${cleanLine(engineName)} has no CrowdSec named ${cleanLine(named)}.`;
    const remedy = found.length === 0 ? 'Omit --component.' : `Use one of: ${found.map(({ id }) => cleanLine(id)).join(', ')}.`;
    throw new Fault('usage.component', message, remedy);
  }
  return component ? inContainer(context, component, looking) : onHost(context, engineName, looking);
}

const whichOf = (components: readonly ComponentView[]) => ({
  id: 'component',
  label: 'CrowdSec',
  choices: components.map(({ id, detail }) => ({ value: id, label: id, detail })),
});

async function inContainer(context: FlowContext, component: ComponentView, looking: Looking): Promise<Prevention> {
  const { host: engineName, id, key } = component;
  const entry = entryOf(context, component);
  const { service, port = '' } = entry?.api ?? {};
  const engine = context.engineOf(engineName);
  const view = component.services.find(({ main }) => main) ?? component.services[0];
  const container = view?.containerId === undefined ? undefined : await engine.inspect(view.containerId, looking.signal);
  if (!entry || service === undefined || container?.state !== 'running') {
    const message = `${id} is not running.`;
    throw new Fault('unreachable.component', message, `Start it: quarterdeck start ${id}`);
  }
  const cscli = cscliInContainer(engine, container.id, id, looking.readOnly);
  const host = context.hostOf(engineName);
  const [engineFacts, containers] = [context.engineFactsOf(engineName), new Map([[service, container]])];
  const published = findAddress({ entry, host, engine, engineFacts, containers, execAllowed: true }, port);
  const address = typeof published === 'string' ? undefined : published;
  const crowdsec = new Crowdsec(cscli, apiOf(cscli, host, looking, address));
  return { crowdsec, target: { host: engineName, component: key }, container: { id: container.id, name: id, key, engine } };
}

async function onHost(context: FlowContext, engineName: string, looking: Looking): Promise<Prevention> {
  const host = context.hostOf(engineName);
  const { signal } = looking;
  const exec = () => host.exec(['sh', '-c', 'command -v cscli'], { signal, limitMs: lookLimitMs });
  // This machine may have no shell. That a remote host cannot be searched does not mean that it has none.
  const search = () => (host.link ? exec() : unlessFault(signal, exec()));
  if (context.practice || (await search())?.exitCode !== 0) {
    const message = `${cleanLine(engineName)} has no CrowdSec, neither in a container nor on the host.`;
    throw new Fault('refused.noCrowdsec', message, 'Deploy CrowdSec: quarterdeck deploy intrusion-prevention');
  }
  const { uid } = await host.facts(signal);
  const cscli = cscliOnHost(host, { shown: `CrowdSec on ${cleanLine(engineName)}`, uid });
  return { crowdsec: new Crowdsec(cscli, apiOf(cscli, host, looking)), target: { host: engineName } };
}

/** Opens nothing if the login cannot be read or the address is unknown; `cscli` is used then. */
function apiOf(cscli: CscliTarget, host: Host, looking: Looking, published?: HttpEndpoint['address']) {
  const open = async (signal: AbortSignal) => {
    const file = await cscli.file(credentialsPath, signal);
    const own = file && parseMachineLogin(new TextDecoder().decode(file));
    if (!own) return undefined;
    looking.hide(own.password);
    const endpoint = endpointOf(own.url, host, published, cscli.shown);
    return endpoint && alertReader(endpoint, own, looking.readOnly ? 'unknown' : ((await readVersion(cscli, signal)) ?? 'unknown'));
  };
  return (signal: AbortSignal): Promise<ReadAlerts | undefined> => unlessFault(signal, open(signal));
}

function endpointOf(url: string, host: Host, published: HttpEndpoint['address'] | undefined, shown: string): HttpEndpoint | undefined {
  if (url.startsWith('/'))
    return published ? undefined : { host, address: { host: 'localhost', port: 80, near: true }, socket: url, tls: false, shown };
  const found = httpEndpointAt(host, url);
  if (!found || !isOwnAddress(found.address.host)) return found && { ...found, shown };
  // The loopback of a container is not that of the machine: the published port is forwarded to it.
  if (published) return { ...found, address: published, shown };
  return shown.startsWith('CrowdSec on ') ? { ...found, address: { ...found.address, host: '127.0.0.1', near: true }, shown } : undefined;
}
