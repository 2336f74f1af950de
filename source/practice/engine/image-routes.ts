import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { momentText } from './durations.ts';
import { familiar, repositoryOf, withTag } from './images.ts';
import { type EngineRequest, isSet, Refusal, type Routes, sendJson, sendNothing } from './request.ts';

const stepMs = 60;
const stepsOfLayer = 6;

export const imageRoutes: Routes = {
  'GET /images/json': (request) => sendJson(request, listedImages(request)),
  'GET /images/::/json': (request) => {
    const image = request.machine.images.image(request.name);
    sendJson(request, {
      Id: image.id,
      RepoTags: image.tags,
      RepoDigests: image.digests,
      Created: momentText(image.createdMs),
      Architecture: 'amd64',
      Os: 'linux',
      Size: image.sizeBytes,
      Config: {
        Env: Object.entries(image.environment).map(([name, value]) => `${name}=${value}`),
        Cmd: image.command,
        Entrypoint: image.entrypoint,
        ExposedPorts: Object.fromEntries(image.exposed.map((port) => [port, {}])),
        Labels: image.labels,
      },
    });
  },
  'GET /distribution/::/json': (request) => {
    const name = familiar(withTag(request.name));
    if (isNowhere(name)) throw new Refusal(401, `${deniedFor(name)}: access to the resource is denied`);
    sendJson(request, { Descriptor: { digest: request.machine.images.registryDigest(name) } });
  },
  'POST /images/create': createImage,
  'POST /images/::/tag': (request) => {
    const { machine, name, query } = request;
    machine.images.tag(machine.images.image(name), `${query.get('repo')}:${query.get('tag') || 'latest'}`);
    sendNothing(request, 201);
  },
  'DELETE /images/::': (request) => {
    const { machine, name, query } = request;
    const image = machine.images.image(name);
    const tag = image.tags.find((one) => one === familiar(withTag(name)));
    if (image.tags.length > 1 && tag) {
      image.tags = image.tags.filter((one) => one !== tag);
      return sendJson(request, [{ Untagged: tag }]);
    }
    const user = machine.containers().find(({ spec }) => spec.imageId === image.id);
    if (user && (user.isUp || !isSet(query.get('force')))) {
      const force = user.isUp ? 'cannot be forced' : 'must be forced';
      const use = `container ${user.hostname} is using its referenced image ${image.id.slice(7, 19)}`;
      throw new Refusal(409, `conflict: unable to remove repository reference "${name}" (${force}) - ${use}`);
    }
    machine.images.remove(image);
    machine.events.tell('image', 'delete', image.id, { name: image.id });
    sendJson(request, [...image.tags.map((one) => ({ Untagged: one })), { Deleted: image.id }]);
  },
};

export function listedImages({ machine }: EngineRequest) {
  return machine.images.all().map(({ id, tags, digests, createdMs, sizeBytes, labels }) => ({
    Id: id,
    RepoTags: tags,
    RepoDigests: digests,
    Created: Math.floor(createdMs / 1000),
    Size: sizeBytes,
    SharedSize: 0,
    Labels: labels,
    Containers: machine.containers().filter(({ spec }) => spec.imageId === id).length,
  }));
}

async function createImage(request: EngineRequest): Promise<void> {
  const { query, raw, response, machine } = request;
  raw.resume();
  const send = (line: object) => response.write(`${JSON.stringify(line)}\r\n`);
  response.writeHead(200, { 'Content-Type': 'application/json' });
  if (query.get('fromSrc') !== null) {
    // The practice engine keeps no layers: only the labels of the request count.
    const labels = query.getAll('changes').flatMap((change) => {
      const [, name, value = ''] = /^LABEL ([^=]+)=(.*)$/.exec(change) ?? [];
      return name === undefined ? [] : [[name, value.replace(/^"|"$/g, '')]];
    });
    machine.images.load(query.get('repo') ?? undefined, { labels: Object.fromEntries(labels) });
  } else await pull(request, send);
  response.end();
}

async function pull({ query, response, machine }: EngineRequest, send: (line: object) => unknown): Promise<void> {
  const [from, tag] = [query.get('fromImage') ?? '', query.get('tag') ?? ''];
  const name = familiar(withTag(tag === '' ? from : `${from}${tag.startsWith('sha256:') ? '@' : ':'}${tag}`));
  const repository = repositoryOf(name);
  send({ status: `Pulling from ${repository.includes('/') ? repository : `library/${repository}`}`, id: tag || 'latest' });
  if (isNowhere(name)) {
    send({ errorDetail: { message: `${deniedFor(name)}: denied: requested access to the resource is denied` } });
    return;
  }
  const isCurrent = machine.images.isCurrent(name);
  if (!isCurrent) await pullLayers(name, send, () => response.closed);
  if (response.closed) return;
  // An image of a system has no program of its own: it runs a shell, and ends with it.
  const isSystem = /^(?:busybox|alpine|debian|ubuntu)(?:[:@]|$)/.test(name);
  machine.images.add(name, { createdMs: Date.now() - 86_400_000, command: isSystem ? ['sh'] : [] });
  send({ status: `Status: ${isCurrent ? 'Image is up to date' : 'Downloaded newer image'} for ${name}` });
  machine.events.tell('image', 'pull', name, { name: repository });
}

/** Names that no registry has. */
const isNowhere = (name: string): boolean => /no-such-image|nonexistent|does-not-exist/.test(name);

function deniedFor(name: string): string {
  return `pull access denied for ${repositoryOf(name)}, repository does not exist or may require 'docker login'`;
}

async function pullLayers(name: string, send: (line: object) => unknown, isClosed: () => boolean): Promise<void> {
  const digest = createHash('sha256').update(name).digest();
  const layers = [0, 1, 2, 3].map((index) => ({
    id: digest.toString('hex', index * 6, index * 6 + 6),
    total: ((digest[index] ?? 0) + 1) * 120_000,
  }));
  for (const { id } of layers) send({ status: 'Pulling fs layer', progressDetail: {}, id });
  const phases = { Downloading: 'Download complete', Extracting: 'Pull complete' };
  for (const [status, completed] of Object.entries(phases)) {
    for (let step = 1; step <= stepsOfLayer && !isClosed(); step++) {
      await wait(stepMs);
      for (const { id, total } of layers) send({ status, progressDetail: { current: (total * step) / stepsOfLayer, total }, id });
    }
    for (const { id } of layers) send({ status: completed, progressDetail: {}, id });
  }
}
