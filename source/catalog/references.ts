import { nameRemedy, nearRemedy } from '../text/nearest-name.ts';
import type { YamlPath } from '../yaml/document.ts';
import { checkBackup, secretArguments } from './backup-rules.ts';
import { checkCompose } from './compose-references.ts';
import { credentialInputs } from './credential-inputs.ts';
import type { Draft, LintRule, RuleFinding } from './draft.ts';
import { inComponent, inCompose, portAnnotation, portsOf, servicesOf, unknown, variableOf } from './draft.ts';
import { checkApi, checkBeforeStart, checkExchange, checkReach, checkSite } from './exchange-references.ts';
import { checkExpressions } from './expression-references.ts';
import { joinEntry } from './join-entry.ts';
import { placeholdersIn } from './placeholders.ts';
import type { ComponentCall } from './schema.ts';

export const referenceRules: readonly LintRule[] = [
  { id: 'references', check: checkReferences },
  { id: 'services', check: checkServices },
  { id: 'ports', check: checkPorts },
  { id: 'volumes', check: checkVolumes },
  { id: 'files', check: checkFiles },
  { id: 'compose', check: checkCompose },
  { id: 'backup', check: checkBackup },
  { id: 'fields', check: checkFields },
  { id: 'calls', check: checkCalls },
  { id: 'call-users', check: checkCallUsers },
  { id: 'expressions', check: checkExpressions },
  { id: 'exchange', check: checkExchange },
  { id: 'site', check: checkSite },
  { id: 'api', check: checkApi },
  { id: 'before-start', check: checkBeforeStart },
  { id: 'R14', check: checkReach },
];

/** Targets of the names in component.yaml, by position: `*` is each entry of a list or a map. */
const references: Readonly<Record<string, keyof ReturnType<typeof knownNames>>> = {
  'ports.*.service': 'service',
  'configFile.verify.service': 'service',
  'fields.*.excludes.*': 'field',
  'fields.*.rotate.service': 'service',
  'fields.*.verify.service': 'service',
  'fields.*.verify.call': 'call',
  'calls.*.http.port': 'port',
  'calls.*.http.publicUrl': 'variable',
  'calls.*.tcp.port': 'port',
  'calls.*.exec.service': 'service',
  'calls.*.file.service': 'service',
  'calls.*.engine.service': 'service',
  'probe.call': 'call',
  'probe.also.*': 'call',
  'probe.withCredentials.*': 'call',
  'checks.*.calls.*': 'call',
  'operations.*.call': 'call',
  'calls.*.inputs.*.field': 'field',
  'checks.*.run': 'operation',
  'errors.*.check': 'check',
  'provides.*.port': 'port',
  'uses.*.field': 'field',
  'uses.*.services.*': 'service',
  'api.port': 'port',
  'api.service': 'service',
  'site.port': 'port',
  'site.routes.*.port': 'port',
  'site.routes.*.otherwise': 'port',
  'site.names.*.field': 'field',
  'site.names.*.port': 'port',
  'site.portal': 'field',
  'backup.*.service': 'service',
  'backup.*.with.*': 'service',
};

const knownNames = ({ component, compose, own }: Draft) => ({
  service: compose ? [...compose.services.keys()] : Object.keys(component.services),
  port: Object.keys(component.ports),
  field: component.fields.map(({ name }) => name),
  variable: component.fields.flatMap((field) => variableOf(field) ?? []),
  call: Object.keys(component.calls),
  operation: component.operations.map(({ id }) => id),
  check: joinEntry(component, compose, '', own).checks.map(({ id }) => id),
});

function* checkReferences(draft: Draft): Generator<RuleFinding> {
  const known = knownNames(draft);
  for (const [pattern, kind] of Object.entries(references))
    for (const { path, value } of valuesAt(draft.component, pattern.split('.')))
      if (typeof value === 'string' && !known[kind].includes(value)) yield unknown(path, kind, value, known[kind]);
}

function valuesAt(value: unknown, [step, ...rest]: readonly string[], path: YamlPath = []): { path: YamlPath; value: unknown }[] {
  if (step === undefined) return [{ path, value }];
  if (typeof value !== 'object' || value === null) return [];
  const entries = entriesOf(value).filter(([key]) => step === '*' || step === key);
  return entries.flatMap(([key, inner]) => valuesAt(inner, rest, [...path, key]));
}

function entriesOf(value: object): [PropertyKey, unknown][] {
  return Array.isArray(value) ? [...value.entries()] : Object.entries(value);
}

function* checkServices(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const self = component.dependsOn.indexOf(component.id);
  if (self >= 0) yield inComponent(['dependsOn', self], 'The component depends on itself.', 'Remove it.');
  const names = servicesOf(draft).map(({ name }) => name);
  if (compose === undefined) {
    if (component.deploy === 'compose') {
      const message = 'A component with deploy: compose requires a compose.yaml file in the same folder.';
      yield inComponent(['deploy'], message, 'Add compose.yaml, or change deploy.');
    }
    return;
  }
  for (const name of Object.keys(component.services))
    if (!names.includes(name)) yield unknown(['services', name], 'compose.yaml service', name, names, 'key');
  for (const name of names) {
    if (component.services[name]) continue;
    const remedy = `Add it under services: ${name}: {role: ...}.`;
    yield inCompose(['services', name], `The service "${name}" is not described in component.yaml.`, remedy, 'key');
  }
  const mains = Object.values(component.services).filter(({ main }) => main);
  const message = mains.length === 0 ? 'No service is marked as main.' : 'More than one service is marked as main.';
  if (mains.length !== 1) yield inComponent(['services'], message, 'Set main: true for exactly one service.', 'key');
}

function* checkPorts(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  const published = portsOf(draft);
  const annotated = new Set<string>();
  for (const port of published) {
    const annotation = portAnnotation(component, port);
    if (annotation) {
      annotated.add(annotation[0]);
      continue;
    }
    // One entry of the file is reported once, even if it is a range.
    if (port.container !== port.range.first) continue;
    const { first, last } = port.range;
    const name = port.name ?? port.service;
    const near = nameRemedy(name, Object.keys(component.ports), '');
    const added = `${name}: {role: ..., exposure: loopback${port.name === undefined ? `, container: ${port.container}` : ''}}`;
    const message = `The port "${name}" (${first === last ? first : `${first}-${last}`}/${port.protocol}) is not described in component.yaml.`;
    const remedy = near.startsWith('Did') ? `${near} Otherwise add the port under ports.` : `Add it under ports: ${added}.`;
    yield inCompose(port.path, message, remedy);
  }
  for (const [name, annotation] of Object.entries(component.ports)) {
    if (!draft.compose || annotated.has(name) || annotation.number !== undefined || component.deploy !== 'compose') continue;
    const names = published.flatMap((port) => port.name ?? []);
    const otherwise = `Publish it there as "\${${variable(name)}_BIND:-127.0.0.1}:\${${variable(name)}_PORT:-8080}:80", or set number if the service uses the host network.`;
    yield inComponent(['ports', name], `compose.yaml has no port named "${name}".`, nameRemedy(name, names, otherwise), 'key');
  }
}

const variable = (name: string) => name.toUpperCase().replaceAll('-', '_');

function* checkVolumes(draft: Draft): Generator<RuleFinding> {
  if (!draft.compose) return;
  const targets = servicesOf(draft).flatMap(({ mounts }) => mounts.map(({ target }) => target));
  for (const target of Object.keys(draft.component.volumes)) {
    if (!targets.includes(target)) yield unknown(['volumes', target], 'compose.yaml mount', target, targets, 'key');
  }
}

/** If a mounted file is missing, an engine creates an empty folder with its name. */
function* checkFiles(draft: Draft): Generator<RuleFinding> {
  const { component, files } = draft;
  for (const { mounts } of servicesOf(draft)) {
    for (const { source, path } of mounts) {
      const inside = source.replace(/^\.\/|\/$/g, '');
      if (/(?:^|\/)\.\.(?:\/|$)/.test(source))
        yield inCompose(path, `The mount ${source} is outside the component folder.`, 'Put the files in files/.');
      else if (/^(?:\.\/)?files\//.test(source) && !files.has(inside))
        yield inCompose(path, `${inside} is missing from this folder.`, nearRemedy(inside, files, 'Add it.'));
    }
  }
  const { configFile } = component;
  if (!configFile) return;
  const { path, format, schema, verify } = configFile;
  if (path.startsWith('files/') && !files.has(path)) yield unknown(['configFile', 'path'], 'file', path, files);
  if (schema !== undefined && !draft.schemas.has(schema)) yield unknown(['configFile', 'schema'], 'file', schema, draft.schemas.keys());
  if (schema !== undefined && format === undefined) {
    const message = 'A schema requires a file format.';
    yield inComponent(['configFile', 'schema'], message, 'Add format: yaml, json or properties.');
  }
  yield* secretArguments(['configFile', 'verify', 'argv'], verify?.argv, 'Pass the secret as an environment variable.');
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a rule for each way in which fields and variables name each other
function* checkFields(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const names = component.fields.map(({ name }) => name);
  const environment = new Set(servicesOf(draft).flatMap((service) => [...service.environment.keys()]));
  for (const [index, field] of component.fields.entries()) {
    const path = ['fields', index];
    if (names.indexOf(field.name) !== index)
      yield inComponent([...path, 'name'], `The field "${field.name}" is declared twice.`, 'Keep one of the two.');
    if (field.verify && 'call' in field.verify) {
      const { call, input } = field.verify;
      const inputs = component.calls[call]?.inputs;
      if (inputs && !inputs[input]?.secret)
        yield unknown([...path, 'verify', 'input'], `secret input for the call ${call}`, input, Object.keys(inputs));
    }
    if (field.target !== 'environment') continue;
    const wanted = variableOf(field);
    if (wanted === undefined) {
      const message = `The field "${field.name}" has target: environment, but is not named like an environment variable.`;
      yield inComponent([...path, 'name'], message, 'Set env to the name of the variable.');
    } else if (compose && !environment.has(wanted) && !compose.variables.has(wanted)) {
      const remedy = nameRemedy(wanted, [...environment, ...compose.variables.keys()], `Add ${wanted}: "\${${wanted}}" to the service.`);
      yield inComponent(path, `The field "${field.name}" sets ${wanted}, but no service in compose.yaml uses that variable.`, remedy);
    }
  }
  for (const [set, members] of component.oneOf.entries()) {
    for (const [index, name] of members.entries()) {
      // A set may name a group of fields by their common prefix.
      if (!names.some((known) => known === name || known.startsWith(`${name}.`)))
        yield unknown(['oneOf', set, index], 'field', name, names);
    }
  }
  if (!compose) return;
  const declared = new Set([
    ...component.fields.flatMap((field) => variableOf(field) ?? []),
    ...Object.keys(component.ports).flatMap((name) => [`${variable(name)}_PORT`, `${variable(name)}_BIND`]),
  ]);
  for (const [name, positions] of compose.variables) {
    if (declared.has(name) || /_(?:PORT|BIND)$/.test(name)) continue;
    const message = `\${${name}} is not a declared field.`;
    yield inCompose(positions[0]?.path ?? [], message, nameRemedy(name, declared, `Declare the field ${name} in component.yaml.`));
  }
}

function* checkCalls({ component }: Draft): Generator<RuleFinding> {
  for (const [name, call] of Object.entries(component.calls)) {
    const path = ['calls', name];
    yield* checkInputs(path, call);
    const received = Object.values(component.calls).flatMap(({ inputs }) => Object.keys(inputs).filter((input) => inputs[input]?.secret));
    for (const given of Object.keys(call.gives ?? {}))
      if (!received.includes(given)) yield unknown([...path, 'gives', given], 'secret input', given, received);
    if (call.http) {
      const bodies = (['json', 'form', 'multipart', 'text'] as const).filter((kind) => call.http?.[kind] !== undefined);
      const message = `A request can have only one body, not ${bodies.join(' and ')}.`;
      if (bodies.length > 1) yield inComponent([...path, 'http', bodies[1] ?? ''], message, 'Keep one of them.', 'key');
      if (call.http.path.includes('?'))
        yield inComponent([...path, 'http', 'path'], 'The path contains a query.', 'Move it to query: {name: value}.');
    }
    if (call.reads && call.http && !['GET', 'HEAD', 'LIST', 'PROPFIND', 'POST'].includes(call.http.method))
      yield inComponent([...path, 'reads'], `A ${call.http.method} request is not read-only.`, 'Remove reads: true.');
  }
}

/** Checks that every placeholder has an input and vice versa, and that secrets are not where others can read them. */
function* checkInputs(path: RuleFinding['path'], call: ComponentCall): Generator<RuleFinding> {
  const inputs = Object.keys(call.inputs);
  const used = new Set<string>();
  const { http, exec, file } = call;
  for (const { at, text } of textsIn([...path], { http, exec, file })) {
    for (const placeholder of placeholdersIn(text)) {
      used.add(placeholder);
      if (!inputs.includes(placeholder)) yield unknown(at, 'input', placeholder, inputs);
      else if (call.inputs[placeholder]?.secret && at.includes('argv')) {
        yield inComponent(at, `The secret "${placeholder}" would be visible in the process arguments.`, 'Pass the secret on stdin.');
      }
    }
  }
  for (const name of inputs) {
    if (used.has(name)) continue;
    const remedy = `Use <${name}> in the call, or remove the input.`;
    yield inComponent([...path, 'inputs', name], `The input "${name}" is not used.`, remedy, 'key');
  }
}

function* textsIn(at: PropertyKey[], value: unknown): Generator<{ at: PropertyKey[]; text: string }> {
  if (typeof value === 'string') yield { at, text: value };
  else if (typeof value === 'object' && value !== null) for (const [key, item] of entriesOf(value)) yield* textsIn([...at, key], item);
}

function* checkCallUsers({ component }: Draft): Generator<RuleFinding> {
  const calls = component.calls;
  const quiet = function* (path: YamlPath, name: string, who: string): Generator<RuleFinding> {
    const call = calls[name];
    if (!call) return;
    if (!call.reads) {
      const remedy = 'Use another call, or set reads: true if the call changes nothing in the product.';
      yield inComponent(path, `${who} can use only read-only calls, but "${name}" is not read-only.`, remedy);
    } else if (call.auth !== 'none')
      yield inComponent(path, `${who} must not log in (failures could lock accounts), but "${name}" does.`, 'Use a call with auth: none.');
    else if (Object.values(call.inputs).some(({ required }) => required))
      yield inComponent(path, `${who} cannot prompt, but "${name}" requires inputs.`, 'Use a call without required inputs.');
  };
  if (component.probe) {
    yield* quiet(['probe', 'call'], component.probe.call, 'A probe');
    for (const [index, name] of component.probe.also.entries()) yield* quiet(['probe', 'also', index], name, 'A probe');
  }
  yield* checkLogins(component);
  for (const [index, check] of component.checks.entries()) {
    for (const [at, name] of check.calls.entries()) yield* quiet(['checks', index, 'calls', at], name, 'A check');
  }
  for (const [index, operation] of component.operations.entries()) {
    const call = calls[operation.call];
    const path = ['operations', index];
    if (operation.right === 'read' && call?.reads === false) {
      const message = `"${operation.id}" makes changes, so it requires more than the read right.`;
      yield inComponent([...path, 'right'], message, 'Use operate, reveal or destroy.');
    }
    if (operation.right === 'destroy' && operation.consequences.length === 0)
      yield inComponent(path, `"${operation.id}" is destructive, but lists no consequences.`, 'Add consequences, one line each.');
  }
  const { checks, operations, firstRun, configFile } = component;
  for (const [list, identified] of Object.entries({ checks, operations, firstRun, 'configFile.rules': configFile?.rules ?? [] })) {
    const ids = identified.map(({ id }) => id);
    for (const [index, id] of ids.entries())
      if (ids.indexOf(id) !== index)
        yield inComponent([...list.split('.'), index, 'id'], `The id "${id}" is used twice.`, 'Change one of the two ids.');
  }
}

function* checkLogins({ probe, calls }: Draft['component']): Generator<RuleFinding> {
  for (const [index, name] of (probe?.withCredentials ?? []).entries()) {
    const call = calls[name];
    if (!call) continue;
    const names = credentialInputs(call);
    if (call.reads && call.http && names.length > 0 && Object.keys(call.inputs).every((input) => names.includes(input))) continue;
    const message = `A call in withCredentials must be a read-only http call whose inputs are all credentials, but "${name}" is not.`;
    yield inComponent(['probe', 'withCredentials', index], message, 'Use another call, or list it in also if it requires no credential.');
  }
}
