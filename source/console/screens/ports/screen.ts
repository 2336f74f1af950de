import { cleanLine } from '../../../text/clean.ts';
import { cut } from '../../../text/width.ts';
import { filterText } from '../../filter-text.ts';
import { createList, drawList, type Screen } from '../../screen.ts';
import { paragraph } from '../../styled-text.ts';
import { wholeRow } from '../../widgets/table-rows.ts';
import { matchingPorts, portKey } from '../components/rows.ts';
import { addressColumnsOf, isPortCut, portLine, portSentence } from './lines.ts';

const keys = [{ id: 'show-owner', keys: ['enter'], title: 'Go to the component that owns the port', label: 'owner' }] as const;

const spokenRows = 30;

export const ports: Screen<'ports', (typeof keys)[number]['id']> = {
  id: 'ports',
  heading: 'Ports',
  keys,
  kind: 'pane',
  open({ theme, store, commands, app }) {
    const listed = () => matchingPorts(app.fleet.snapshot().ports, store.get().filters.ports);
    const list = createList(
      listed,
      portKey,
      () => ({ selected: store.get().selectedPort }),
      ({ selected }) => store.update(() => ({ selectedPort: selected })),
    );

    return {
      timeless: true,
      reads: (state) => [filterText(theme, state, 'ports'), state.filters.ports, state.selectedPort],
      draw(view) {
        const { state, snapshot, focused } = view;
        const width = view.width - 2;
        const height = view.height - 2;
        const { ports: filter } = state.filters;
        const all = listed();
        const at = list.at(all);
        const chosen = all[at];
        const several = snapshot.engines.length > 1;
        const line = { theme, width, addressColumns: addressColumnsOf(all), several };
        const below = chosen ? wholeRow(isPortCut(chosen, line), portSentence(chosen, several), { theme, width, height }) : [];
        // The notes of the selected port are below the list, then those of the host, as far as they fit.
        const conflictNotes = (chosen?.conflictWith ?? []).map((owner) => `${owner} uses the same port. Only one of the two can use it.`);
        const notes = [chosen?.note ?? '', ...conflictNotes, ...snapshot.engines.flatMap(({ notes }) => notes)].map(cleanLine);
        const mostNotes = Math.max(height >= 8 ? 3 : 0, height - all.length - 1, below.length);
        for (const note of new Set(notes)) {
          const block = paragraph(theme, 'faint', note, width - 4, ` ${theme.glyphs.dot} `);
          if (below.length + block.length <= mostNotes) below.push(...block);
        }
        const conflicts = snapshot.ports.filter(({ conflictWith }) => conflictWith.length > 0).length;
        return {
          title: 'Ports',
          aside: filterText(theme, state, 'ports') || (conflicts > 0 ? theme.paint('error', `${conflicts} in conflict`) : ''),
          ...drawList(view, {
            rows: all,
            at,
            line: (port, isSelected) => portLine(port, { ...line, state: !isSelected ? 'plain' : focused ? 'selected' : 'resting' }),
            empty: () => [filter === '' ? '  Nothing listens here.' : `  ${cut(`No port matches "${filter}".`, width - 4)}`],
            below,
          }),
        };
      },
      // The port under the cursor first: keys act on its owner.
      speak() {
        const all = listed();
        const chosen = list.chosen();
        if (!chosen) return { lines: ['No ports.'] };
        const from = Math.max(0, list.at() - spokenRows + 1);
        const others = all.slice(from, from + spokenRows).filter((port) => port !== chosen);
        const head = `Port ${list.at() + 1} of ${all.length}, selected: ${portSentence(chosen)}`;
        return { lines: [head, ...others.map((port) => portSentence(port))] };
      },
      target() {
        const port = list.chosen();
        if (!port) return { reason: 'No port is selected.' };
        const component = app.fleet.snapshot().components.find(({ key }) => key === port.component);
        return component
          ? { component, host: component.host }
          : { host: port.host, reason: `The port belongs to ${cleanLine(port.owner)}, which is not a component.` };
      },
      move: list.move,
      actions: {
        'show-owner'() {
          const port = list.chosen();
          if (!port?.component) return commands.say('off', port ? `${cleanLine(port.owner)} is not a component.` : 'No port is selected.');
          commands.select(port.component);
          commands.focus('components');
        },
      },
    };
  },
};
