import { join } from 'node:path';
import { serveApi } from '../../source/practice/engine/api-server.ts';
import { createContainer } from '../../source/practice/engine/create-container.ts';
import { Machine } from '../../source/practice/engine/machine.ts';

// Started by `served-engine.ts`: serves an engine with that many running containers, and says so. A Docker with 2,000 of them would need 20 GB.

const [, , folder = '', count = '0'] = process.argv;
const startedMs = Date.now() - 86_400_000;
const machine = new Machine({ portsFolder: join(folder, 'ports'), bootMs: startedMs, mountable: folder });
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
await serveApi(machine, { socket: join(folder, 'engine.sock'), more: {} });
console.log('serving');
