import type { YamlPath } from './document.ts';

export type SchemaNode = Readonly<Record<string, unknown>>;
type SchemaNodes = Readonly<Record<string, SchemaNode>>;

/** Returns the parts of a schema that apply to a value at this path; `root` is the whole schema, for its references. */
export function nodesAt(root: SchemaNode, path: YamlPath): readonly SchemaNode[] {
  return path.reduce<readonly SchemaNode[]>((nodes, key) => insideOf(root, nodes, key), alternatives(root, root));
}

export function insideOf(root: SchemaNode, nodes: readonly SchemaNode[], key: PropertyKey): readonly SchemaNode[] {
  return nodes.flatMap((node) => below(node, key)).flatMap((node) => alternatives(node, root));
}

/** Returns the part itself, or the parts that it references or offers as alternatives. */
function alternatives(node: SchemaNode, root: SchemaNode): readonly SchemaNode[] {
  const [, definition] = /^#\/(?:definitions|\$defs)\/(.+)$/.exec(String(node['$ref'])) ?? [];
  const named = ((root['definitions'] ?? root['$defs']) as SchemaNodes | undefined)?.[definition ?? ''];
  if (named !== undefined) return alternatives(named, root);
  const choices = (node['anyOf'] ?? node['oneOf']) as readonly SchemaNode[] | undefined;
  return choices?.flatMap((choice) => alternatives(choice, root)) ?? [node];
}

export function below(node: SchemaNode, key: PropertyKey): readonly SchemaNode[] {
  const named = (node['properties'] as SchemaNodes | undefined)?.[String(key)];
  if (named !== undefined) return [named];
  const patterns = Object.entries((node['patternProperties'] as SchemaNodes | undefined) ?? {});
  const fitting = patterns.find(([pattern]) => new RegExp(pattern).test(String(key)))?.[1];
  const rest = fitting ?? (typeof key === 'number' ? node['items'] : node['additionalProperties']);
  return typeof rest === 'object' && rest !== null ? [rest as SchemaNode] : [];
}

export function keysOf(nodes: readonly SchemaNode[]): string[] {
  return nodes.flatMap(({ properties }) => Object.keys(properties ?? {}));
}
