import type { Answer, ApiSurroundings, Ask } from './api-call.ts';
import { decisionFilter } from './queries.ts';
import { decisionForBouncer } from './shapes.ts';
import type { Bouncer, Decision } from './store.ts';

/** `GET /v1/decisions`: the active decisions that a bouncer asks for. */
export function askedDecisions(api: ApiSurroundings, ask: Ask, bouncer: Bouncer): Answer {
  const { store, dialect } = api;
  const now = store.now();
  const matches = decisionFilter(store, ask.query, dialect);
  const found = [...store.decisions()].filter((decision) => decision.untilMs >= now && matches(decision));
  api.run()?.counts.answered(bouncer.name, found.length > 0);
  return { status: 200, json: found.length === 0 ? null : found.map((decision) => decisionForBouncer(decision, now, dialect)) };
}

/** Remembers how far this bouncer has come, which is why nobody else may ask with its key. */
export function stream(api: ApiSurroundings, ask: Ask, bouncer: Bouncer): Answer {
  const { store, dialect } = api;
  const now = store.now();
  const query = new URLSearchParams(ask.query);
  if (!query.has('scopes')) query.set('scopes', 'ip,range');
  const matches = decisionFilter(store, query, dialect);
  const startup = query.get('startup') === 'true';
  const since = bouncer.lastPullMs ?? bouncer.createdMs;
  const fresh: Decision[] = [];
  const over: Decision[] = [];
  for (const decision of store.decisions()) {
    if (!matches(decision)) continue;
    if (decision.untilMs > now) {
      if (startup || decision.createdMs > since) fresh.push(decision);
    } else if (startup || decision.untilMs > since - 2000) over.push(decision);
  }
  const shape = (decisions: readonly Decision[]) => {
    const kept = query.get('dedup') === 'false' ? decisions : longest(decisions);
    return kept.length === 0 && dialect === '1.4.6' ? null : kept.map((decision) => decisionForBouncer(decision, now, dialect));
  };
  const parts = { deleted: shape(over), new: shape(fresh) };
  const json = dialect === '1.4.6' ? parts : { new: parts.new, deleted: parts.deleted };
  bouncer.lastPullMs = now;
  bouncer.updatedMs = now;
  return { status: 200, json };
}

/** Of several decisions of one type about one value, the one that lasts longest. */
function longest(decisions: readonly Decision[]): Decision[] {
  const kept = new Map<string, Decision>();
  for (const decision of decisions) {
    const key = `${decision.type}:${decision.scope}:${decision.value}`;
    const other = kept.get(key);
    if (other === undefined || other.untilMs < decision.untilMs) kept.set(key, decision);
  }
  return [...kept.values()];
}
