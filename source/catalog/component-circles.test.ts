import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from './catalog.ts';
import { circlesOf } from './component-circles.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

/** Entries with these dependencies, and the problems reported for them. */
async function load(needs: Record<string, readonly string[]>, { more = '', besides = [] as readonly CatalogEntry[] } = {}) {
  const files = Object.entries(needs).flatMap(([id, dependsOn]) => [
    [`${id}/component.yaml`, soundComponent.replace('id: notes', `id: ${id}`).concat(`dependsOn: [${dependsOn.join(', ')}]\n${more}`)],
    [`${id}/compose.yaml`, soundCompose],
  ]);
  const made = await catalogFolder(Object.fromEntries(files));
  removals.push(made.remove);
  const { entries, problems } = await loadFolder(made.folder, { own: true, besides });
  return {
    entries,
    reported: problems.map(({ level, file, line, field, message }) => ({
      level,
      file: file.slice(made.folder.length + 1),
      line,
      field,
      message,
    })),
  };
}

const line = soundComponent.split('\n').length;

describe('components that depend on each other in a circle', () => {
  it('are told once, at the dependency of the first, and can be used', async () => {
    const { entries, reported } = await load({ bread: ['butter'], butter: ['bread'] });
    expect(reported).toEqual([
      {
        level: 'warning',
        file: 'bread/component.yaml',
        line,
        field: 'dependsOn[0]',
        message: '"bread" and "butter" depend on each other.',
      },
    ]);
    expect(entries.map(({ id }) => id)).toEqual(['bread', 'butter']);
  });

  it('are told with the way round, and each circle by itself', async () => {
    const { reported } = await load({ a: ['b'], b: ['c'], c: ['x', 'a'], x: [], y: ['z'], z: ['y', 'a'] });
    expect(reported.map(({ file, field, message }) => [file, field, message])).toEqual([
      ['a/component.yaml', 'dependsOn[0]', 'Circular dependency: a, b, c, a.'],
      ['y/component.yaml', 'dependsOn[0]', '"y" and "z" depend on each other.'],
    ]);
  });

  it('are told of an own entry that closes a circle with a built-in one, and not of built-in ones alone', async () => {
    const builtIn = (await wholeCatalog()).entries;
    const pair = { more: '', besides: builtIn };
    expect((await load({ 'model-runtime': ['llm-proxy'] }, pair)).reported).toEqual([
      {
        level: 'warning',
        file: 'model-runtime/component.yaml',
        line,
        field: 'dependsOn[0]',
        message: '"model-runtime" and "llm-proxy" depend on each other.',
      },
    ]);
    expect((await load({ lamp: ['tunnel-agent'] }, pair)).reported).toEqual([]);
  });

  it('say why, where both are meant', async () => {
    const { reported } = await load({ bread: ['butter'], butter: ['bread'] }, { more: 'justifies: {dependsOn: neither tastes alone}\n' });
    expect(reported).toEqual([]);
  });

  it('are found in a long chain too', () => {
    const length = 50_000;
    const circles = circlesOf([0], (at) => [at === length ? 0 : at + 1]);
    expect(circles.map((circle) => circle.length)).toEqual([length + 1]);
  });
});

describe('what a component names of others', () => {
  it('may be one that has errors of its own, whatever they are', async () => {
    const made = await catalogFolder({
      'bread/component.yaml': soundComponent.replace('id: notes', 'id: bread').concat('dependsOn: [butter]\n'),
      'bread/compose.yaml': soundCompose,
      'butter/component.yaml': 'id: butter\ngroup: toys\n',
      'butter/compose.yaml': soundCompose,
    });
    removals.push(made.remove);
    const { problems } = await loadFolder(made.folder, { own: true });
    expect(problems.filter(({ file }) => file.includes('/bread/'))).toEqual([]);
  });

  it('is looked up in built-in ones', async () => {
    const builtIn = (await wholeCatalog()).entries;
    const made = await catalogFolder({
      'bread/component.yaml': soundComponent
        .replace('id: notes', 'id: bread')
        .concat(
          'uses: [{component: model-runtime, what: api}, {component: model-runtime, what: apo}, {component: model-runtme, what: api}]\n',
        ),
      'bread/compose.yaml': soundCompose,
    });
    removals.push(made.remove);
    const { problems } = await loadFolder(made.folder, { own: true, besides: builtIn });
    expect(problems.map(({ level, field, message, remedy }) => [level, field, message, remedy])).toEqual([
      ['warning', 'uses[1].what', 'The component "model-runtime" does not provide "apo".', 'Did you mean "api"?'],
      ['warning', 'uses[2].component', 'Unknown component "model-runtme".', 'Did you mean "model-runtime"?'],
    ]);
  });
});
