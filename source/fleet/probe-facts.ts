import type { CallAnswer } from '../calls/call.ts';
import type { ConditionFacts } from '../calls/conditions.ts';
import { publishedFor } from '../catalog/listening-port.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { cut } from '../text/width.ts';
import { exposureOf } from './ports.ts';
import type { ProbeTarget } from './probe-watch.ts';

const detailColumns = 400;
/** A shorter secret would hide every `1` of a message. */
const leastMaskedLength = 4;

/** Cleans and cuts texts, and masks credentials and the values of secret fields, which a response or a template can repeat (R2). */
export function sayingOf(
  { entry, containers }: ProbeTarget,
  credentials: readonly string[] = [],
): (text: string, columns?: number) => string {
  const names = new Set(entry.fields.filter(({ secret }) => secret).map(({ env, name }) => env ?? name));
  const own = [...containers.values()].flatMap(({ env }) => env.filter(([name]) => names.has(name)).map(([, value]) => value));
  const secrets = [...own, ...credentials].filter((value) => value.length >= leastMaskedLength);
  secrets.sort((one, other) => other.length - one.length);
  return (text, columns = detailColumns) =>
    cut(cleanLine(secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), text)), columns);
}

/** Returns the facts that conditions can use. Secret fields are left out; conditions may read their variables, to detect a weak one. */
export function factsOf(
  { entry, containers, hostAddresses, clockAheadMs = 0 }: ProbeTarget,
  calls: Record<string, CallAnswer>,
): ConditionFacts {
  const thereMs = Date.now() + clockAheadMs;
  const mainName = entry.services.find((service) => service.main)?.name ?? '';
  const main = containers.get(mainName);
  const uptime = (container: ContainerDetail | undefined) =>
    container?.startedMs === undefined ? 0 : Math.max(0, Math.floor((thereMs - container.startedMs) / 1000));
  const fields: Record<string, string> = {};
  const environments = [...containers.values()].map((container) => new Map(container.env));
  for (const field of entry.fields) {
    if (field.secret || field.target !== 'environment') continue;
    const value = environments.map((environment) => environment.get(field.env ?? field.name)).find((found) => found !== undefined);
    if (value !== undefined) fields[field.name] = value;
  }
  return {
    ageSeconds: uptime(main),
    env: Object.fromEntries(main?.env ?? []),
    fields,
    ports: entry.ports.map((port) => {
      const published = publishedFor(port, containers.get(port.service)?.ports ?? []);
      const exposures = published.map(({ address = '0.0.0.0' }) => exposureOf(address, hostAddresses));
      const exposure = exposures.includes('public')
        ? 'public'
        : exposures.some((exposure) => exposure !== 'loopback') || port.exposure === 'host-network'
          ? 'lan'
          : 'loopback';
      return { name: port.name, exposure, published: exposures.length > 0 };
    }),
    calls,
    services: Object.fromEntries(
      [...containers].map(([name, container]) => [name, { state: container.state, health: container.health, uptime: uptime(container) }]),
    ),
  };
}
