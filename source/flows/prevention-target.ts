import type { CallTarget } from '../calls/call.ts';
import { findAddress } from '../calls/find-address.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import { Crowdsec } from '../products/crowdsec.ts';
import { CrowdsecApi, type CrowdsecApiPlace } from '../products/crowdsec-api.ts';
import { type CscliPlace, cscliInContainer, cscliOnHost } from '../products/cscli.ts';
import { parseMachineLogin } from '../products/machine-login.ts';
import { cleanLine } from '../text/clean.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { entryOf } from './secret-proof.ts';

/** The CrowdSec of a host: in a container, or on the machine itself. */
export interface Prevention {
  crowdsec: Crowdsec;
  /** Missing where it runs on the machine itself. */
  component?: ComponentView;
  /** Of its container. */
  containerId?: string;
}

const credentialsPath = '/etc/crowdsec/local_api_credentials.yaml';
const lookLimitMs = 15_000;
const isHere = new Set(['0.0.0.0', '127.0.0.1', 'localhost', '[::]', '[::1]']);

export const crowdsecFlag = { component: { meaning: 'which CrowdSec, where a host has several', value: 'ID' } } as const;

/** A flow that lists is run for each of several hosts: one without CrowdSec says so, and does not keep the others from answering. */
export function onHostsThatHaveIt(flow: Flow): Flow {
  return {
    ...flow,
    async run(session, input, world) {
      try {
        return await flow.run(session, input, world);
      } catch (thrown) {
        const several = world.fleet.snapshot().places.filter(({ engine }) => engine.reachable).length > 1;
        if (!several || !(thrown instanceof Fault) || thrown.code !== 'refused.noCrowdsec') throw thrown;
        return { message: thrown.message, data: {} };
      }
    },
  };
}

export interface Looking {
  signal: AbortSignal;
  readOnly: boolean;
  /** The password of the login is told to whoever hides secrets. */
  hide: (secret: string) => void;
  /** The id of the one that is meant, where several run. Without it, the first. */
  choose?: (components: readonly ComponentView[]) => Promise<string>;
}

/** Throws `unreachable.component` where it does not run, and `refused.noCrowdsec` where there is none. */
export async function preventionOf(
  world: FlowWorld,
  { place, options }: Pick<FlowInput, 'place' | 'options'>,
  looking: Looking,
): Promise<Prevention> {
  const found = componentsOn(world, place);
  const named = typeof options['component'] === 'string' ? options['component'] : undefined;
  const up = found.filter(isUp);
  // Which of several is meant cannot be guessed: a ban at the wrong one does nothing.
  const chosen = named ?? (up.length > 1 ? await looking.choose?.(up) : undefined);
  const component = chosen === undefined ? (up[0] ?? found[0]) : found.find(({ id, key, project }) => [id, key, project].includes(chosen));
  if (named !== undefined && !component) {
    throw new Fault({
      code: 'usage.component',
      message: `There is no CrowdSec called ${cleanLine(named)} on ${cleanLine(place)}.`,
      remedy: found.length === 0 ? 'Leave --component away.' : `There is: ${found.map(({ id }) => cleanLine(id)).join(', ')}.`,
    });
  }
  return component ? inContainer(world, component, looking) : onHost(world, place, looking);
}

export function componentsOn(world: FlowWorld, place: string): ComponentView[] {
  return world.fleet.snapshot().components.filter(({ host, speaks }) => host === place && speaks === 'crowdsec');
}

function isUp({ state }: ComponentView): boolean {
  return state === 'running' || state === 'healthy' || state === 'unhealthy' || state === 'starting';
}

async function inContainer(world: FlowWorld, component: ComponentView, looking: Looking): Promise<Prevention> {
  const { host: place, id } = component;
  const entry = entryOf(world, component);
  const service = entry?.speaks?.service;
  const engine = world.engineOf(place);
  const view = component.services.find(({ main }) => main) ?? component.services[0];
  const container = view?.containerId === undefined ? undefined : await engine.inspect(view.containerId, looking.signal);
  if (!entry || service === undefined || container?.state !== 'running') {
    throw new Fault({
      code: 'unreachable.component',
      message: `${id} is not running, and nothing can be asked of it or told to it.`,
      remedy: `Start it: quarterdeck start ${id}`,
    });
  }
  const cscli = cscliInContainer(engine, { containerId: container.id, shown: id, readOnly: looking.readOnly });
  const containers = new Map<string, ContainerDetail>([[service, container]]);
  const target: CallTarget = {
    entry,
    host: world.hostOf(place),
    engine,
    engineFacts: world.engineFactsOf(place),
    containers,
    execAllowed: true,
  };
  const port = entry.speaks?.port;
  const published = port === undefined ? 'It names no port.' : findAddress(target, port);
  const address = typeof published === 'string' ? undefined : published;
  const openApi = (signal: AbortSignal) => apiOf(cscli, target.host, address, { ...looking, signal });
  return { crowdsec: new Crowdsec(cscli, openApi), component, containerId: container.id };
}

async function onHost(world: FlowWorld, place: string, looking: Looking): Promise<Prevention> {
  const host = world.hostOf(place);
  const none = () =>
    new Fault({
      code: 'refused.noCrowdsec',
      message: `There is no CrowdSec on ${cleanLine(place)}: no container of it, and no cscli on the machine itself.`,
      remedy: 'Deploy it: quarterdeck deploy intrusion-prevention',
    });
  if (world.practice) throw none();
  const there = await host
    .exec(['sh', '-c', 'command -v cscli'], { signal: looking.signal, limitMs: lookLimitMs })
    .catch((thrown: unknown) => {
      looking.signal.throwIfAborted();
      if (thrown instanceof Fault) return undefined;
      throw thrown;
    });
  if (there?.exitCode !== 0) throw none();
  const { uid } = await host.facts(looking.signal);
  const cscli = cscliOnHost(host, { shown: `CrowdSec on ${cleanLine(place)}`, uid });
  return { crowdsec: new Crowdsec(cscli, (signal) => apiOf(cscli, host, undefined, { ...looking, signal })) };
}

/** Undefined where its login cannot be read or its address is not known: then `cscli` is asked. */
async function apiOf(
  cscli: CscliPlace,
  host: Host,
  published: CrowdsecApiPlace['address'] | undefined,
  { signal, readOnly, hide }: Looking,
): Promise<CrowdsecApi | undefined> {
  try {
    const file = await cscli.file(credentialsPath, signal);
    if (!file) return undefined;
    const own = parseMachineLogin(new TextDecoder().decode(file));
    if (!own) return undefined;
    hide(own.password);
    const place = placeOf(own.url, host, published, cscli.shown);
    return place && new CrowdsecApi(place, own, await versionOf(cscli, readOnly, signal));
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

function placeOf(url: string, host: Host, published: CrowdsecApiPlace['address'] | undefined, shown: string): CrowdsecApiPlace | undefined {
  if (!URL.canParse(url))
    return url.startsWith('/') && published === undefined ? { host, address: { socket: url }, tls: false, shown } : undefined;
  const parsed = new URL(url);
  const tls = parsed.protocol === 'https:';
  const usualPort = tls ? 443 : 80;
  const own = isHere.has(parsed.hostname);
  // In a container its own loopback is not the machine's: there the published port leads to it.
  if (own && published) return { host, address: published, tls, shown };
  if (own && !published && shown.startsWith('CrowdSec on '))
    return { host, address: { host: '127.0.0.1', port: Number(parsed.port) || usualPort, near: true }, tls, shown };
  if (own) return undefined;
  return {
    host,
    address: { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port) || usualPort, near: false },
    tls,
    shown,
  };
}

/** The server writes the client's version down as the machine's: the one that the engine itself has stays so. */
async function versionOf(cscli: CscliPlace, readOnly: boolean, signal: AbortSignal): Promise<string> {
  if (readOnly) return 'unknown';
  const { stdout, stderr } = await cscli.read(['version'], signal);
  return /version:?\s+(v?\d[\w.-]*)/.exec(`${stdout}\n${stderr}`)?.[1] ?? 'unknown';
}
