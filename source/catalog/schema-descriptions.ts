interface SchemaNode {
  description?: string;
  properties?: Readonly<Record<string, SchemaNode>>;
  items?: SchemaNode;
  additionalProperties?: SchemaNode | boolean;
  anyOf?: readonly SchemaNode[];
}

/** Adds descriptions to a JSON Schema by path: `fields[].name`, `services.*.main`. Returns paths without one, and unused ones. */
export function describeProperties(schema: object, descriptions: Readonly<Record<string, string>>) {
  const missing: string[] = [];
  const unused = new Set(Object.keys(descriptions));
  const visit = (node: SchemaNode | boolean | undefined, path: string): void => {
    if (typeof node !== 'object') return;
    for (const [name, property] of Object.entries(node.properties ?? {})) {
      const at = path === '' ? name : `${path}.${name}`;
      const description = descriptions[at];
      if (description === undefined) missing.push(at);
      else property.description = description;
      unused.delete(at);
      visit(property, at);
    }
    visit(node.items, `${path}[]`);
    visit(node.additionalProperties, `${path}.*`);
    for (const alternative of node.anyOf ?? []) visit(alternative, path);
  };
  visit(schema, '');
  return { missing, unused: [...unused] };
}
