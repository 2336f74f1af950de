import type { ServerResponse } from 'node:http';
import type { ApiServer } from './api-request.ts';
import { badRequest, type JsonObject, type KubeObject, KubeRefusal, statusOf } from './kube-object.ts';
import type { Change } from './object-store.ts';
import { keyOf, type Resource } from './resources.ts';

/** A client that reads slower than this is cut off, as the API server does: it lists and watches anew. */
const backlogLimitBytes = 8 * 1024 * 1024;

/**
 * Streams changes as JSON, one a line, from `resourceVersion` on (none or 0: first everything that there is), until `timeoutSeconds`, the
 * client or the server ends. With bookmarks where they are asked for.
 */
export function openWatch(
  api: ApiServer,
  query: URLSearchParams,
  { resource, namespace, version }: { resource: Resource; namespace?: string; version: string },
  matches: (object: KubeObject) => boolean,
  response: ServerResponse,
): void {
  const { store } = api;
  const sinceText = query.get('resourceVersion') ?? '';
  if (!/^\d*$/.test(sinceText))
    throw badRequest(
      `Invalid value: ${JSON.stringify(sinceText)}: strconv.ParseUint: parsing ${JSON.stringify(sinceText)}: invalid syntax`,
    );
  const apiVersion = resource.group === '' ? version : `${resource.group}/${version}`;
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.flushHeaders();
  const write = (type: string, object: JsonObject | KubeObject) => {
    response.write(`${JSON.stringify({ type, object })}\n`);
    if (response.writableLength > backlogLimitBytes) response.destroy();
  };
  const isMine = (object: KubeObject) => (namespace === undefined || object.metadata.namespace === namespace) && matches(object);
  const tell = (change: Change) => {
    if (change.key !== keyOf(resource)) return;
    const now = isMine(change.object);
    const before = change.before !== undefined && isMine(change.before);
    const type =
      change.type === 'MODIFIED' ? (now ? (before ? 'MODIFIED' : 'ADDED') : before ? 'DELETED' : undefined) : now ? change.type : undefined;
    if (type !== undefined) write(type, { ...change.object, apiVersion });
  };

  if (sinceText === '' || sinceText === '0')
    for (const object of store.list(resource, namespace).filter(isMine)) write('ADDED', { ...object, apiVersion });
  else {
    const missed = store.changesSince(Number(sinceText));
    if (missed === undefined) {
      write('ERROR', statusOf(new KubeRefusal(410, 'Expired', `too old resource version: ${sinceText} (${store.version})`)));
      response.end();
      return;
    }
    for (const change of missed) tell(change);
  }
  const stopWatching = store.watch(tell);
  const bookmark = () =>
    write('BOOKMARK', { kind: resource.kind, apiVersion, metadata: { resourceVersion: String(store.version), creationTimestamp: null } });
  const wanted = query.get('allowWatchBookmarks') === 'true';
  const marks = wanted ? setInterval(bookmark, api.bookmarkMs) : undefined;
  const limitMs = Number(query.get('timeoutSeconds') ?? 0) * 1000 || 1_800_000 + Math.random() * 1_800_000;
  const close = () => {
    stopWatching();
    clearInterval(marks);
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  };
  const end = () => {
    if (wanted && response.writable) bookmark();
    response.end();
  };
  const timer = setTimeout(end, limitMs);
  timer.unref();
  marks?.unref();
  const signal = api.signal();
  signal.addEventListener('abort', end, { once: true });
  response.once('close', close);
}
