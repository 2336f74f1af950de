import { type Document, isAlias, isMap, isNode, isPair, isScalar, isSeq, type Node, type Pair, visit } from 'yaml';

/** The YAML 1.1 key that merges a map into another one. YAML 1.2 has removed it; every compose program supports it. */
const mergeKey = '<<';

/** Errors that prevent aliases and `<<` from being expanded: missing names, cycles, and values that are not maps. */
export function aliasProblems(document: Document.Parsed): { offset: number; message: string; remedy: string }[] {
  const problems: ReturnType<typeof aliasProblems> = [];
  const add = (node: Node, message: string, remedy: string) => problems.push({ offset: node.range?.[0] ?? 0, message, remedy });
  const targets = targetsOf(document);
  visit(document, {
    Alias(_, alias, path) {
      const { source } = alias;
      const target = targets.get(alias);
      if (target === undefined) add(alias, `Unknown anchor "${source}".`, `Define &${source} above this line.`);
      else if (path.includes(target)) add(alias, `The anchor "${source}" contains itself.`, 'Remove the alias.');
    },
    Pair(_, pair) {
      if (!isMerge(pair)) return;
      for (const source of sourcesOf(pair)) {
        const target = isAlias(source) ? targets.get(source) : source;
        if (target === undefined || isMap(target)) continue;
        const node = isNode(source) ? source : (pair.key as Node);
        add(node, '"<<" requires a map.', 'Use a map, or a list of maps: <<: [*one, *other].');
      }
    },
  });
  return problems;
}

/**
 * Replaces each alias by a copy of its target, and each `<<` by the entries that it merges. Copies keep the position where they were
 * written. Only for a document without `aliasProblems`. Returns whether there was one.
 */
export function writeOutAliases(document: Document.Parsed): boolean {
  const targets = targetsOf(document);
  let hasMerge = false;
  visit(document, {
    Pair(_, pair) {
      hasMerge ||= isMerge(pair);
    },
  });
  if (targets.size === 0 && !hasMerge) return false;
  // The target is above, and already expanded when it is copied.
  const written = (node: unknown): unknown => {
    if (isAlias(node)) return copyOf(targets.get(node));
    if (isMap(node)) {
      for (const pair of node.items) {
        pair.key = written(pair.key) as typeof pair.key;
        pair.value = written(pair.value) as typeof pair.value;
      }
      const own = new Set(node.items.flatMap((pair) => (isMerge(pair) ? [] : keyText(pair.key))));
      node.items = node.items.flatMap((pair) => (isMerge(pair) ? takenIn(pair, own) : [pair]));
    } else if (isSeq(node)) node.items = node.items.map(written);
    return node;
  };
  document.contents = written(document.contents) as typeof document.contents;
  return true;
}

/** Returns the target of each alias: the last anchor of that name above it. In one pass, because a file may have thousands. */
function targetsOf(document: Document.Parsed): Map<unknown, Node | undefined> {
  const anchors = new Map<string, Node>();
  const targets = new Map<unknown, Node | undefined>();
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) targets.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

/** The first name has priority, and the map's own keys before all. */
function takenIn(merge: Pair, taken: Set<string>): Pair<Node, Node | null>[] {
  const entries = sourcesOf(merge).flatMap((source): Pair[] => (isMap(source) ? source.items : []));
  return entries.flatMap((pair) => {
    const key = keyText(pair.key);
    if (taken.has(key)) return [];
    taken.add(key);
    return [pair as Pair<Node, Node | null>];
  });
}

function copyOf(node: Node | undefined): Node | undefined {
  const copy = node?.clone() as Node | undefined;
  if (copy)
    visit(copy, {
      Node: (_, inner) => {
        if (!isAlias(inner)) delete inner.anchor;
      },
    });
  return copy;
}

function isMerge(pair: unknown): boolean {
  return isPair(pair) && isScalar(pair.key) && pair.key.value === mergeKey && pair.key.type === 'PLAIN';
}

const sourcesOf = ({ value }: Pair): unknown[] => (isSeq(value) ? value.items : [value]);

export const keyText = (key: unknown): string => String(isScalar(key) ? key.value : key);
