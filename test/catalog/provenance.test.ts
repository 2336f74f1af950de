import { expect, it } from 'vitest';
import { wholeCatalog } from '../doubles/whole-catalog.ts';
import { inventory } from './inventory.ts';
import { readProvenance, unknownNames } from './provenance.ts';

const entries = new Map((await wholeCatalog()).entries.map((entry) => [entry.id, entry]));
const folderOf = ({ group, id }: { group: string; id: string }) => `${group}/${id}`;

it.each(inventory.map(folderOf))('%s: provenance names only what component.yaml has', (folder) => {
  expect(unknownNames(folder)).toEqual([]);
});

it('says of every status line where the names in the responses come from', () => {
  const withLine = inventory.filter(({ id }) => (entries.get(id)?.probe?.status.length ?? 0) > 0);
  expect(withLine.filter((component) => !readProvenance(component).probe)).toEqual([]);
});

it('says of every port and default of the inventory what it follows from (R7)', () => {
  const wrong = inventory.flatMap((component) => {
    const provenance = readProvenance(component);
    const names = entries.get(component.id)?.ports ?? [];
    const ports = (component.ports ?? []).map(({ host, protocol, exposure_basis: stated }) => {
      const name = names.find((port) => port.host === host && port.protocol === protocol)?.name ?? '';
      return { what: `${component.id} port ${host}`, stated, here: provenance.ports[name]?.basis };
    });
    const defaults = (component.fields ?? []).map(({ name, default_kind: stated }) => ({
      what: `${component.id} field ${name}`,
      stated,
      here: provenance.fields[name]?.defaultKind,
    }));
    return [...ports, ...defaults].filter(({ stated, here }) => stated !== undefined && stated !== here);
  });
  expect(wrong).toEqual([]);
});
