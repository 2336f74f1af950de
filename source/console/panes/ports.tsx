import { useRef } from 'react';
import type { PortView } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut, pad, wrap } from '../../text/width.ts';
import { matchingPorts, portKey } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { useFilterText } from '../hooks/use-filter-text.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { type Rectangle, windowStart } from '../layout.ts';
import { padStyled, unstyled } from '../styled-text.ts';
import type { Role, Theme } from '../theme.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';
import { wholeRow } from '../widgets/whole-row.ts';

const exposureRoles: Readonly<Record<PortView['exposure'], Role>> = { loopback: 'good', lan: 'busy', public: 'warn', unknown: 'unknown' };

export function addressText(port: Pick<PortView, 'address' | 'port' | 'protocol'>): string {
  const address = port.address.includes(':') ? `[${port.address}]` : port.address;
  return `${cleanLine(address)}:${port.port}/${port.protocol}`;
}

/** What there is to know about a port, in a few words: conflicts first. */
function remark(port: PortView): { role: Role; text: string } {
  if (port.conflictWith.length > 0) return { role: 'bad', text: `conflict with ${port.conflictWith.map(cleanLine).join(', ')}` };
  const role = [
    port.containerPort !== undefined && port.containerPort !== port.port ? `to ${port.containerPort}` : '',
    cleanLine(port.role ?? ''),
  ]
    .filter(Boolean)
    .join(' ');
  if (!port.open) return { role: 'idle', text: `not listening now${role ? `, ${role}` : ''}` };
  return { role: 'faint', text: role || cleanLine(port.note ?? '') };
}

/** Columns for addresses, so that none of these is cut but those of IPv6. */
export function addressColumnsOf(ports: readonly PortView[]): number {
  return Math.min(26, Math.max(14, ...ports.map((port) => addressText(port).length)));
}

export interface PortLineOptions {
  theme: Theme;
  width: number;
  addressColumns: number;
  state: 'selected' | 'resting' | 'plain';
  /** Ports of several machines are listed: whose each is has to be said. */
  several?: boolean;
}

export function portLine(port: PortView, { theme, width, addressColumns, state, several = false }: PortLineOptions): string {
  const { glyphs } = theme;
  const marked = state !== 'plain';
  const conflict = port.conflictWith.length > 0;
  const tone = conflict ? 'bad' : port.open ? 'good' : 'idle';
  const room = width - addressColumns - 4 - 9 - 1;
  const { role, text } = remark(port);
  // Where there is room for a remark it says what there is to say; otherwise one word has to do.
  const ownerColumns = room < 40 ? room : Math.min(26, Math.round(room * 0.45));
  const wide = ownerColumns < room;
  const word = !wide && conflict ? 'conflict' : !wide && !port.open ? 'closed' : port.exposure;
  const wordRole = word === 'conflict' ? 'bad' : word === 'closed' ? 'idle' : exposureRoles[port.exposure];
  const line = padStyled(
    [
      `${marked ? theme.paint('accent', glyphs.pointer) : ' '}${theme.paint(tone, glyphs.tone[tone])} ${pad(addressText(port), addressColumns, 'left', glyphs.ellipsis)}`,
      theme.paint(wordRole, pad(word, 8)),
      pad(cleanLine(several ? `${port.host}/${port.owner}` : port.owner), ownerColumns, 'left', glyphs.ellipsis),
      ...(wide ? [theme.paint(marked && role === 'faint' ? 'strong' : role, cut(text, room - ownerColumns - 1, glyphs.ellipsis))] : []),
    ].join(' '),
    width,
    glyphs.ellipsis,
  );
  return marked ? theme.paint(state, line) : line;
}

/** All about a port in a sentence. */
export function portSentence(port: PortView, several = false): string {
  const { text } = remark(port);
  const owner = several ? `${port.host}/${port.owner}` : port.owner;
  return `${[addressText(port), port.exposure, owner, text].map(cleanLine).filter(Boolean).join(', ')}.`;
}

/** Does `portLine` cut something of it, or leave it out, that its notes do not say either? */
export function isPortCut(port: PortView, options: Omit<PortLineOptions, 'state'>): boolean {
  const line = unstyled(portLine(port, { ...options, state: 'plain' }));
  const { text } = remark(port);
  const isNoted = port.conflictWith.length > 0 || text === cleanLine(port.note ?? '');
  const owner = cleanLine(options.several ? `${port.host}/${port.owner}` : port.owner);
  return ![addressText(port), owner, isNoted ? '' : text].every((part) => line.includes(part));
}

export function PortsPane({ rectangle, focused }: { rectangle: Rectangle; focused: boolean }) {
  const { theme, commands } = useParts();
  const snapshot = useFleet();
  const filter = useInterface((state) => state.filters.ports);
  const filterLine = useFilterText('ports');
  const selectedKey = useInterface((state) => state.selectedPort);
  const start = useRef(0);

  const width = rectangle.width - 2;
  const height = rectangle.height - 2;
  const ports = matchingPorts(snapshot.ports, filter);
  const index =
    ports.length === 0
      ? -1
      : Math.max(
          0,
          ports.findIndex((port) => portKey(port) === selectedKey),
        );
  const chosen = ports[index];

  const addressColumns = addressColumnsOf(ports);
  const several = snapshot.places.length > 1;
  const line = { theme, width, addressColumns, several };
  const whole = chosen ? wholeRow(isPortCut(chosen, line), portSentence(chosen, several), { theme, width, height }) : [];

  // What concerns the selected port stands below the list, then what concerns the host, as far as there is room.
  const about = chosen
    ? [chosen.note, ...chosen.conflictWith.map((owner) => `${owner} wants the same port: only one of them can have it.`)]
    : [];
  const notes = [
    ...new Set([...about, ...snapshot.places.flatMap((place) => place.notes)].flatMap((note) => (note ? [cleanLine(note)] : []))),
  ];
  const blocks = notes.map((note) =>
    wrap(note, width - 4).map((line, row) => `${row === 0 ? ` ${theme.glyphs.dot} ` : '   '}${theme.paint('faint', line)}`),
  );
  const mostNotes = Math.max(height >= 8 ? 3 : 0, height - ports.length - 1, whole.length);
  const noteLines = [...whole];
  for (const block of blocks) if (noteLines.length + block.length <= mostNotes) noteLines.push(...block);
  const noteRoom = noteLines.length;
  const listHeight = Math.max(1, height - noteRoom);
  start.current = windowStart({ previous: start.current, selected: index, height: listHeight, total: ports.length });
  commands.measured.ports = listHeight;

  const list = ports.slice(start.current, start.current + listHeight).map((port) => {
    const state = port !== chosen ? 'plain' : focused ? 'selected' : 'resting';
    return portLine(port, { ...line, state });
  });
  if (ports.length === 0) list.push(filter === '' ? '  Nothing listens here.' : `  ${cut(`No port matches "${filter}".`, width - 4)}`);
  while (list.length < listHeight && noteRoom > 0) list.push('');

  const conflicts = snapshot.ports.filter((port) => port.conflictWith.length > 0).length;
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title="Ports"
      aside={filterLine || (conflicts > 0 ? theme.paint('bad', `${conflicts} in conflict`) : '')}
      foot={ports.length > 0 ? theme.paint('faint', `${index + 1} of ${ports.length}`) : ''}
      focused={focused}
      rows={[...list, ...noteLines]}
    />
  );
}
