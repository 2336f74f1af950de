import { nameRemedy, nearRemedy } from '../text/nearest-name.ts';
import { checkBackup, secretArgument } from './backup-rules.ts';
import { checkCompose } from './compose-references.ts';
import {
  type Draft,
  inComponent,
  inCompose,
  type LintRule,
  portAnnotation,
  portsOf,
  type RuleFinding,
  servicesOf,
  unknown,
  variableOf,
} from './draft.ts';
import { checkBeforeStart, checkExchange, checkReach, checkSite, checkSpeaks } from './exchange-references.ts';
import { checkExpressions } from './expression-references.ts';
import { joinEntry } from './join-entry.ts';
import { placeholdersIn } from './placeholders.ts';
import type { ComponentCall } from './schema.ts';

/** Everything that names something else must name something that is there. */
export const referenceRules: readonly LintRule[] = [
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
  { id: 'speaks', check: checkSpeaks },
  { id: 'before-start', check: checkBeforeStart },
  { id: 'R14', check: checkReach },
];

function* checkServices(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const self = component.dependsOn.indexOf(component.id);
  if (self >= 0) yield inComponent(['dependsOn', self], 'It depends on itself.', 'Remove it.');
  const names = servicesOf(draft).map(({ name }) => name);
  if (compose === undefined) {
    if (component.deploy === 'compose')
      yield inComponent(
        ['deploy'],
        'A component that deploys with compose needs a compose.yaml beside this file.',
        'Add compose.yaml, or change deploy.',
      );
    return;
  }
  for (const name of Object.keys(component.services))
    if (!names.includes(name)) yield unknown(['services', name], 'service in compose.yaml called', name, names, 'key');
  for (const name of names) {
    if (component.services[name]) continue;
    yield {
      file: 'compose',
      path: ['services', name],
      part: 'key',
      message: `The service "${name}" is not described in component.yaml.`,
      remedy: `Add it there under services: ${name}: {role: ...}.`,
    };
  }
  const mains = Object.entries(component.services).filter(([, { main }]) => main);
  if (mains.length !== 1) {
    yield inComponent(
      ['services'],
      mains.length === 0 ? 'No service is the main one.' : 'More than one service is the main one.',
      'Put main: true at exactly one service.',
      'key',
    );
  }
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
    // One entry of the file is told once, also where it is a range.
    if (port.container !== port.range.first) continue;
    const { first, last } = port.range;
    const name = port.name ?? port.service;
    const near = nameRemedy(name, Object.keys(component.ports), '');
    yield {
      file: 'compose',
      path: port.path,
      message: `The port "${name}" (${first === last ? first : `${first}-${last}`}/${port.protocol}) is not described in component.yaml.`,
      remedy: near.startsWith('Did')
        ? `${near} Or add it under ports.`
        : `Add it there under ports: ${name}: {role: ..., exposure: loopback${port.name === undefined ? `, container: ${port.container}` : ''}}.`,
    };
  }
  for (const [name, annotation] of Object.entries(component.ports)) {
    const path = ['ports', name];
    if (annotation.service !== undefined && draft.compose && !draft.compose.services.has(annotation.service)) {
      yield unknown([...path, 'service'], 'service called', annotation.service, draft.compose.services.keys());
    }
    if (!draft.compose || annotated.has(name) || annotation.number !== undefined || component.deploy !== 'compose') continue;
    const names = published.flatMap((port) => port.name ?? []);
    yield inComponent(
      path,
      `No port of compose.yaml is called "${name}".`,
      nameRemedy(
        name,
        names,
        `Publish it there as "\${${variable(name)}_BIND:-127.0.0.1}:\${${variable(name)}_PORT:-8080}:80", or give its number when its service uses the host's network.`,
      ),
      'key',
    );
  }
}

const variable = (name: string) => name.toUpperCase().replaceAll('-', '_');

function* checkVolumes(draft: Draft): Generator<RuleFinding> {
  if (!draft.compose) return;
  const targets = servicesOf(draft).flatMap(({ mounts }) => mounts.map(({ target }) => target));
  for (const target of Object.keys(draft.component.volumes)) {
    if (!targets.includes(target)) yield unknown(['volumes', target], 'mount in compose.yaml at', target, targets, 'key');
  }
}

/** Where a mounted file is missing, an engine makes an empty folder of its name. */
function* checkFiles(draft: Draft): Generator<RuleFinding> {
  const { component, files } = draft;
  for (const { mounts } of servicesOf(draft)) {
    for (const { source, path } of mounts) {
      const inside = source.replace(/^\.\/|\/$/g, '');
      if (/(?:^|\/)\.\.(?:\/|$)/.test(source))
        yield inCompose(path, `The mount leaves the component's folder: ${source}.`, 'Put what it needs under files/.');
      else if (/^(?:\.\/)?files\//.test(source) && !files.has(inside))
        yield inCompose(path, `There is no ${inside} in this folder.`, nearRemedy(inside, files, 'Add it.'));
    }
  }
  const { configFile } = component;
  if (!configFile) return;
  const { path, format, schema, verify } = configFile;
  if (path.startsWith('files/') && !files.has(path)) yield unknown(['configFile', 'path'], 'file', path, files);
  if (schema !== undefined && !draft.schemas.has(schema)) yield unknown(['configFile', 'schema'], 'file', schema, draft.schemas.keys());
  if (schema !== undefined && format === undefined)
    yield inComponent(
      ['configFile', 'schema'],
      'A schema says nothing about a file of unknown form.',
      'Add format: yaml, json or properties.',
    );
  if (verify && draft.compose && !draft.compose.services.has(verify.service))
    yield unknown(['configFile', 'verify', 'service'], 'service', verify.service, draft.compose.services.keys());
  const told = verify?.argv.findIndex((word) => secretArgument.test(word)) ?? -1;
  if (told >= 0)
    yield inComponent(
      ['configFile', 'verify', 'argv', told],
      'A secret would be seen in the arguments of a program.',
      'Give it in the environment.',
    );
}

function* checkFields(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const names = component.fields.map(({ name }) => name);
  const environment = new Set(servicesOf(draft).flatMap((service) => [...service.environment.keys()]));
  for (const [index, field] of component.fields.entries()) {
    const path = ['fields', index];
    if (names.indexOf(field.name) !== index)
      yield inComponent([...path, 'name'], `The field "${field.name}" is declared twice.`, 'Keep one of the two.');
    for (const [other, name] of field.excludes.entries()) {
      if (!names.includes(name)) yield unknown([...path, 'excludes', other], 'field', name, names);
    }
    for (const [part, declared] of [['rotate', field.rotate] as const, ['proves', field.proves] as const]) {
      if (declared && 'service' in declared && compose && !compose.services.has(declared.service))
        yield unknown([...path, part, 'service'], 'service called', declared.service, compose.services.keys());
    }
    if (field.proves && 'call' in field.proves) {
      const { call, input } = field.proves;
      const inputs = component.calls[call]?.inputs;
      if (!inputs) yield unknown([...path, 'proves', 'call'], 'call', call, Object.keys(component.calls));
      else if (!inputs[input]?.secret)
        yield unknown([...path, 'proves', 'input'], `secret input of ${call} called`, input, Object.keys(inputs));
    }
    if (field.goes !== 'environment') continue;
    const wanted = variableOf(field);
    if (wanted === undefined) {
      yield inComponent(
        [...path, 'name'],
        `"${field.name}" goes to the environment, but is no name of a variable.`,
        'Name the variable with env.',
      );
    } else if (compose && !environment.has(wanted) && !compose.variables.has(wanted)) {
      yield inComponent(
        path,
        `"${field.name}" goes to the environment, but no service of compose.yaml gets ${wanted}.`,
        nameRemedy(wanted, [...environment, ...compose.variables.keys()], `Add ${wanted}: "\${${wanted}}" to the service.`),
      );
    }
  }
  for (const [set, members] of component.oneOf.entries()) {
    for (const [index, name] of members.entries()) {
      // A set may name a group of fields by what their names begin with.
      if (!names.some((known) => known === name || known.startsWith(`${name}.`)))
        yield unknown(['oneOf', set, index], 'field', name, names);
    }
  }
  if (!compose) return;
  const declared = new Set([
    ...component.fields.flatMap((field) => variableOf(field) ?? []),
    ...Object.keys(component.ports).flatMap((name) => [`${variable(name)}_PORT`, `${variable(name)}_BIND`]),
  ]);
  for (const [name, places] of compose.variables) {
    if (declared.has(name) || /_(?:PORT|BIND)$/.test(name)) continue;
    yield {
      file: 'compose',
      path: places[0]?.path ?? [],
      message: `\${${name}} is no declared field.`,
      remedy: nameRemedy(name, declared, `Declare the field ${name} in component.yaml.`),
    };
  }
}

function* checkCalls(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  const services = compose ? [...compose.services.keys()] : Object.keys(component.services);
  const variables = component.fields.flatMap((field) => variableOf(field) ?? []);
  for (const [name, call] of Object.entries(component.calls)) {
    const path = ['calls', name];
    const port = call.http?.port ?? call.tcp?.port;
    if (port !== undefined && !Object.hasOwn(component.ports, port))
      yield unknown([...path, call.http ? 'http' : 'tcp', 'port'], 'port', port, Object.keys(component.ports));
    for (const kind of ['exec', 'file', 'engine'] as const) {
      const service = call[kind]?.service;
      if (service !== undefined && !services.includes(service)) yield unknown([...path, kind, 'service'], 'service', service, services);
    }
    yield* checkInputs(path, call);
    if (call.http?.behind !== undefined && !variables.includes(call.http.behind))
      yield unknown([...path, 'http', 'behind'], 'variable', call.http.behind, variables);
    if (call.http) {
      const bodies = (['json', 'form', 'multipart', 'text'] as const).filter((kind) => call.http?.[kind] !== undefined);
      if (bodies.length > 1)
        yield inComponent(
          [...path, 'http', bodies[1] ?? ''],
          `A request has one body, not ${bodies.join(' and ')}.`,
          'Keep one of them.',
          'key',
        );
      if (call.http.path.includes('?'))
        yield inComponent([...path, 'http', 'path'], 'The query is part of the path here.', 'Move it to query: {name: value}.');
    }
    if (call.reads && call.http && !['GET', 'HEAD', 'LIST', 'PROPFIND', 'POST'].includes(call.http.method)) {
      yield inComponent([...path, 'reads'], `A ${call.http.method} does not only read.`, 'Remove reads: true.');
    }
  }
}

/** Placeholders and inputs belong together; secrets stay out of what others can read. */
function* checkInputs(path: RuleFinding['path'], call: ComponentCall): Generator<RuleFinding> {
  const inputs = Object.keys(call.inputs);
  const used = new Set<string>();
  for (const { at, text } of textsOf([...path], call)) {
    for (const placeholder of placeholdersIn(text)) {
      used.add(placeholder);
      if (!inputs.includes(placeholder)) yield unknown(at, 'input', placeholder, inputs);
      else if (call.inputs[placeholder]?.secret && at.includes('argv')) {
        yield inComponent(at, `The secret "${placeholder}" would be seen in the arguments of a program.`, 'Give it on stdin.');
      }
    }
  }
  for (const name of inputs) {
    if (!used.has(name))
      yield inComponent(
        [...path, 'inputs', name],
        `The input "${name}" is not used.`,
        `Write <${name}> where it goes, or remove it.`,
        'key',
      );
  }
}

function* textsOf(path: PropertyKey[], call: ComponentCall): Generator<{ at: PropertyKey[]; text: string }> {
  const { http, exec, file } = call;
  for (const [name, part] of Object.entries({ http, exec, file })) {
    if (part) yield* textsIn([...path, name], part);
  }
}

function* textsIn(at: PropertyKey[], value: unknown): Generator<{ at: PropertyKey[]; text: string }> {
  if (typeof value === 'string') yield { at, text: value };
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* textsIn([...at, index], item);
  else if (typeof value === 'object' && value !== null) for (const [key, item] of Object.entries(value)) yield* textsIn([...at, key], item);
}

function* checkCallUsers({ component, compose, own }: Draft): Generator<RuleFinding> {
  const calls = component.calls;
  const quiet = function* (path: RuleFinding['path'], name: string, who: string): Generator<RuleFinding> {
    const call = calls[name];
    if (!call) yield unknown(path, 'call', name, Object.keys(calls));
    else if (!call.reads)
      yield inComponent(
        path,
        `${who} may only use calls that read, "${name}" does more.`,
        'Use another call, or mark it reads: true if nothing changes over there.',
      );
    else if (call.auth !== 'none')
      yield inComponent(path, `${who} may not log in, "${name}" does: a wrong password would lock accounts.`, 'Use a call with auth none.');
    else if (Object.values(call.inputs).some(({ required }) => required))
      yield inComponent(path, `${who} has nobody to ask, but "${name}" needs inputs.`, 'Use a call without required inputs.');
  };
  if (component.probe) {
    yield* quiet(['probe', 'call'], component.probe.call, 'A probe');
    for (const [index, name] of component.probe.also.entries()) yield* quiet(['probe', 'also', index], name, 'A probe');
  }
  for (const [index, check] of component.checks.entries()) {
    for (const [at, name] of check.calls.entries()) yield* quiet(['checks', index, 'calls', at], name, 'A check');
  }
  for (const [index, operation] of component.operations.entries()) {
    const call = calls[operation.call];
    const path = ['operations', index];
    if (!call) yield unknown([...path, 'call'], 'call', operation.call, Object.keys(calls));
    else if (operation.right === 'read' && !call.reads)
      yield inComponent(
        [...path, 'right'],
        `"${operation.id}" changes something, so it needs more than the right to read.`,
        'Use operate, reveal or destroy.',
      );
    if (operation.right === 'destroy' && operation.consequences.length === 0)
      yield inComponent(path, `"${operation.id}" destroys, but does not say what is lost.`, 'Add consequences: a line each.');
  }
  const checks = joinEntry(component, compose, '', own).checks.map(({ id }) => id);
  for (const [index, { check }] of component.errors.entries()) {
    if (check !== undefined && !checks.includes(check)) yield unknown(['errors', index, 'check'], 'check', check, checks);
  }
  for (const list of ['checks', 'operations', 'firstRun'] as const) {
    const ids = component[list].map(({ id }) => id);
    for (const [index, id] of ids.entries())
      if (ids.indexOf(id) !== index) yield inComponent([list, index, 'id'], `"${id}" is there twice.`, 'Rename one of the two.');
  }
}
