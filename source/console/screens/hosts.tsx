import { useMemo, useRef } from 'react';
import { useParts } from '../context.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useNow } from '../hooks/use-now.ts';
import { useTold } from '../hooks/use-told.ts';
import { hostItems, hostsLines } from '../hosts-lines.ts';
import { type Rectangle, windowStart } from '../layout.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** Hosts, how each is reached, and what is open to them. */
export function Hosts({ rectangle }: { rectangle: Rectangle }) {
  const { theme, deck, commands } = useParts();
  const snapshot = useFleet();
  const nowMs = useNow();
  const { tunnels } = deck;
  const subscribe = useMemo(() => tunnels && ((listener: () => void) => tunnels.subscribe(listener)), [tunnels]);
  useTold(subscribe, 'fact');
  const cursor = useInterface((state) => state.hostsCursor);
  const start = useRef(0);
  const items = hostItems(snapshot, tunnels?.all ?? []);
  const selected = Math.min(cursor, items.length - 1);
  const height = rectangle.height - 2;
  commands.measured.hosts = { height, total: items.length };
  const { lines, at } = hostsLines(items, selected, {
    theme,
    width: rectangle.width - 2,
    nowMs,
    components: snapshot.components,
    destinations: deck.settings.hosts,
  });
  start.current = windowStart({ previous: start.current, selected: at, height, total: lines.length });
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title="Hosts"
      focused
      rows={lines.slice(start.current, start.current + height)}
    />
  );
}
