import { parseImage } from '../catalog/images.ts';
import { limited } from '../faults/waits.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import type { Finding } from './finding.ts';
import { run, text } from './free-space.ts';
import { blocking, type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';
import { modelMemoryBytes, modelSize, modelsOf } from './preflight-values.ts';
import { furtherNames } from './proxy-changes.ts';

/** What the host has to have: room, memory, the right processor, devices, a name. */
export const hostChecks: readonly PreflightCheck[] = [
  { id: 'compose', what: 'A compose command', run: checkCompose },
  { id: 'disk', what: 'Free space on the host', run: checkDisk },
  { id: 'memory', what: 'Memory of the host', run: checkMemory },
  { id: 'images', what: 'Images on the host', run: checkImages },
  { id: 'devices', what: 'Devices of the host', run: checkDevices },
  { id: 'dns', what: 'Name of the site', run: checkName },
];

function checkCompose({ composeTool, facts }: PreflightContext): Finding[] {
  if (composeTool?.refused) return [blocking('compose-sudo', composeTool.refused.message, composeTool.refused.remedy)];
  if (composeTool) return [];
  return [
    blocking(
      'no-compose',
      'The host has no compose command.',
      facts.kind === 'podman'
        ? 'Install podman-compose, or the compose plugin of Docker.'
        : 'Install the compose plugin of Docker: the package docker-compose-plugin, docker-compose-v2 or docker-compose.',
    ),
  ];
}

const gibibyte = 1024 ** 3;
/** With less nothing can be pulled and databases stop; with less than the second, the next update may not fit. */
const leastFreeBytes = gibibyte / 2;
const goodFreeBytes = 5 * gibibyte;

async function checkDisk(context: PreflightContext): Promise<Finding[]> {
  const { plan, entry, host, facts } = context;
  const { home } = await context.hostFacts();
  const root = facts.rootFolder ?? usualRoot(facts, home);
  const spaces = await context.freeSpace([plan.stackFolder, root]);
  const pulls = plan.services.some(({ present }) => present !== true);
  // What stands has taken its room already.
  const wanted = context.deployment ? 0 : (sizeOf(entry.needs?.disk) ?? 0);
  const seen = new Set<string>();
  return spaces.flatMap(({ path, freeBytes, mount }): Finding[] => {
    if (seen.has(mount)) return [];
    seen.add(mount);
    const forEngine = path === root;
    const where = `${cleanLine(mount)} of ${cleanLine(host.name)}`;
    const said = `${bytesText(freeBytes)} are free on ${where}`;
    const advice = 'Make room: quarterdeck df shows what takes it, quarterdeck prune what can go.';
    if (freeBytes < leastFreeBytes) return [blocking(`disk:${mount}`, `Only ${said}.`, advice)];
    if (!forEngine && spaces.length > 1) return [];
    if (freeBytes < wanted) return [blocking(`disk:${mount}`, `${said}, and ${entry.id} needs ${bytesText(wanted)}.`, advice)];
    if (pulls && freeBytes < goodFreeBytes)
      return [warning(`disk:${mount}`, `Only ${said}; how large the images are is known when they are pulled.`, advice)];
    return [];
  });
}

function usualRoot({ kind, rootless }: PreflightContext['facts'], home: string): string {
  const folder = kind === 'docker' ? 'docker' : 'containers/storage';
  return rootless ? `${home}/.local/share/${folder}` : `/var/lib/${folder}`;
}

async function checkMemory(context: PreflightContext): Promise<Finding[]> {
  const { entry, values } = context;
  const { memoryBytes } = await context.hostFacts();
  const findings: Finding[] = [];
  const least = sizeOf(entry.needs?.memory) ?? 0;
  if (memoryBytes < least)
    findings.push(
      warning(
        'memory',
        `${entry.id} needs ${bytesText(least)} of memory; the host has ${bytesText(memoryBytes)}.`,
        'Deploy it on another host, or expect it to be ended for lack of memory.',
      ),
    );
  for (const model of modelsOf(entry, values)) {
    const size = modelSize(model);
    if (size === undefined || memoryBytes >= modelMemoryBytes(size)) continue;
    findings.push(
      warning(
        'memory:model',
        `The model ${cleanLine(model)} needs about ${bytesText(modelMemoryBytes(size))} of memory; the host has ${bytesText(memoryBytes)}.`,
        'Use a smaller model: 7B needs about 8 GB, 13B about 16 GB, 70B about 40 GB.',
        { rule: 'R78' },
      ),
    );
  }
  return findings;
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

async function checkImages(context: PreflightContext): Promise<Finding[]> {
  const { entry, project } = context;
  const { architecture } = await context.hostFacts();
  const own = engineNames[architecture] ?? architecture;
  const references = [...new Set(project.services.map(({ image }) => image))].filter((image) => image !== '');
  const made = new Map(await Promise.all(references.map(async (reference) => [reference, await context.image(reference)] as const)));
  return project.services.flatMap(({ name, image }): Finding[] => {
    const annotation = entry.services.find((service) => service.name === name);
    const repository = parseImage(image)?.repository;
    if (annotation?.irreplaceable !== undefined && repository !== undefined && !annotation.repositories.includes(repository))
      return [
        blocking(
          `image:${name}`,
          `${cleanLine(image)} cannot take the place of ${annotation.image}: ${annotation.irreplaceable}.`,
          `Use ${annotation.image}, or another image of the same make.`,
          { rule: 'R30' },
        ),
      ];
    const found = made.get(image)?.architecture;
    if (found !== undefined && found !== '' && (engineNames[found] ?? found) !== own)
      return [
        warning(
          `architecture:${name}`,
          `The image ${cleanLine(image)} on this host is for ${cleanLine(found)}, the host is ${cleanLine(own)}.`,
          'It runs slowly through an emulator, or not at all: pull the one for this host.',
        ),
      ];
    if (annotation?.architectures && !annotation.architectures.includes(own))
      return [
        blocking(
          `architecture:${name}`,
          `${cleanLine(image)} is made for ${annotation.architectures.join(' and ')}, the host is ${cleanLine(own)}.`,
          'Deploy it on another host.',
        ),
      ];
    return [];
  });
}

async function checkDevices({ project, host, signal }: PreflightContext): Promise<Finding[]> {
  const wanted = project.services.flatMap(({ devices }) => devices).filter(({ host: path }) => path.startsWith('/dev/'));
  const there = await Promise.all(wanted.map(({ host: path }) => limited(signal, 900, (limit) => host.files.facts(path, limit))));
  const seen = new Set<string>();
  return wanted.flatMap(({ host: path, variables }, index): Finding[] => {
    if (there[index] !== undefined || seen.has(path)) return [];
    seen.add(path);
    const [variable] = variables;
    const graphics = path.startsWith('/dev/dri');
    const id = `device:${path}`;
    const message = `The host has no ${cleanLine(path)}${graphics ? ', so nothing is computed on a graphics card' : ''}.`;
    if (variable !== undefined)
      return [
        warning(id, message, `Set ${variable}=/dev/null: ${graphics ? 'the processor does the work then' : 'it does without then'}.`, {
          ...(graphics && { rule: 'R28' }),
          remedy: { kind: 'set', label: 'Do without it', values: { [variable]: '/dev/null' } },
        }),
      ];
    return graphics
      ? [
          warning(id, message, 'Remove the device from compose.yaml: the engine refuses to start with one that is missing.', {
            rule: 'R28',
          }),
        ]
      : [blocking(id, message, 'Load its driver, or remove the device from compose.yaml.')];
  });
}

/** A name server that does not answer would keep everybody waiting for seconds. */
const nameLimitMs = 250;

async function checkName(context: PreflightContext): Promise<Finding[]> {
  const { plan, entry, values } = context;
  if (plan.site === '') return [];
  const further = furtherNames(entry, values, plan.site).map(({ host }) => nameFindings(context, host, `dns:${host}`));
  return (await Promise.all([nameFindings(context, plan.site, 'dns'), ...further])).flat();
}

async function nameFindings(context: PreflightContext, name: string, id: string): Promise<Finding[]> {
  const { host, signal } = context;
  const { addresses } = await context.hostFacts();
  if (addresses.includes(name)) return [];
  const site = cleanLine(name);
  const { exitCode, stdout } = await run(host, ['getent', 'ahosts', name], signal, nameLimitMs);
  const found = [
    ...new Set(
      text(stdout)
        .split('\n')
        .flatMap((line) => /^(\S+)\s/.exec(line)?.[1] ?? []),
    ),
  ];
  if (exitCode !== 0 || found.length === 0)
    return [
      warning(
        id,
        `The host does not know the name ${site}, so browsers may not find it either.`,
        `Let the name servers of your network, or the hosts file, point ${site} to this host.`,
        { rule: 'R10' },
      ),
    ];
  if (found.some((address) => addresses.includes(address))) return [];
  return [
    warning(
      id,
      `${site} points to ${cleanLine(found.slice(0, 3).join(', '))}, which is no address of this host.`,
      'That is right behind a router that forwards ports 80 and 443 to it; otherwise correct the name.',
      { rule: 'R10' },
    ),
  ];
}

/** `512MB`, `4GB` in bytes. */
function sizeOf(written: string | undefined): number | undefined {
  const [, count, unit] = /^(\d+)(MB|GB)$/.exec(written ?? '') ?? [];
  return count === undefined ? undefined : Number(count) * (unit === 'GB' ? gibibyte : 1024 ** 2);
}
