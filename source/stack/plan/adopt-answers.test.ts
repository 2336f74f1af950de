import { join } from 'node:path';
import { expect, it } from 'vitest';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { ContainerDetail, PublishedPort } from '../../engine/engine.ts';
import { readComponentSource } from '../component-source.ts';
import { answersOfContainers } from './answers.ts';

function container(env: Record<string, string>, ports: PublishedPort[], mounts: Record<string, string>): ContainerDetail {
  return {
    id: 'x',
    name: 'x',
    image: 'x',
    imageId: 'x',
    createdMs: 0,
    state: 'running',
    health: 'none',
    statusText: '',
    ports,
    labels: {},
    networkMode: '',
    networkAddresses: [],
    exitCode: undefined,
    startedMs: undefined,
    finishedMs: undefined,
    restartCount: 0,
    restartPolicy: 'always',
    outOfMemory: false,
    error: '',
    stoppedByUser: undefined,
    tty: false,
    env: Object.entries(env),
    mounts: Object.entries(mounts).map(([target, source]) => ({ kind: 'volume', source, target, readOnly: false })),
    devices: [],
    healthOutputs: [],
    argv: [],
    networks: [],
    endpoints: [],
    exposed: [],
    raw: {},
  };
}

it('reads values, secrets and ports out of running containers, and guesses nothing', async () => {
  const entry = (await wholeCatalog()).entries.find(({ id }) => id === 'rss-reader');
  if (!entry) throw new Error('no rss-reader');
  const source = await readComponentSource(entry, join(process.cwd(), 'catalog'));
  const db = { POSTGRES_DB: 'miniflux', POSTGRES_USER: 'miniflux', POSTGRES_PASSWORD: 'p4ss:w@rd' };
  const reader = {
    DATABASE_URL: 'postgres://miniflux:p4ss:w@rd@db/miniflux?sslmode=disable',
    ADMIN_USERNAME: 'admin',
    ADMIN_PASSWORD: 'typed-once',
    BASE_URL: 'https://news.example',
    PATH: '/bin',
  };
  const web: PublishedPort = { address: '0.0.0.0', hostPort: 9999, containerPort: 8080, protocol: 'tcp' };
  const adopted = answersOfContainers(entry, source, {
    reader: container(reader, [web], {}),
    db: container(db, [], { '/var/lib/postgresql/data': 'news_data' }),
  });
  expect(adopted.secrets).toEqual({ DB_PASSWORD: 'p4ss:w@rd', ADMIN_PASSWORD: 'typed-once' });
  expect(adopted.values).toEqual({ WEB_PORT: '9999', BASE_URL: 'https://news.example' });

  const other = answersOfContainers(entry, source, {
    reader: container({ ...reader, DATABASE_URL: 'postgres://elsewhere/db' }, [], {}),
    db: container({ ...db, POSTGRES_PASSWORD: 'another' }, [], {}),
  });
  expect(other).toEqual({
    values: { BASE_URL: 'https://news.example' },
    secrets: { DB_PASSWORD: 'another', ADMIN_PASSWORD: 'typed-once' },
  });
});
