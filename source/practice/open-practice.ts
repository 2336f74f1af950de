import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { serveApi } from './engine/api-server.ts';
import { Machine } from './engine/machine.ts';
import { Refusal } from './engine/refusal.ts';
import { type Routes, sendJson, sendNothing } from './engine/request.ts';
import type { ComposeFolder, Practice, PracticeFacts, PracticeOptions, PracticeProduct } from './practice.ts';
import { openProducts } from './products.ts';
import { buildWorld, type World } from './world/build-world.ts';
import { Incidents } from './world/incidents.ts';
import { days } from './world/part.ts';

/**
 * Opens a practice stack: an engine, a dozen components and what plays behind them, over sockets in a folder that only its owner can enter.
 * Nothing listens on the network.
 */
export async function openPractice({ folder, catalog }: PracticeOptions): Promise<Practice> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const machine = new Machine({ portsFolder: join(folder, 'ports'), bootMs: Date.now() - days(41), ownFolder: join(folder, 'home') });
  const socket = join(folder, 'engine.sock');
  const closing: (() => Promise<void>)[] = [() => machine.close()];
  const close = async () => {
    for (const end of closing.reverse().splice(0)) await end().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const products = await openProducts(folder);
    closing.push(() => products.close());
    const world = await buildWorld(machine, catalog, products, join(folder, 'home', 'stack'));
    const incidents = new Incidents(machine, world, products.all);
    const api = await serveApi(machine, { socket, more: practiceRoutes(machine, incidents, products.cluster) });
    closing.push(() => api.close());
    const facts: PracticeFacts = {
      schema: 1,
      engine: `unix://${socket}`,
      products: addressesOf(machine, world),
      ...products.keys,
      incidents: incidents.all.map(({ name, title, summary }) => ({ name, title, summary })),
    };
    return { facts, deployed: world.deployed, madeFrom: (folders) => markAsMadeFrom(machine, world, folders), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function markAsMadeFrom(machine: Machine, world: World, folders: readonly ComposeFolder[]): Promise<void> {
  const { readProject } = await import('./compose/project.ts');
  for (const { component, folder, environment } of folders) {
    const project = await readProject({ folder, file: 'compose.yaml', name: undefined, environment });
    for (const service of project.services) {
      const container = world.actor(component, service.name)?.container;
      if (!container) continue;
      const own = service.networks.map(({ name }) => name);
      for (const name of own) if (!machine.networks.has(name)) machine.addNetwork(name, {}, container.createdMs);
      machine.amend(container, {
        labels: { ...container.spec.labels, 'com.docker.compose.config-hash': service.hash },
        ...(own.length > 0 && { networks: own }),
      });
    }
  }
}

/** What only a practice engine answers: incidents, the nodes of its cluster, and the sockets that a real machine would have. */
function practiceRoutes(machine: Machine, incidents: Incidents, cluster: PracticeProduct | undefined): Routes {
  return {
    'GET /practice/incidents': (request) =>
      sendJson(
        request,
        incidents.all.map(({ name, title, summary }) => ({ name, title, summary })),
      ),
    'POST /practice/incidents/:': async (request) => {
      const name = request.parts[0] ?? '';
      if (name === 'calm') await incidents.calm();
      else {
        const incident = incidents.all.find((one) => one.name === name);
        if (!incident) throw new Refusal(404, `There is no incident "${name}": ${incidents.all.map((one) => one.name).join(', ')}, calm`);
        await incident.play();
      }
      sendNothing(request);
    },
    'DELETE /practice/incidents/:': async (request) => {
      await incidents.calm();
      sendNothing(request);
    },
    'POST /practice/nodes/:/run': async (request) => {
      const argv = request.query.getAll('argv');
      const missing = { exitCode: 127, stdout: '', stderr: `${argv[0] ?? ''}: command not found\n` };
      sendJson(request, (await cluster?.onNode?.(request.parts[0] ?? '', argv)) ?? missing);
    },
    'GET /practice/listeners': (request) =>
      sendJson(
        request,
        machine.containers().flatMap((container) =>
          container.bound.map(({ hostIp, hostPort, protocol }) => ({
            address: hostIp || '0.0.0.0',
            port: hostPort,
            protocol,
            pid: container.state.pid,
            // With a network of its own it is Docker's helper that listens.
            name:
              container.spec.networkMode === 'host'
                ? (container.program.processes?.[0]?.split(/[ /]/)[0] ?? container.name)
                : 'docker-proxy',
          })),
        ),
      ),
  };
}

/** By component, its main port. */
function addressesOf(machine: Machine, world: World): PracticeFacts['products'] {
  const addresses: Record<string, { address: string; published: string }> = {};
  for (const { component, container } of world.actors) {
    const first = container.spec.ports.find(
      ({ hostPort, protocol, containerPort }) => hostPort && protocol === 'tcp' && container.program.listeners?.[containerPort],
    );
    if (!first?.hostPort || addresses[component]) continue;
    addresses[component] = { address: `unix://${machine.doors.pathOf(first.hostPort)}`, published: `http://127.0.0.1:${first.hostPort}` };
  }
  return addresses;
}
