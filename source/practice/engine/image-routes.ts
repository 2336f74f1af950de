import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { momentText } from './durations.ts';
import { labelsMatch, readFilters } from './filters.ts';
import { familiar, withTag } from './images.ts';
import { Refusal } from './refusal.ts';
import { type EngineRequest, isSet, type Routes, sendJson, sendNothing } from './request.ts';

const stepMs = 60;

export const imageRoutes: Routes = {
  'GET /images/json': (request) => {
    const { machine, query, minor } = request;
    const filters = readFilters(query.get('filters'), ['before', 'dangling', 'label', 'reference', 'since', 'until']);
    const [dangling] = filters.get('dangling') ?? [];
    const found = machine.images
      .all()
      .filter(
        (image) =>
          labelsMatch(filters.get('label'), image.labels) &&
          (dangling === undefined || (image.tags.length === 0) === isSet(dangling)) &&
          (!filters.has('reference') ||
            (filters.get('reference') ?? []).some((name) => image.tags.some((tag) => tag === withTag(name) || tag.startsWith(`${name}:`)))),
      );
    sendJson(
      request,
      found.map((image) => ({
        Id: image.id,
        ParentId: '',
        RepoTags: image.tags,
        RepoDigests: image.digests,
        Created: Math.floor(image.createdMs / 1000),
        Size: image.sizeBytes,
        SharedSize: -1,
        Labels: Object.keys(image.labels).length === 0 ? null : image.labels,
        Containers: minor >= 51 ? machine.containers().filter(({ spec }) => spec.imageId === image.id).length : -1,
      })),
    );
  },
  'GET /images/::/json': (request) => {
    const image = request.machine.images.image(request.parts[0] ?? '');
    sendJson(request, {
      Id: image.id,
      RepoTags: image.tags,
      RepoDigests: image.digests,
      Comment: '',
      Created: momentText(image.createdMs),
      Author: '',
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
      GraphDriver: { Name: 'overlay2', Data: {} },
      RootFS: { Type: 'layers', Layers: [`sha256:${image.id.slice(7)}`] },
      Metadata: { LastTagTime: momentText(image.createdMs) },
    });
  },
  'GET /images/::/history': (request) => {
    const image = request.machine.images.image(request.parts[0] ?? '');
    sendJson(request, [
      {
        Id: image.id,
        Created: Math.floor(image.createdMs / 1000),
        CreatedBy: 'practice',
        Tags: image.tags,
        Size: image.sizeBytes,
        Comment: '',
      },
    ]);
  },
  'GET /distribution/::/json': (request) => {
    const name = familiar(withTag(request.parts[0] ?? ''));
    if (isNowhere(name)) throw new Refusal(401, `${deniedFor(name)}: access to the resource is denied`);
    sendJson(request, {
      Descriptor: {
        mediaType: 'application/vnd.oci.image.index.v1+json',
        digest: request.machine.images.registryDigest(name),
        size: 1_609,
      },
      Platforms: [{ architecture: 'amd64', os: 'linux' }],
    });
  },
  'POST /images/create': createImage,
  'POST /images/::/tag': (request) => {
    const image = request.machine.images.image(request.parts[0] ?? '');
    request.machine.images.tag(image, `${request.query.get('repo')}:${request.query.get('tag') || 'latest'}`);
    sendNothing(request, 201);
  },
  'DELETE /images/::': (request) => {
    const { machine, parts, query } = request;
    const name = parts[0] ?? '';
    const image = machine.images.image(name);
    const users = machine.containers().filter(({ spec }) => spec.imageId === image.id);
    const [user] = users;
    const tag = image.tags.find((one) => one === familiar(withTag(name)));
    if (image.tags.length > 1 && tag) {
      image.tags = image.tags.filter((one) => one !== tag);
      return sendJson(request, [{ Untagged: tag }]);
    }
    if (user && (user.isUp || !isSet(query.get('force')))) {
      const how = user.isUp
        ? `cannot be forced) - container ${user.hostname} is using its referenced image`
        : `must be forced) - container ${user.hostname} is using its referenced image`;
      throw new Refusal(409, `conflict: unable to remove repository reference "${name}" (${how} ${image.id.slice(7, 19)}`);
    }
    machine.images.remove(image);
    machine.events.tell('image', 'delete', image.id, { name: image.id }, machine.now());
    sendJson(request, [...image.tags.map((one) => ({ Untagged: one })), { Deleted: image.id }]);
  },
  'POST /images/prune': (request) => {
    const { machine, query } = request;
    const [dangling = 'true'] = readFilters(query.get('filters'), ['dangling', 'label', 'until']).get('dangling') ?? [];
    const gone = machine.images
      .all()
      .filter(
        (image) => (!isSet(dangling) || image.tags.length === 0) && !machine.containers().some(({ spec }) => spec.imageId === image.id),
      );
    for (const image of gone) machine.images.remove(image);
    sendJson(request, {
      ImagesDeleted: gone.length === 0 ? null : gone.map(({ id }) => ({ Deleted: id })),
      SpaceReclaimed: gone.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
    });
  },
};

async function createImage(request: EngineRequest): Promise<void> {
  const { query, raw, response, machine } = request;
  if (query.get('fromSrc') !== null) {
    for await (const _ of raw) {
      // The practice engine keeps no layers: only what the request says of the image counts.
    }
    const changes = query.getAll('changes').map((change) => /^LABEL ([^=]+)=(.*)$/.exec(change));
    const labels = Object.fromEntries(
      changes.flatMap((change) => (change ? [[change[1] ?? '', (change[2] ?? '').replace(/^"|"$/g, '')]] : [])),
    );
    const image = machine.images.load(
      query.get('repo') ? withTag(`${query.get('repo')}${query.get('tag') ? `:${query.get('tag')}` : ''}`) : undefined,
      { labels },
    );
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(`${JSON.stringify({ status: image.id })}\r\n`);
    return;
  }
  raw.resume();
  const from = query.get('fromImage') ?? '';
  const tag = query.get('tag') ?? '';
  const name = familiar(withTag(tag === '' ? from : tag.startsWith('sha256:') ? `${from}@${tag}` : `${from}:${tag}`));
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const send = (line: object) => response.write(`${JSON.stringify(line)}\r\n`);
  if (from === '') return void response.end(`${JSON.stringify({ errorDetail: { message: 'invalid reference format' } })}\r\n`);
  if (isNowhere(name)) {
    const repository = name.replace(/:[^/:]*$/, '');
    const message = `${deniedFor(name)}: denied: requested access to the resource is denied`;
    send({ status: `Pulling from ${repository.includes('/') ? repository : `library/${repository}`}`, id: tag || 'latest' });
    await wait(stepMs);
    send(request.minor >= 48 ? { errorDetail: { message } } : { errorDetail: { message }, error: message });
    response.end();
    return;
  }
  const known = machine.images.isCurrent(name);
  send({
    status: `Pulling from ${name.includes('/') ? name.replace(/:[^/:]*$/, '') : `library/${name.replace(/:[^/:]*$/, '')}`}`,
    id: tag || 'latest',
  });
  if (!known) await pullLayers(name, send, () => response.closed);
  if (response.closed) return;
  machine.images.add(name, { createdMs: machine.now() - 86_400_000, command: isSystem(name) ? ['sh'] : [] });
  send({ status: `Digest: ${machine.images.registryDigest(name)}` });
  send({ status: `Status: ${known ? 'Image is up to date' : 'Downloaded newer image'} for ${name}` });
  machine.events.tell('image', 'pull', name, { name: name.replace(/:[^/:]*$/, '') }, machine.now());
  response.end();
}

/** Names that no registry has. */
const isNowhere = (name: string): boolean => /no-such-image|nonexistent|does-not-exist/.test(name);

function deniedFor(name: string): string {
  return `pull access denied for ${name.replace(/:[^/:]*$/, '')}, repository does not exist or may require 'docker login'`;
}

/** A few layers side by side, each downloaded and unpacked in steps. */
async function pullLayers(name: string, send: (line: object) => unknown, gone: () => boolean): Promise<void> {
  const digest = createHash('sha256').update(name).digest();
  const layers = Array.from({ length: 3 + ((digest[0] ?? 0) % 4) }, (_, index) => ({
    id: digest.subarray(index * 4, index * 4 + 6).toString('hex'),
    total: 300_000 + ((digest[index + 8] ?? 0) + 1) * 120_000,
    current: 0,
  }));
  for (const { id } of layers) send({ status: 'Pulling fs layer', progressDetail: {}, id });
  for (const state of ['Downloading', 'Extracting'] as const) {
    for (const layer of layers) layer.current = 0;
    while (layers.some(({ current, total }) => current < total) && !gone()) {
      await wait(stepMs);
      for (const layer of layers.filter(({ current, total }) => current < total)) {
        layer.current = Math.min(layer.total, layer.current + 2_100_000);
        send({ status: state, progressDetail: { current: layer.current, total: layer.total }, id: layer.id });
        if (layer.current === layer.total)
          send({ status: state === 'Downloading' ? 'Download complete' : 'Pull complete', progressDetail: {}, id: layer.id });
      }
    }
  }
}

/** Images that are a system without a program of its own: they run a shell, and end with it. */
function isSystem(name: string): boolean {
  return /^(?:busybox|alpine|debian|ubuntu)(?:[:@]|$)/.test(name.replace(/^(?:docker\.io\/)?(?:library\/)?/, ''));
}
