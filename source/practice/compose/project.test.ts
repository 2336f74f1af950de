import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readProject } from './project.ts';

test('services that wait for each other are refused as compose refuses them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'project-'));
  const text = 'services:\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: {a: {condition: service_healthy}}}\n';
  await writeFile(join(folder, 'compose.yaml'), text);
  // The words of docker compose 2.40.
  await expect(readProject({ folder, environment: {} })).rejects.toThrow('dependency cycle detected: a -> b -> a');
  await rm(folder, { recursive: true });
});

test('the environment wins over .env; networks and volumes have the name of the project', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'project-'));
  const text = `services:
  a:
    image: x:\${TAG:?which}
    environment: [BARE, "SET=a=b"]
    ports: ["127.0.0.1:\${PORT}:80/udp"]
    volumes: ["data:/data", "./files:/etc/x:ro"]
  b: {image: y, profiles: [extra]}
volumes: {data: {}}
`;
  await writeFile(join(folder, 'compose.yaml'), text);
  await writeFile(join(folder, '.env'), 'PORT=81\nTAG="7"\nBARE=\'of the file\'\n');
  const { services, networks, volumes } = await readProject({ folder, name: 'shop', environment: { PORT: '82' } });
  expect(services.map(({ name }) => name)).toEqual(['a']);
  expect(services[0]?.request).toMatchObject({
    image: 'x:7',
    environment: { BARE: 'of the file', SET: 'a=b' },
    ports: [{ hostIp: '127.0.0.1', hostPort: 82, containerPort: 80, protocol: 'udp' }],
    mounts: [
      { type: 'volume', name: 'shop_data', target: '/data', readOnly: false },
      { type: 'bind', source: join(folder, 'files'), target: '/etc/x', readOnly: true },
    ],
    networks: ['shop_default'],
  });
  expect([networks, volumes]).toEqual([
    [{ key: 'default', name: 'shop_default', external: false }],
    [{ key: 'data', name: 'shop_data', external: false }],
  ]);
  await expect(readProject({ folder, environment: { TAG: '' } })).rejects.toThrow(
    'error while interpolating services.a.image: required variable TAG is missing a value: which',
  );
  await rm(folder, { recursive: true });
});
