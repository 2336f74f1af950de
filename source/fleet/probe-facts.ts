import type { CallAnswer } from '../calls/call.ts';
import type { ConditionFacts } from '../calls/conditions.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { cut } from '../text/width.ts';
import { exposureOf } from './ports.ts';
import type { ProbeTarget } from './probe-watch.ts';

const detailColumns = 400;
/** A shorter secret would hide every `1` of a sentence. */
const leastMaskedLength = 4;

/** How what a component says may be shown: cleaned, cut, and without the values of its secret fields, which an answer or a template can repeat (R2). */
export function sayingOf({ entry, containers }: ProbeTarget): (text: string, columns?: number) => string {
  const names = new Set(entry.fields.filter(({ secret }) => secret).map(({ env, name }) => env ?? name));
  const secrets = [...containers.values()].flatMap(({ env }) =>
    env.filter(([name, value]) => names.has(name) && value.length >= leastMaskedLength).map(([, value]) => value),
  );
  secrets.sort((one, other) => other.length - one.length);
  return (text, columns = detailColumns) =>
    cut(cleanLine(secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), text)), columns);
}

/** What conditions can ask about. Fields that are secret are left out; conditions may look at their variables, to tell a weak one. */
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
    if (field.secret || field.goes !== 'environment') continue;
    const value = environments.map((environment) => environment.get(field.env ?? field.name)).find((found) => found !== undefined);
    if (value !== undefined) fields[field.name] = value;
  }
  return {
    ageSeconds: uptime(main),
    env: Object.fromEntries(main?.env ?? []),
    fields,
    ports: entry.ports.map((port) => {
      const published = containers
        .get(port.service)
        ?.ports.filter(
          (candidate) =>
            candidate.containerPort === port.container && candidate.protocol === port.protocol && candidate.hostPort !== undefined,
        );
      const exposures = (published ?? []).map((candidate) => exposureOf(candidate.address ?? '0.0.0.0', hostAddresses));
      const exposure = exposures.includes('public')
        ? 'public'
        : exposures.some((one) => one !== 'loopback') || port.exposure === 'host-network'
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
