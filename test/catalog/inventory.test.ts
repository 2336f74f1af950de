import { beforeAll, describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { problemText } from '../../source/catalog/compile.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';
import { type InventoryComponent, inventory, withoutCitations, withTag, worded, wordings } from './inventory.ts';
import { readProvenance } from './provenance.ts';

// The catalog against the specification's inventory. What is expected comes from the inventory alone; the catalog may know more.

const entries = new Map<string, CatalogEntry>();
const complaints = new Map<string, string[]>();

beforeAll(async () => {
  const { entries: compiled, problems } = await wholeCatalog();
  for (const entry of compiled) entries.set(entry.id, entry);
  for (const problem of problems) {
    const id = problem.file.split('/').at(-2) ?? '';
    complaints.set(id, [...(complaints.get(id) ?? []), problemText(problem)]);
  }
});

function entryOf({ id }: InventoryComponent): CatalogEntry {
  const entry = entries.get(id);
  if (!entry) throw new Error([`${id} did not compile:`, ...(complaints.get(id) ?? ['no such folder'])].join('\n'));
  return entry;
}

/** Some mounts are named without their path: the last part of the target is their name. */
const isMount = (target: string, mount: string) => target === mount || (!mount.startsWith('/') && target.endsWith(`/${mount}`));

/** Where no image is the usual one, the inventory describes what it has to do. */
const isImage = (image: string) => !image.includes(' ');

/** Only the given keys, so that a failure shows what differs and nothing else. */
function pick(value: object, keys: readonly string[]): Record<string, unknown> {
  const record = value as Record<string, unknown>;
  return Object.fromEntries(
    keys.flatMap((key) =>
      record[key] === undefined ? [] : [[key, typeof record[key] === 'string' ? withoutCitations(record[key]) : record[key]]],
    ),
  );
}

/** Every expected row must be among the actual ones; the failure shows the nearest by name. */
function expectRows(actual: readonly object[], expected: readonly object[], keys: readonly string[], name: string): void {
  for (const wanted of expected) {
    const row = pick(wanted, keys);
    const present = Object.keys(row);
    const same = actual.filter((candidate) => pick(candidate, [name])[name] === row[name]);
    const shown = same.map((candidate) => pick(candidate, present));
    if (shown.some((candidate) => JSON.stringify(candidate) === JSON.stringify(row))) continue;
    expect(shown[0] ?? `nothing with ${name} = ${String(row[name])}`).toEqual(row);
  }
}

/** Rows with what provenance.yaml knows of each, by the key that names them there. */
function withFacts<Row extends object>(rows: readonly Row[], key: keyof Row, facts: Readonly<Record<string, object>>): object[] {
  return rows.map((row) => ({ ...row, ...facts[String(row[key])] }));
}

describe('the catalog', () => {
  it('has every component of the specification (R1)', () => {
    expect(inventory.length).toBe(137);
    expect(inventory.map(({ id }) => id).filter((id) => !entries.has(id))).toEqual([]);
  });

  it('has nothing that the specification does not have (R1)', () => {
    const known = new Set(inventory.map(({ id }) => id));
    expect([...entries.keys()].filter((id) => !known.has(id))).toEqual([]);
  });

  it('publishes beyond loopback exactly what the inventory does (R7)', () => {
    const wide = [...entries.values()].flatMap(({ id, ports }) =>
      ports.filter(({ exposure }) => exposure !== 'loopback').map(({ host, protocol }) => `${id} ${host}/${protocol}`),
    );
    const stated = inventory.flatMap(({ id, ports }) =>
      (ports ?? []).filter(({ exposure }) => exposure !== 'loopback').map(({ host, protocol }) => `${id} ${host}/${protocol}`),
    );
    expect(wide.sort()).toEqual(stated.sort());
  });
});

describe.each(inventory.map((component) => [component.id, component] as const))('%s', (_, component) => {
  it('is what the inventory says it is (R1)', () => {
    const entry = entryOf(component);
    const { group, kind, deploy } = component;
    expect(pick(entry, ['group', 'kind', 'deploy'])).toEqual({ group, kind: worded(component, kind), deploy });
    expect(component.product).toContain(entry.product.name);
    expect(readProvenance(component).product.confidence).toBe(component.product_confidence);
    // The document names websockets for some; the product may use them where it does not.
    if (component.websocket) expect(entry.websocket).toBe(true);
    expect(entry.image).toBe(withTag(component.image.replace(/^none\b.*$/, '')));
  });

  it('has the services and images of the inventory (R3, R82)', () => {
    const { services } = entryOf(component);
    for (const service of component.services ?? [])
      expectRows(
        services,
        [{ ...service, image: withTag(service.image), role: worded(component, service.role) }],
        isImage(service.image) ? ['name', 'image', 'role'] : ['name', 'role'],
        'name',
      );
    for (const { name, one_shot: oneShot, cap_add: capAdd } of component.services ?? []) {
      const service = services.find((candidate) => candidate.name === name);
      expect(service?.oneShot).toBe(oneShot ?? false);
      expect(service?.capAdd).toEqual(expect.arrayContaining(capAdd ?? []));
    }
    for (const capability of component.cap_add ?? []) expect(services.flatMap(({ capAdd }) => capAdd)).toContain(capability.split(' ')[0]);
    for (const device of component.devices ?? [])
      expect(services.flatMap(({ devices }) => devices.map((mapping) => mapping.split(':')[0]))).toContain(device.split(' ')[0]);
  });

  it('has exactly the ports of the table (R87)', () => {
    const rows = (ports: readonly object[]) =>
      ports
        .map((port) => pick(port, ['host', 'container', 'protocol', 'exposure', 'role']))
        .map((row) => JSON.stringify(row))
        .sort();
    const { ports } = entryOf(component);
    const wordedPorts = component.ports?.map((port) => ({ ...port, role: worded(component, port.role) }));
    if (wordedPorts || component.deploy !== 'compose') expect(rows(ports)).toEqual(rows(wordedPorts ?? []));
    else {
      // The document names none for a few: theirs are the product's, on loopback, at numbers that the table leaves free.
      const taken = inventory.flatMap((other) => (other.ports ?? []).map(({ host }) => host));
      expect(ports.filter(({ exposure, host }) => exposure !== 'loopback' || taken.includes(host ?? 0))).toEqual([]);
    }
  });

  it('has every field with its type, default, generator, rule and meaning (R17, R19)', () => {
    const expected = (component.fields ?? []).map(({ generator, rule, ...field }) => ({
      ...field,
      // `string:32` of the inventory counts characters.
      ...(generator && { generator: generator.replace('string:', 'alphanumeric:') }),
      ...(rule && { rule }),
    }));
    const { fields } = entryOf(component);
    expectRows(fields, expected, ['name', 'type', 'secret', 'default', 'generator', 'env'], 'name');
    for (const { name, required, rule, meaning } of expected) {
      const field = fields.find((candidate) => candidate.name === name);
      if (required !== 'unstated') expect(field?.required).toBe(required);
      // The catalog may say more in its own words, but not less.
      if (rule) expect(`${withoutCitations(field?.rule)} ${withoutCitations(field?.description)}`).toContain(worded(component, rule));
      if (meaning) expect(withoutCitations(field?.description)).toContain(worded(component, meaning));
    }
  });

  it('offers every endpoint row exactly as it stands there (R33, R35)', () => {
    const { calls } = readProvenance(component);
    const offered = Object.entries(entryOf(component).calls).flatMap(([name, { http, endpoint }]) => {
      if (!http || !endpoint) return [];
      const query = Object.entries(http.query)
        .map(([name, value]) => (value === '' ? name : `${name}=${value}`))
        .join('&');
      return [`${http.method} ${http.path}${query === '' ? '' : `?${query}`} line ${calls[name]?.line ?? ''}`];
    });
    for (const { method, path, line } of component.endpoints ?? []) {
      const methods = method.split(', ');
      for (const one of methods) {
        // A protocol begins with asking what there is; a row of several methods is about whatever lies below its path.
        const start = `${one.replace(/^(?:Cal|Card)DAV$/, 'PROPFIND')} ${path.replace(' (path from product)', '')}`;
        const end = ` line ${line ?? ''}`;
        const found = offered.some((row) => (methods.length > 1 ? row.startsWith(start) && row.endsWith(end) : row === `${start}${end}`));
        expect(found ? `${start}${end}` : offered).toBe(`${start}${end}`);
      }
    }
  });

  it('authenticates as the table says (R41)', () => {
    if (component.auth) expect(withoutCitations(entryOf(component).auth)).toContain(worded(component, component.auth));
  });

  it('has the mounts of the inventory (R3, R28)', () => {
    const { deploy, fields, services, volumes } = entryOf(component);
    // What has no compose.yaml names them alone.
    const mounts =
      deploy === 'compose'
        ? services.flatMap((service) => service.mounts)
        : Object.keys(volumes).map((target) => ({ target, readOnly: false }));
    const stated = (component.volumes ?? []).flatMap(({ mount, ...rest }) => mount.split(', ').map((one) => ({ mount: one, ...rest })));
    for (const { mount: written, mode, meaning } of stated) {
      // A mount that is called like a field is where that field says.
      const mount = String(fields.find(({ name }) => name === written)?.default ?? written);
      const found = mounts.find(({ target }) => isMount(target, mount));
      if (!found) throw new Error(`no mount at ${mount}, only ${mounts.map(({ target }) => target).join(', ')}`);
      if (mode === 'ro') expect(found).toMatchObject({ readOnly: true });
      if (meaning) expect(withoutCitations(volumes[found.target]?.description)).toContain(worded(component, meaning));
    }
  });

  it('has the commands, states, limits, errors and objects of the inventory (R32, R64, R75)', () => {
    const entry = entryOf(component);
    expect(entry.cli).toEqual(expect.arrayContaining((component.cli ?? []).map((command) => worded(component, command))));
    const { transitions, limits, errors } = readProvenance(component);
    const states = (component.states ?? []).map((row) => ({ ...row, from: worded(component, row.from), to: worded(component, row.to) }));
    expectRows(
      withFacts(entry.transitions, 'trigger', transitions),
      states,
      ['from', 'trigger', 'condition', 'to', 'also', 'line'],
      'trigger',
    );
    expectRows(withFacts(entry.limits, 'item', limits), component.limits ?? [], ['item', 'value', 'kind', 'line'], 'item');
    const outcomes = (component.errors ?? []).map((row) => ({ ...row, outcome: worded(component, row.outcome) }));
    expectRows(withFacts(entry.errors, 'condition', errors), outcomes, ['condition', 'outcome', 'line'], 'condition');
    for (const object of component.objects ?? []) {
      const found = entry.objects.find(({ name }) => name === object.name);
      expect(found ?? `no object called ${object.name}`).toMatchObject({ name: object.name });
      const described = (object.fields ?? []).flatMap((field) => (typeof field === 'string' ? [] : [field]));
      expectRows(found?.fields ?? [], described, ['name', 'type', 'required', 'rule'], 'name');
    }
    expect(entry.configFile !== undefined || component.config_file === undefined).toBe(true);
    expect(entry.events.map(withoutCitations)).toEqual(
      expect.arrayContaining((component.events ?? []).map((event) => worded(component, event))),
    );
    // Some rows say it in words: `tunnel-agent (client side)`, `one OIDC provider`, `media-server or media-server-second`.
    const named = (component.depends_on_components ?? []).flatMap((text) => (/ or /.test(text) ? [] : [text.split(' ')[0]]));
    expect(entry.dependsOn).toEqual(expect.arrayContaining(named.filter((name) => inventory.some(({ id }) => id === name))));
  });

  it('has no wording for a text that the inventory does not have', () => {
    const { kind, auth, cli = [], fields = [], volumes = [], errors = [], services = [], ports = [], events = [], states = [] } = component;
    const texts = [kind, auth, ...cli, ...fields.flatMap(({ rule, meaning }) => [rule, meaning])];
    texts.push(...volumes.map(({ meaning }) => meaning), ...errors.map(({ outcome }) => outcome));
    texts.push(...[...services, ...ports].map(({ role }) => role), ...events, ...states.flatMap(({ from, to }) => [from, to]));
    const stated = new Set(texts.map(withoutCitations));
    expect(Object.keys(wordings[component.id] ?? {}).filter((text) => !stated.has(text))).toEqual([]);
  });

  it('names the lines of the specification it rests on', () => {
    expect([...readProvenance(component).lines].sort((a, b) => a - b)).toEqual(expect.arrayContaining(component.line_refs ?? []));
  });
});
