import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { durationMs } from '../text/quantities.ts';
import type { ComposeRun } from './compose/compose.ts';
import { serveApi } from './engine/api-server.ts';
import { Machine } from './engine/machine.ts';
import { Refusal, type Routes, readBody, sendJson, untilClosed } from './engine/request.ts';
import type { ComposeFolder, Practice, PracticeFacts, PracticeOptions, PracticeProduct } from './practice.ts';
import { openProducts } from './products.ts';
import { buildSimulation, type Simulation } from './simulation/build-simulation.ts';
import { type Incidents, openIncidents } from './simulation/incidents.ts';

/** Opens a practice stack on sockets in a folder that only its owner can enter. Nothing listens on the network. */
export async function openPractice({ folder, catalog, components, longestBootMs }: PracticeOptions): Promise<Practice> {
  const home = join(folder, 'home');
  await mkdir(home, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const machine = new Machine({ portsFolder: join(folder, 'ports'), bootMs: Date.now() - durationMs('41d'), mountable: home });
  const socket = join(folder, 'engine.sock');
  let closeApi = async () => {};
  const close = async () => {
    await closeApi().catch(() => undefined);
    await machine.close().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { products, cluster, keys } = await openProducts(folder);
    const stack = { components, cluster, stackFolder: join(home, 'stack'), longestBootMs };
    const simulation = await buildSimulation(machine, catalog, products, stack);
    const incidents = openIncidents(machine, simulation);
    closeApi = await serveApi(machine, { socket, more: practiceRoutes(machine, incidents, cluster) });
    const facts: PracticeFacts = {
      schema: 1,
      engine: `unix://${socket}`,
      products: addressesOf(machine, simulation),
      ...keys,
      incidents: incidents.all.map(({ name, title, summary }) => ({ name, title, summary })),
    };
    return { facts, deployed: simulation.deployed, adopt: (folders) => adoptFolders(machine, simulation, folders), close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function adoptFolders(machine: Machine, simulation: Simulation, folders: readonly ComposeFolder[]): Promise<void> {
  const { readProject } = await import('./compose/project.ts');
  for (const { component, folder, environment } of folders) {
    const { services } = await readProject({ folder, environment });
    for (const service of services) {
      const container = simulation.service(component, service.name)?.container;
      if (!container) continue;
      const { networks = [] } = service.request;
      for (const name of networks) if (!machine.networks.has(name)) machine.addNetwork(name, {}, container.createdMs);
      const labels = { ...container.spec.labels, 'com.docker.compose.config-hash': service.hash };
      Object.assign(container.spec, { labels, ...(networks.length > 0 && { networks }) });
    }
  }
}

/** What only a practice engine serves: incidents, the nodes of its cluster, listening ports, and its compose. */
function practiceRoutes(machine: Machine, incidents: Incidents, cluster: PracticeProduct): Routes {
  return {
    'POST /practice/incidents/:': async ({ name }) => {
      if (name === 'calm') return incidents.calm();
      const incident = incidents.all.find((known) => known.name === name);
      if (!incident) throw new Refusal(404, `There is no incident "${name}": ${incidents.all.map((known) => known.name).join(', ')}, calm`);
      await incident.play();
    },
    'POST /practice/nodes/:/run': async (request) => {
      const argv = request.query.getAll('argv');
      const missing = { exitCode: 127, stdout: '', stderr: `${argv[0] ?? ''}: command not found\n` };
      sendJson(request, (await cluster.onNode?.(request.name, argv)) ?? missing);
    },
    'GET /practice/listeners': (request) => {
      const listeners = machine.containers().flatMap(({ bound, state: { pid }, spec, program, name }) => {
        // On a network of its own, Docker's helper listens.
        const process = spec.networkMode === 'host' ? (program.processes?.[0]?.split(/[ /]/)[0] ?? name) : 'docker-proxy';
        return bound.map(({ hostIp, hostPort: port, protocol }) => ({ address: hostIp || '0.0.0.0', port, protocol, pid, name: process }));
      });
      sendJson(request, listeners);
    },
    /** Sends lines of `{"stdout": ...}` or `{"stderr": ...}`, the last one `{"exitCode": ...}`. */
    'POST /practice/compose': async ({ raw, response, machine }) => {
      const { runCompose } = await import('./compose/compose.ts');
      const { argv = [], folder = '/', environment = {} } = await readBody<Pick<ComposeRun, 'argv' | 'folder' | 'environment'>>(raw);
      const send = (line: object) => response.write(`${JSON.stringify(line)}\n`);
      const write = (text: string, stream: 'stdout' | 'stderr') => send({ [stream]: text });
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      send({ exitCode: await runCompose({ argv, folder, environment, machine, signal: untilClosed(response), write }) });
      response.end();
    },
  };
}

function addressesOf(machine: Machine, simulation: Simulation): PracticeFacts['products'] {
  const addresses: Record<string, { address: string; published: string }> = {};
  for (const { component, container } of simulation.services) {
    const { hostPort } =
      container.spec.ports.find((port) => port.hostPort && port.protocol === 'tcp' && container.program.listeners?.[port.containerPort]) ??
      {};
    if (hostPort) addresses[component] ??= { address: `unix://${machine.socketOf(hostPort)}`, published: `http://127.0.0.1:${hostPort}` };
  }
  return addresses;
}
