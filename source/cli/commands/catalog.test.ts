import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { inventory, withoutCitations, withTag, worded } from '../../../test/catalog/inventory.ts';
import { catalogFolder, soundComponent, soundCompose } from '../../../test/doubles/catalog-folder.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import { defaultSettings } from '../../config/settings.ts';
import { textWidth } from '../../text/width.ts';
import { Output } from '../output.ts';
import { runCatalogVerb } from './catalog.ts';

let builtIn: readonly CatalogEntry[];
beforeAll(async () => {
  builtIn = (await wholeCatalog()).entries;
});
const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

async function run(
  words: string[],
  {
    json = false,
    readOnly = false,
    columns = 100,
    entries = builtIn,
    ownFolder,
    path = false,
  }: { path?: boolean; json?: boolean; readOnly?: boolean; columns?: number; entries?: readonly CatalogEntry[]; ownFolder?: string } = {},
) {
  let out = '';
  let err = '';
  const stream = (add: (text: string) => void) =>
    Object.assign(
      new Writable({
        write(chunk, _, done) {
          add(String(chunk));
          done();
        },
      }),
      { isTTY: true, columns },
    ) as unknown as NodeJS.WriteStream;
  const output = new Output({
    stdout: stream((text) => (out += text)),
    stderr: stream((text) => (err += text)),
    env: { NO_COLOR: '1', LANG: 'C.UTF-8' },
  });
  const options = { json, practice: false, readOnly, colour: false, verbose: false, dryRun: false, yes: false };
  const paths = { config: '', state: '', data: '', cache: '', run: '' };
  const code = await runCatalogVerb({ output, options, paths, env: {} }, words, {
    path,
    open: async () => ({ settings: defaultSettings, catalog: catalogOf(entries, []), ownFolder }),
  });
  return { code, out, err, lines: out.trimEnd().split('\n') };
}

it.each([
  [['schema', 'a', 'b'], 'catalog schema accepts no arguments'],
  [['show', 'a', 'b'], 'catalog show accepts one name, not 2.'],
  [['check', 'a', 'b'], 'catalog check accepts one folder, not 2.'],
])('%j is refused with what is accepted', async (words, message) => {
  await expect(run(words)).rejects.toThrow(message);
});

describe('catalog list', () => {
  it('names every component under its group, by what it is (R1)', async () => {
    const { out, code } = await run([], { columns: 200 });
    expect(code).toBe(0);
    expect(out.indexOf('Security & identity')).toBeLessThan(out.indexOf('password-vault'));
    expect(out.indexOf('password-vault')).toBeLessThan(out.indexOf('Networking'));
    for (const { id, kind } of builtIn) expect(out).toMatch(new RegExp(`^  ${id} .*${kind.slice(0, 20).replaceAll(/[()]/g, '.')}`, 'm'));
  });

  it('finds by what is looked for, and says when nothing is like it', async () => {
    expect((await run(['list', 'bitwarden'])).lines.at(-1)).toMatch(/^1 match for "bitwarden"/);
    const none = await run(['list', 'xqzzwv']);
    expect(none).toMatchObject({
      code: 0,
      lines: ['No component matches "xqzzwv". List all components: quarterdeck catalog list'],
    });
  });

  it('has the documented JSON shape, with the facts of the inventory (R87, R33)', async () => {
    const { out } = await run(['list'], { json: true });
    const { schema, components } = JSON.parse(out) as { schema: number; components: Record<string, unknown>[] };
    expect(schema).toBe(1);
    expect(components).toHaveLength(builtIn.length);
    for (const component of components) {
      const stated = inventory.find(({ id }) => id === component['id']);
      for (const key of ['id', 'group', 'deploy'] as const) expect(component[key]).toBe(withoutCitations(stated?.[key]));
      expect(component['kind']).toBe(stated && worded(stated, stated.kind));
      // The inventory states in words that there is none.
      expect(component['image']).toBe(withTag(stated?.image.replace(/^none\b.*$/, '') ?? ''));
      expect(typeof component['product']).toBe('string');
      expect(component['ports']).toEqual(
        expect.arrayContaining(
          (stated?.ports ?? []).map(({ host, container, protocol, exposure, role }) =>
            expect.objectContaining({ host, container, protocol, exposure, role: stated && worded(stated, role) }),
          ),
        ),
      );
      // Rows with several methods, with protocols, and with a query without a value are checked against the catalog by their own test.
      const rows = (stated?.endpoints ?? []).filter(({ method, path }) => /^[A-Z]+$/.test(method) && !/ |\?\w+$/.test(path));
      expect(component['endpoints']).toEqual(expect.arrayContaining(rows.map(({ method, path }) => ({ method, path }))));
      expect(component['fields']).toEqual(
        expect.arrayContaining((stated?.fields ?? []).map(({ name, type, secret }) => expect.objectContaining({ name, type, secret }))),
      );
      for (const list of ['operations', 'checks']) for (const item of component[list] as object[]) expect(item).toHaveProperty('id');
    }
  });
});

describe('catalog show', () => {
  it('tells all about one component', async () => {
    const { out } = await run(['show', 'password-vault']);
    for (const part of [
      'password-vault',
      'Security & identity',
      'Vaultwarden',
      '127.0.0.1:8180 -> 80/tcp',
      'SIGNUPS_ALLOWED',
      'generated (base64:48)',
      'POST /admin',
      '/data',
      'First run',
      'States',
    ])
      expect(out).toContain(part);
    expect(out).not.toMatch(/\{[a-z(]/);
  });

  it('says of a probe without an interval of its own that the settings decide (R81)', async () => {
    const [first] = builtIn.filter(({ probe }) => probe !== undefined);
    const probe = { ...first?.probe, every: undefined };
    const { out } = await run(['show', first?.id ?? ''], { entries: [{ ...first, probe } as CatalogEntry] });
    expect(out).toContain('at the configured interval');
    expect(out).not.toContain('undefined');
  });

  it('says of what is not deployed where it runs, and which components bring it', async () => {
    const { out } = await run(['show', 'relational-database']);
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(
      /Not deployed by Quarterdeck\. The component is a service inside other components: .*rss-reader.* Image postgres:16-alpine/,
    );
    expect((await run(['show', 'source-forge'])).out).toContain('Forgejo / Gitea');
    const { component } = JSON.parse((await run(['show', 'relational-database'], { json: true })).out) as { component: object };
    expect(component).toMatchObject({ deploy: 'embedded', broughtBy: expect.arrayContaining(['llm-proxy']) });
  });

  it('wraps to any width and never shows an escape sequence', async () => {
    for (const columns of [30, 40, 80, 100, 240]) {
      for (const { id } of builtIn) {
        const { lines } = await run(['show', id], { columns });
        for (const line of lines) expect(textWidth(line), `${id} at ${columns}: ${line}`).toBeLessThanOrEqual(columns);
      }
    }
  });

  it("cleans what an operator's own catalog says", async () => {
    const [first] = builtIn;
    const hostile = {
      ...first,
      id: 'evil',
      kind: 'red \u001b[31m\u001b]0;title\u0007 \u202e',
      notes: ['a\nb\u001b[2J'],
      own: true,
    } as CatalogEntry;
    const { out } = await run(['show', 'evil'], { entries: [hostile] });
    expect(out).not.toMatch(/[\u001b\u0007\u202e]/);
  });

  it('gives the whole entry as JSON', async () => {
    const { component } = JSON.parse((await run(['show', 'secrets-manager-path'], { json: true })).out) as {
      component: Record<string, unknown>;
    };
    expect(component).toMatchObject({
      id: 'secrets-manager-path',
      services: expect.any(Array),
      limits: expect.arrayContaining([expect.objectContaining({ value: '3 of 5 keys' })]),
      transitions: expect.any(Array),
    });
  });

  it('suggests what was meant', async () => {
    await expect(run(['show', 'pasword-vault'])).rejects.toMatchObject({
      code: 'usage.component',
      remedy: 'Did you mean "password-vault"?',
    });
    await expect(run(['show'])).rejects.toMatchObject({ code: 'usage.catalog' });
    await expect(run(['lsit'])).rejects.toMatchObject({ code: 'usage.catalog', remedy: 'Did you mean "list"?' });
    await expect(run(['show', 'a', 'b'])).rejects.toMatchObject({ code: 'usage.catalog' });
  });
});

describe('catalog schema', () => {
  it('is JSON Schema that knows the keys, or says where it is', async () => {
    const { out, code } = await run(['schema'], { columns: 40 });
    expect(code).toBe(0);
    const schema = JSON.parse(out) as { properties: Record<string, object> };
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(['id', 'probe', 'backup', 'firstRun']));
    const { out: file } = await run(['schema'], { path: true });
    expect(file).toMatch(/^\/.*component\.schema\.json\n$/);
    expect(JSON.parse(readFileSync(file.trim(), 'utf8'))).toEqual(schema);
    await expect(run(['list'], { path: true })).rejects.toMatchObject({ code: 'usage.catalog' });
    await expect(run(['schema', 'x'])).rejects.toMatchObject({ code: 'usage.catalog' });
  });
});

describe('catalog check', () => {
  async function own(component: string) {
    const { folder, remove } = await catalogFolder({ 'notes/component.yaml': component, 'notes/compose.yaml': soundCompose });
    removals.push(remove);
    return folder;
  }

  it('ends with 0 when nothing is wrong', async () => {
    const { code, out } = await run(['check', await own(soundComponent)]);
    expect(code).toBe(0);
    expect(out).toContain('1 component can be used; no problems found.');
  });

  it('names file, line, column, field and remedy, and ends with 1', async () => {
    const folder = await own(soundComponent.replace('exposure: loopback', 'exposuer: loopback'));
    const { code, lines } = await run(['check', folder]);
    expect(code).toBe(1);
    expect(lines).toEqual([
      `${folder}/notes/component.yaml:12:25 error ports.web.exposuer`,
      '  Unknown key "exposuer".',
      '  Did you mean "exposure"?',
      '',
      '✖ 0 components can be used; 1 error.',
    ]);
    const json = JSON.parse((await run(['check', folder], { json: true })).out) as { problems: object[] };
    expect(json.problems).toContainEqual(
      expect.objectContaining({ line: 12, column: 25, field: 'ports.web.exposuer', level: 'error', remedy: 'Did you mean "exposure"?' }),
    );
  });

  it('does not call a folder sound that has no component', async () => {
    const { folder, remove } = await catalogFolder({ 'notes/README.md': 'x' });
    removals.push(remove);
    const { code, out } = await run(['check', folder]);
    expect(code).toBe(0);
    expect(out).toContain('No components found. A component is a folder with component.yaml and compose.yaml.');
    expect(out).not.toContain('no problems found');
  });

  it('checks the own folder when none is named, and says so when there is none', async () => {
    const folder = await own(soundComponent);
    expect((await run(['check'], { ownFolder: folder })).code).toBe(0);
    await expect(run(['check'])).rejects.toMatchObject({ code: 'usage.catalog' });
    await expect(run(['check', join(folder, 'missing')])).rejects.toMatchObject({ code: 'catalog.missing' });
    await expect(run(['check', folder], { readOnly: true })).rejects.toMatchObject({ code: 'refused.readOnly' });
  });
});
