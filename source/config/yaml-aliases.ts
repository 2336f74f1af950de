import { type Document, isAlias, isMap, isNode, isPair, isScalar, isSeq, type Node, type Pair, visit } from 'yaml';

export interface AliasProblem {
  offset: number;
  message: string;
  remedy: string;
}

/** The key of YAML 1.1 that takes a map into another one. YAML 1.2 has it no more; every compose program reads it. */
const mergeKey = '<<';

/** What keeps aliases and `<<` from being written out: names that are not there, circles, and what is no map. */
export function aliasProblems(document: Document.Parsed): AliasProblem[] {
  const problems: AliasProblem[] = [];
  const targets = targetsOf(document);
  visit(document, {
    Alias(_, alias, path) {
      const offset = alias.range?.[0] ?? 0;
      const target = targets.get(alias);
      if (target === undefined)
        problems.push({
          offset,
          message: `There is no anchor "${alias.source}" above.`,
          remedy: `Put &${alias.source} before what is meant, above this line.`,
        });
      else if (path.includes(target))
        problems.push({ offset, message: `"${alias.source}" holds itself.`, remedy: 'Write out here what is meant.' });
    },
    Pair(_, pair) {
      if (!isMerge(pair)) return;
      for (const source of sourcesOf(pair)) {
        const target = isAlias(source) ? targets.get(source) : source;
        if (target !== undefined && !isMap(target))
          problems.push({
            offset: (isNode(source) ? source : (pair.key as Node)).range?.[0] ?? 0,
            message: '"<<" takes in a map, and this is none.',
            remedy: 'Name a map, or a list of maps: <<: [*one, *other].',
          });
      }
    },
  });
  return problems;
}

/**
 * Puts into the place of each alias a copy of what it names, and of each `<<` what it takes in, so that whoever looks at the document, or changes it, finds
 * everything where it is in force. Copies keep the place where they were written. Only for a document without `aliasProblems`.
 * @returns was there one?
 */
export function writeOutAliases(document: Document.Parsed): boolean {
  const targets = targetsOf(document);
  if (targets.size === 0 && !hasMerge(document)) return false;
  // What is named stands above, and is written out already when it is copied.
  const written = (node: unknown): unknown => {
    if (isAlias(node)) return copyOf(targets.get(node));
    if (isMap(node)) {
      for (const pair of node.items) {
        pair.key = written(pair.key) as typeof pair.key;
        pair.value = written(pair.value) as typeof pair.value;
      }
      const own = new Set(node.items.flatMap((pair) => (isMerge(pair) ? [] : keyOf(pair))));
      node.items = node.items.flatMap((pair) => (isMerge(pair) ? takenIn(pair, own) : [pair]));
    } else if (isSeq(node)) node.items = node.items.map(written);
    return node;
  };
  document.contents = written(document.contents) as typeof document.contents;
  return true;
}

/** What each alias names: the last anchor of that name above it. In one pass, for a file may have thousands. */
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

/** Whoever is named first wins, and the map itself before all. */
function takenIn(merge: Pair, taken: Set<string>): Pair<Node, Node | null>[] {
  return sourcesOf(merge).flatMap((source) =>
    isMap(source)
      ? source.items.flatMap((pair) => {
          if (taken.has(keyOf(pair))) return [];
          taken.add(keyOf(pair));
          return [pair as Pair<Node, Node | null>];
        })
      : [],
  );
}

function copyOf(node: Node | undefined): Node | undefined {
  const copy = node?.clone() as Node | undefined;
  if (copy === undefined) return undefined;
  visit(copy, {
    Node: (_, inner) => {
      if (!isAlias(inner)) delete inner.anchor;
    },
  });
  return copy;
}

function hasMerge(document: Document.Parsed): boolean {
  let found = false;
  visit(document, {
    Pair: (_, pair) => {
      found ||= isMerge(pair);
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}

function isMerge(pair: unknown): pair is Pair {
  return isPair(pair) && isScalar(pair.key) && pair.key.value === mergeKey && pair.key.type === 'PLAIN';
}

function sourcesOf({ value }: Pair): unknown[] {
  return isSeq(value) ? value.items : [value];
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}
