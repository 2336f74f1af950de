import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readCompiled, writeCompiled } from '../catalog/compiled-file.ts';
import { readCompose } from '../catalog/compose-file.ts';
import { joinEntry } from '../catalog/join-entry.ts';
import { type Component, componentSchema } from '../catalog/schema.ts';
import { YamlDocument } from '../yaml/document.ts';
import { componentDetailJson } from './entry-json.ts';
import { entryLines } from './entry-text.ts';

/** A component with every key of the schema. */
const full = `
id: bread-book
group: productivity
kind: Recipes for bread
keywords: [dough]
deploy: host
image: baker/tool:1
product: {name: Bread, alternatives: [{name: Cake, image: baker/cake}], homepage: https://bread.example.org}
services:
  app:
    main: true
    role: server
    oneShot: false
    optional: false
    tagReason: the only one
    irreplaceable: knows rye
    architectures: [amd64]
    images: [baker/rye]
ports:
  web: {service: app, role: page, exposure: all, fixed: false, web: true, tls: false, protocol: tcp, container: 8000, number: 8000}
fields:
  - name: OVENS
    type: string-integer
    secret: false
    required: false
    default: "1"
    generator: hex:16
    enum: ["1", "2"]
    pattern: ^[12]$
    length: 1
    excludes: [OTHER]
    rule: one or two
    label: Loaves of a day
    description: how many
    target: environment
    audience: browser
    setupOnly: ["2"]
    sameAs: [other/OVENS]
    validFor: 4m
    env: OVEN_COUNT
    rotate: {never: it is baked in}
    verify: {call: status, input: x, with: {y: z}}
  - {name: KEY, type: secret-string, secret: true, target: environment, rotate: {service: app, argv: [rekey]}, verify: {service: app, argv: [trykey]}}
  - {name: DB, type: secret-string, secret: true, target: environment, rotate: {service: app, program: postgresql}, verify: {service: app, program: postgresql}}
oneOf: [[OVENS, OTHER]]
volumes:
  /data: {description: all recipes, content: library}
configFile:
  path: files/bread.yml
  form: YAML
  format: yaml
  documents: each
  anyCase: true
  emptyIsUnset: true
  templates: go
  schema: bread.schema.json
  rules: [{id: too-hot, when: 'true', at: [ovens, 0], message: Too hot., remedy: Cool it., level: deployed}]
  verify: {service: app, argv: [bread, check], problem: "(?P<message>.*)"}
websocket: true
sensitive: true
needs: {memory: 1GB, disk: 2GB}
provides: {api: {port: web, scheme: http}}
uses: [{component: mill, what: flour, field: OVENS, services: [app]}]
chain: [{stage: scan, does: it looks, optional: false}]
site: {port: web, routes: [{path: /hub, port: web, otherwise: web}], names: [{field: OVENS, port: web, suggest: second}], portal: OVENS}
api: {name: oidc, port: web, service: app, keys: {access: OVENS, secret: KEY}}
auth: a token
calls:
  status:
    title: How is it?
    reads: true
    auth: a header
    limit: 4s
    keep: 1m
    inputs: {degrees: {type: integer, description: how hot, required: false, secret: false, file: false, languageModel: false, field: KEY}}
    gives: {TOKEN: json.token}
    error: json.message
    http:
      method: POST
      port: web
      path: /status
      query: {q: one}
      always: {v: "1"}
      headers: {X: y}
      publicUrl: PUBLIC
      basic: {user: ann, password: <pw>}
      json: {a: 1}
      form: {b: c}
      multipart: {d: e}
      text: words
      expect: [200]
    endpoint: true
    response: a number
    note: quick
  look: {title: Look, exec: {service: app, user: baker, argv: [look], stdin: x}}
  knock: {title: Knock, tcp: {port: web}}
  read: {title: Read, file: {service: app, path: /etc/bread}}
  ask: {title: Ask, engine: {service: app}}
probe:
  call: status
  also: [look]
  every: 30s
  version: '""'
  defaults: true
  states: [{when: 'true', state: up, id: up, severity: ok, detail: fine}]
  withCredentials: [heat]
  status: [{when: 'true', text: 3 loaves}]
operations: [{id: heat, title: Heat it, call: status, right: destroy, consequences: [the dough]}]
checks: [{id: hot, when: 'true', calls: [status], level: warning, message: Hot., remedy: Wait., run: turn}]
transitions: [{from: cold, trigger: a match, condition: dry, to: hot, also: smoke}]
limits: [{item: loaves, value: "9", kind: example}]
cli: [bread bake]
objects: [{name: Loaf, fields: [{name: crust, type: string, required: true, secret: false, rule: thick}], note: eaten}]
errors: [{condition: burnt, outcome: black, check: hot}]
events: [baked]
beforeStart: [{id: flour, files: [/data/flour], message: No flour., remedy: Buy some., flow: {id: buy, title: Buy flour, options: {much: true}}}]
firstRun: [{id: loaf, title: Bake one, detail: slowly, done: 'true', bySite: false, page: /first, urgent: false}]
upgrade: {rollback: safe, steps: [stop, {after: look}], notes: [slow]}
backup:
  - {id: data, volume: data, method: copy, service: app, with: [db], exclude: [cache], why: it rests}
  - {id: dumped, volume: two, method: dump, service: app, dump: [dump it], restore: [read it]}
  - {id: sql, volume: three, method: dump, service: app, program: postgresql}
dependsOn: [mill]
notes: [a note]
justifies: {privileged: it must}
`;
const compose = `services:
  app:
    image: baker/bread:1
    ports: ["\${WEB_BIND:-127.0.0.1}:\${WEB_PORT:-8000}:8000"]
`;

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Returns the paths of schema keys that no value has. */
function missing(schema: Json, values: readonly unknown[], at = ''): string[] {
  const variants = [...list(schema['anyOf']), ...list(schema['oneOf']), ...list(schema['allOf'])] as Json[];
  if (variants.length > 0) return variants.flatMap((variant) => missing(variant, values, at));
  const objects = values.filter(isObject);
  const own = isObject(schema['properties'])
    ? Object.entries(schema['properties']).flatMap(([key, inner]) => {
        const path = at === '' ? key : `${at}.${key}`;
        const inside = objects.flatMap((value) => (value[key] === undefined ? [] : [value[key]]));
        return inside.length === 0 ? [path] : missing(inner as Json, inside, path);
      })
    : [];
  const rest = schema['additionalProperties'];
  if (isObject(rest)) own.push(...missing(rest, objects.flatMap(Object.values), `${at}{}`));
  if (isObject(schema['items'])) own.push(...missing(schema['items'], values.flatMap(list), `${at}[]`));
  return own;
}

/** Yields each fact, with a copy of the whole in which that fact differs. */
function* otherwise(
  value: unknown,
  whole: () => unknown,
  at: readonly (string | number)[] = [],
): Generator<{ path: string; changed: unknown }> {
  if (Array.isArray(value) || isObject(value)) {
    for (const [key, inner] of Object.entries(value)) yield* otherwise(inner, whole, [...at, Array.isArray(value) ? Number(key) : key]);
    return;
  }
  if (value === undefined) return;
  const changed = whole();
  const holder = at.slice(0, -1).reduce((inner, key) => (inner as Record<string | number, unknown>)[key], changed);
  (holder as Record<string | number, unknown>)[at.at(-1) ?? ''] =
    value === 'productivity' ? 'ai' : typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : `${String(value)}x`;
  yield { path: at.join('.').replaceAll(/\.\d+(?=\.|$)/g, '[]'), changed };
}

const parsed = componentSchema.parse(parse(full));
const component = (): Component => structuredClone(parsed);
const read = readCompose(new YamlDocument(compose)).compose;
const entryOf = (one: Component) => joinEntry(one, one === undefined ? undefined : read, 'folder', false);

it('the component of these tests has every key of component.yaml', () => {
  expect(missing(z.toJSONSchema(componentSchema, { io: 'input', unrepresentable: 'any' }) as Json, [parse(full)])).toEqual([]);
});

/** Facts that the text leaves out, and why. */
const left: Record<string, RegExp> = {
  'conditions, and how they are found out':
    /(?:\.|\])(?:when|done|bySite|version|defaults|at\[\]|problem)$|^checks\[\]\.calls|^probe\.states\[\]\.(?:severity|detail|id)$/,
  'how exactly a call is made':
    /^calls\.\w+\.(?:limit|keep|reads|endpoint|error|gives\.\w+|exec\.(?:stdin|user)|inputs\.\w+\.(?:file|field|languageModel)|http\.(?:port|always|headers|publicUrl|basic|json|form|multipart|text|expect)\b.*)/,
  'names by which procedures find each other': /^operations\[\]\.call$|^checks\[\]\.run$|^beforeStart\[\]\.flow\.(?:id|options\.\w+)$/,
  'a sentence for each where it is not deployed from here': /^deploy$/,
  'what a script of several lines says; one of a line is shown': /^fields\[\]\.(?:rotate|verify)\.argv\[\]$/,
  'the type of most': /^fields\[\]\.secret$/,
};
/** Facts that compose.yaml states better. */
const joined = /^image$|^ports\.web\.(?:service|container|number|protocol)$/;

it('catalog show tells every fact of a component, or --json does', () => {
  const style = { proseColumns: 100, paint: (_: string, text: string) => text };
  const text = (one: Component) => entryLines(entryOf(one), [], style).join('\n');
  // As it is opened: most of it is read when it is first accessed.
  const opened = (one: Component) => readCompiled(Buffer.from(writeCompiled([entryOf(one)])))[0] ?? entryOf(one);
  const json = (one: Component) => JSON.stringify(componentDetailJson(opened(one), []));
  const [usualText, usualJson] = [text(component()), json(component())];
  const silent = { text: [] as string[], json: [] as string[] };
  for (const { path, changed } of otherwise(component(), component)) {
    if (joined.test(path)) continue;
    if (json(changed as Component) === usualJson) silent.json.push(path);
    if (text(changed as Component) === usualText && !Object.values(left).some((pattern) => pattern.test(path))) silent.text.push(path);
  }
  expect(silent).toEqual({ text: [], json: [] });
  for (const program of ['rekey', 'trykey', 'a script']) expect(usualText).toContain(`by ${program} in app`);
});
