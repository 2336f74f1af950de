import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { serveApi } from '../../source/practice/engine/api-server.ts';
import { createContainer } from '../../source/practice/engine/create-container.ts';
import { Machine } from '../../source/practice/engine/machine.ts';

// Started by `served-engines.ts`: serves engines with that many running containers each, and says so. A Docker with 2,000 of them would need 20 GB.

const [, , folder = '', engines = '1', count = '0', silent = '0'] = process.argv;
const startedMs = Date.now() - 86_400_000;

async function serve(engine: number): Promise<void> {
  const home = join(folder, String(engine));
  mkdirSync(home);
  const machine = new Machine({ portsFolder: join(home, 'ports'), bootMs: startedMs, mountable: home });
  machine.images.add('busybox:latest', { createdMs: startedMs, sizeBytes: 4_260_000 });
  for (let number = 0; number < Number(count); number++) {
    const name = `bench-${String(number).padStart(5, '0')}`;
    const labels = { 'com.docker.compose.project': name, 'com.docker.compose.service': 'sleeper' };
    const container = createContainer(
      machine,
      { name, image: 'busybox:latest', entrypoint: [], command: [], labels },
      { createdMs: startedMs },
    );
    await machine.start(container, startedMs);
  }
  await serveApi(machine, { socket: join(home, 'engine.sock'), more: {} });
}

for (let engine = 0; engine < Number(engines); engine++) await serve(engine);
// They accept connections, and say nothing.
for (let engine = 0; engine < Number(silent); engine++)
  createServer((socket) => socket.resume()).listen(join(folder, `silent-${engine}.sock`));
console.log('serving');
