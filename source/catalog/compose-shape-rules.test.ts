import { afterEach, describe, expect, it } from 'vitest';
import { atTop, inService, shapeFile } from '../../test/catalog/compose-shape-cases.ts';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import type { CatalogProblem } from './catalog.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

/** Problems that the rule, or the parser, reports for this compose file. */
async function shapes(compose: string, { own = true, justifies = '' } = {}): Promise<CatalogProblem[]> {
  const made = await catalogFolder({
    'notes/component.yaml': soundComponent.replace('\nvolumes:\n', `\njustifies: {${justifies}}\nvolumes:\n`),
    'notes/compose.yaml': compose,
  });
  removals.push(made.remove);
  const { problems } = await loadFolder(made.folder, { own });
  return problems.filter(({ rule }) => rule === undefined || rule === 'shapes');
}

const levels = { nobody: undefined, 'the older': 'warning', all: 'error' } as const;

describe('a compose file', () => {
  // test/real/compose-shapes.test.ts runs the programs themselves.
  it.each([...inService.map((one) => ({ ...one, top: false })), ...atTop.map((one) => ({ ...one, top: true }))])(
    'with "$written" is refused by $refusal',
    async ({ written, refusal, reported, top }) => {
      const [first, ...more] = await shapes(shapeFile({ written, refusal }, top));
      expect([first?.level, ...more]).toEqual([levels[refusal]]);
      if (first === undefined) return;
      expect(first.line).toBe(
        shapeFile({ written, refusal }, top)
          .split('\n')
          .findIndex((line) => line.trim() === written) + 1,
      );
      expect(`${first.message} ${first.remedy}`).toMatch(
        reported ?? (refusal === 'all' ? /[Cc]ompose rejects the whole file/ : /^docker-compose 1\.29 .*rejects the whole file/),
      );
    },
  );

  it('is held to what every program takes in the built-in catalog', async () => {
    const [first] = await shapes(soundCompose.replace('    depends_on: [db]\n', '    depends_on: [db]\n    gpus: all\n'), { own: false });
    expect(first).toMatchObject({ level: 'error', field: 'services.app.gpus', line: 6, column: 5 });
  });

  it('keeps the name of its project, by which its containers are found again', async () => {
    const [first] = await shapes(`name: other\n${soundCompose}`, { justifies: 'name: n' });
    expect(first).toMatchObject({
      level: 'error',
      line: 1,
      message: 'Quarterdeck would not recognise a project named "other" as "notes".',
    });
  });

  it.each([
    ['deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}', 'podman-compose 1.0.3 ignores device reservations.'],
    ['group_add: [video]', 'podman-compose 1.0.3 ignores group_add.'],
    ['networks: {default: {ipv4_address: 192.0.2.9}}', 'podman-compose receives only the network name, without ipv4_address.'],
    ['volumes: [{type: image, source: busybox, target: /x}]', 'podman-compose 1.0.3 does not support mounts of type image and fails.'],
    ['hostname: "${OWNER:-${NAME:-a}}"', 'docker-compose 1.29 and podman-compose 1.0.3 do not expand variables in the default of OWNER.'],
  ])('with "%s" is another for an older program', async (written, message) => {
    expect(await shapes(shapeFile({ written, refusal: 'nobody' }, false))).toMatchObject([{ level: 'warning', message }]);
  });

  it.each([
    ['healthcheck: {test: [CMD, "true"], retries: many}', '"retries" must be a whole number, or compose rejects the whole file.'],
    ['init: "${OWNER:-perhaps}"', '"init" must be true or false, or compose rejects the whole file.'],
  ])('is refused where "%s" comes to another kind of value', async (written, message) => {
    expect(await shapes(shapeFile({ written, refusal: 'all' }, false))).toMatchObject([{ level: 'error', message }]);
  });

  it('may use what nobody here knows, where the entry says why', async () => {
    const compose = soundCompose.replace('    depends_on: [db]\n', '    depends_on: [db]\n    hologram: true\n    x-mine: 1\n');
    expect(await shapes(compose, { justifies: 'hologram: it is new, x-mine: m' })).toMatchObject([
      { level: 'warning', message: 'No supported compose program accepts "hologram".' },
    ]);
  });
});
