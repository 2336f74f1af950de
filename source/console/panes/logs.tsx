import { namesOf } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { filterText } from '../filter-text.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useLogWindow } from '../hooks/use-log-window.ts';
import { useSelected } from '../hooks/use-selected.ts';
import type { Rectangle } from '../layout.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';
import { logLines } from './log-lines.ts';

export function LogsPane({ rectangle, focused }: { rectangle: Rectangle; focused: boolean }) {
  const { theme, commands } = useParts();
  const { components } = useFleet();
  const component = useSelected();
  const filters = useInterface((state) => state.filters);
  const editing = useInterface((state) => state.editing);
  const logs = useInterface((state) => state.logs);
  const { window, source } = useLogWindow(filters.logs);

  const height = rectangle.height - 2;
  commands.measured.logs = height;
  const { lines, status } = logLines({
    theme,
    width: rectangle.width - 2,
    height,
    window,
    source,
    logs,
    filter: filters.logs,
    services: component?.services.map((service) => service.name) ?? [],
  });
  const typed = filterText(theme, { filters, editing }, 'logs');
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={component ? `Logs ${theme.glyphs.dot} ${namesOf(components).get(component.key) ?? ''}` : 'Logs'}
      aside={typed || status}
      foot={typed ? status : logs.wrap ? theme.paint('faint', 'wrapped') : ''}
      focused={focused}
      rows={lines}
    />
  );
}
