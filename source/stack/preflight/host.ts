import { parseImage } from '../../catalog/images.ts';
import { limited } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import { isLoopback } from '../../text/loopback.ts';
import { bytesText } from '../../text/quantities.ts';
import { blocking, type Finding, setTo, warning } from '../finding.ts';
import { run, text } from '../free-space.ts';
import { modelTooLarge } from '../model-memory.ts';
import { furtherNames } from '../plan/proxy-changes.ts';
import type { PreflightContext } from './context.ts';
import { modelsOf } from './values.ts';

export function* checkCompose({ composeTool, facts }: PreflightContext): Iterable<Finding> {
  if (composeTool?.refused) yield blocking('compose-sudo', composeTool.refused.message, composeTool.refused.remedy);
  if (composeTool) return;
  const packages = ' (package docker-compose-plugin, docker-compose-v2 or docker-compose)';
  const program = facts.kind === 'podman' ? 'podman-compose or the Docker Compose plugin' : `the Docker Compose plugin${packages}`;
  yield blocking('no-compose', 'The host has no compose command.', `Install ${program}.`);
}

const gibibyte = 1024 ** 3;
/** With less space, nothing can be pulled and databases stop; with less than `goodFreeBytes`, the next update may not fit. */
const leastFreeBytes = gibibyte / 2;
const goodFreeBytes = 5 * gibibyte;

export async function* checkDisk(context: PreflightContext): AsyncIterable<Finding> {
  const { plan, entry, host, facts } = context;
  const { home } = await context.hostFacts();
  const root = facts.rootFolder ?? usualRoot(facts, home);
  const spaces = await context.freeSpace([plan.stackFolder, root]);
  const pulls = plan.services.some(({ present }) => present !== true);
  // A deployed component already occupies its space.
  const wanted = context.deployment ? 0 : (sizeOf(entry.needs?.disk) ?? 0);
  const advice = 'Free disk space. To show disk usage: quarterdeck df. To remove unused items: quarterdeck prune';
  const filesystems = spaces.filter(({ mount }, index) => spaces.findIndex((other) => other.mount === mount) === index);
  for (const { path, freeBytes, mount } of filesystems) {
    const free = `${bytesText(freeBytes)} is free on ${cleanLine(mount)} (${cleanLine(host.name)})`;
    const isEngines = path === root || spaces.length === 1;
    if (freeBytes < leastFreeBytes) yield blocking(`disk:${mount}`, `Only ${free}.`, advice);
    else if (isEngines && freeBytes < wanted)
      yield blocking(`disk:${mount}`, `${free}, but ${entry.id} requires ${bytesText(wanted)}.`, advice);
    else if (isEngines && pulls && freeBytes < goodFreeBytes)
      yield warning(`disk:${mount}`, `Only ${free}; the size of the images is unknown until they are pulled.`, advice);
  }
}

function usualRoot({ kind, rootless }: PreflightContext['facts'], home: string): string {
  const folder = kind === 'docker' ? 'docker' : 'containers/storage';
  return rootless ? `${home}/.local/share/${folder}` : `/var/lib/${folder}`;
}

export async function* checkMemory(context: PreflightContext): AsyncIterable<Finding> {
  const { entry, values } = context;
  const { memoryBytes } = await context.hostFacts();
  const least = sizeOf(entry.needs?.memory) ?? 0;
  if (memoryBytes < least) {
    const message = `${entry.id} requires ${bytesText(least)} of memory; the host has ${bytesText(memoryBytes)}.`;
    yield warning('memory', message, 'Deploy the component on another host; on this one, it may be killed when memory runs out.');
  }
  for (const model of modelsOf(entry, values)) {
    const message = modelTooLarge(model, memoryBytes);
    if (message === undefined) continue;
    const advice = 'Use a smaller model: 7B requires about 8 GB, 13B about 16 GB, 70B about 40 GB.';
    yield warning('memory:model', message, advice, { rule: 'R78' });
  }
}

const engineNames: Readonly<Record<string, string>> = {
  x64: 'amd64',
  x86_64: 'amd64',
  arm64: 'arm64',
  aarch64: 'arm64',
  arm: 'arm',
  armv7l: 'arm',
  ia32: '386',
  riscv64: 'riscv64',
  ppc64: 'ppc64le',
  s390x: 's390x',
};

export async function* checkImages(context: PreflightContext): AsyncIterable<Finding> {
  const { entry, services } = context;
  const { architecture } = await context.hostFacts();
  const own = engineNames[architecture] ?? architecture;
  const references = [...new Set(services.map(({ image }) => image))].filter((image) => image !== '');
  const present = new Map(await Promise.all(references.map(async (reference) => [reference, await context.image(reference)] as const)));
  for (const { name, image } of services) {
    const annotation = entry.services.find((service) => service.name === name);
    const repository = parseImage(image)?.repository;
    const found = present.get(image)?.architecture;
    if (annotation?.irreplaceable !== undefined && repository !== undefined && !annotation.repositories.includes(repository)) {
      const message = `${cleanLine(image)} cannot replace ${annotation.image}: ${annotation.irreplaceable}.`;
      yield blocking(`image:${name}`, message, `Use ${annotation.image}, or another tag of the same repository.`, { rule: 'R30' });
    } else if (found && (engineNames[found] ?? found) !== own) {
      const message = `The image ${cleanLine(image)} on this host is for ${cleanLine(found)}, but the host is ${cleanLine(own)}.`;
      yield warning(`architecture:${name}`, message, 'The image runs slowly in an emulator, or not at all. Pull the image for this host.');
    } else if (!found && annotation?.architectures && !annotation.architectures.includes(own)) {
      const message = `${cleanLine(image)} is built for ${annotation.architectures.join(' and ')}, but the host is ${cleanLine(own)}.`;
      yield blocking(`architecture:${name}`, message, 'Deploy the component on another host.');
    }
  }
}

export async function* checkDevices({ services, host, signal }: PreflightContext): AsyncIterable<Finding> {
  const devices = services.flatMap((service) => service.devices).filter(({ host: path }) => path.startsWith('/dev/'));
  const wanted = devices.filter((device, index) => devices.findIndex(({ host: path }) => path === device.host) === index);
  const present = await Promise.all(wanted.map(({ host: path }) => limited(signal, 900, (limit) => host.files.facts(path, limit))));
  for (const { host: path, variables } of wanted.filter((_, index) => present[index] === undefined)) {
    const graphics = path.startsWith('/dev/dri');
    const rule = graphics ? 'R28' : undefined;
    const id = `device:${path}`;
    const message = `The host has no ${cleanLine(path)}${graphics ? ', so no graphics card can be used' : ''}.`;
    const remedy = setTo(variables[0], '/dev/null', 'Disable the device');
    const effect = graphics ? 'use the CPU instead' : 'disable the device';
    if (remedy) yield warning(id, message, `Set ${variables[0]}=/dev/null to ${effect}.`, { rule, remedy });
    else if (graphics)
      yield warning(id, message, 'Remove the device from compose.yaml, because a container does not start if a device is missing.', {
        rule,
      });
    else yield blocking(id, message, 'Load the driver of the device, or remove the device from compose.yaml.');
  }
}

/** A name server that does not respond would delay every plan by seconds. */
const nameLimitMs = 250;

export async function* checkName(context: PreflightContext): AsyncIterable<Finding> {
  const { plan, entry, values } = context;
  if (plan.site === '') return;
  const further = furtherNames(entry, values, plan.site).map(({ host }) => nameFinding(context, host, `dns:${host}`));
  for (const finding of await Promise.all([nameFinding(context, plan.site, 'dns'), ...further])) if (finding) yield finding;
}

async function nameFinding(context: PreflightContext, name: string, id: string): Promise<Finding | undefined> {
  const { host, signal } = context;
  const { addresses } = await context.hostFacts();
  if (addresses.includes(name)) return undefined;
  const site = cleanLine(name);
  const { exitCode, stdout } = await run(host, ['getent', 'ahosts', name], signal, nameLimitMs);
  const found = [...new Set([...text(stdout).matchAll(/^(\S+)\s/gm)].map(([, address = '']) => address))];
  if (exitCode !== 0 || found.length === 0) {
    const message = `The host cannot resolve ${site}, so browsers may not be able to resolve it either.`;
    return warning(id, message, `Add ${site} to your DNS or hosts file, with an address of this host.`, { rule: 'R10' });
  }
  if (found.some((address) => isLoopback(address) || addresses.includes(address))) return undefined;
  const message = `${site} points to ${cleanLine(found.slice(0, 3).join(', '))}, which is not an address of this host.`;
  const advice = 'This is correct if a router forwards ports 80 and 443 to this host; otherwise fix the DNS entry.';
  return warning(id, message, advice, { rule: 'R10' });
}

/** Converts `512MB` or `4GB` to bytes. */
function sizeOf(written: string | undefined): number | undefined {
  const [, count, unit] = /^(\d+)(MB|GB)$/.exec(written ?? '') ?? [];
  return count === undefined ? undefined : Number(count) * (unit === 'GB' ? gibibyte : 1024 ** 2);
}
