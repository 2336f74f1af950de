import type { ComponentView, PortView } from '../../../fleet/model.ts';
import { urlHost } from '../../../text/authority.ts';
import { cleanLine } from '../../../text/clean.ts';
import { cut, pad } from '../../../text/width.ts';
import type { View } from '../../screen.ts';
import { padStyled, paragraph, unstyled } from '../../styled-text.ts';
import type { Role } from '../../theme.ts';
import type { RowSpace } from '../../widgets/table-rows.ts';
import { matchingPorts } from '../components/rows.ts';

const exposureRoles: Readonly<Record<PortView['exposure'], Role>> = { loopback: 'ok', lan: 'busy', public: 'warning', unknown: 'unknown' };

function addressText(port: Pick<PortView, 'address' | 'port' | 'protocol'>): string {
  const address = urlHost(port.address);
  return `${cleanLine(address)}:${port.port}/${port.protocol}`;
}

function remark(port: PortView): { role: Role; text: string } {
  if (port.conflictWith.length > 0) return { role: 'error', text: `conflict with ${port.conflictWith.map(cleanLine).join(', ')}` };
  const target = port.containerPort !== undefined && port.containerPort !== port.port ? `to ${port.containerPort}` : '';
  const role = [target, cleanLine(port.role ?? '')].filter(Boolean).join(' ');
  if (!port.open) return { role: 'off', text: `not listening now${role ? `, ${role}` : ''}` };
  return { role: 'faint', text: role || cleanLine(port.note ?? '') };
}

/** Returns the width of the address column, so that no address is cut except IPv6. */
export function addressColumnsOf(ports: readonly PortView[]): number {
  return Math.min(26, Math.max(14, ...ports.map((port) => addressText(port).length)));
}

interface PortLineOptions extends RowSpace {
  addressColumns: number;
  state: 'selected' | 'resting' | 'plain';
  /** Ports of several machines are listed, so each row names its machine. */
  several?: boolean;
}

export function portLine(port: PortView, { theme, width, addressColumns, state, several = false }: PortLineOptions): string {
  const { glyphs } = theme;
  const marked = state !== 'plain';
  const conflict = port.conflictWith.length > 0;
  const severity = conflict ? 'error' : port.open ? 'ok' : 'off';
  const room = width - addressColumns - 4 - 9 - 1;
  const { role, text } = remark(port);
  // With enough space the remark is a sentence; otherwise it is one word.
  const ownerColumns = room < 40 ? room : Math.min(26, Math.round(room * 0.45));
  const wide = ownerColumns < room;
  const word = !wide && conflict ? 'conflict' : !wide && !port.open ? 'closed' : port.exposure;
  const wordRole = word === 'conflict' ? 'error' : word === 'closed' ? 'off' : exposureRoles[port.exposure];
  const parts = [
    `${marked ? theme.paint('accent', glyphs.pointer) : ' '}${theme.paint(severity, glyphs.severity[severity])} ${pad(addressText(port), addressColumns, 'left', glyphs.ellipsis)}`,
    theme.paint(wordRole, pad(word, 8)),
    pad(cleanLine(several ? `${port.host}/${port.owner}` : port.owner), ownerColumns, 'left', glyphs.ellipsis),
    ...(wide ? [theme.paint(marked && role === 'faint' ? 'strong' : role, cut(text, room - ownerColumns - 1, glyphs.ellipsis))] : []),
  ];
  const line = padStyled(parts.join(' '), width, glyphs.ellipsis);
  return marked ? theme.paint(state, line) : line;
}

export function portSentence(port: PortView, several = false): string {
  const { text } = remark(port);
  const owner = several ? `${port.host}/${port.owner}` : port.owner;
  return `${[addressText(port), port.exposure, owner, text].map(cleanLine).filter(Boolean).join(', ')}.`;
}

/** Returns whether `portLine` cuts or omits information that its notes do not repeat. */
export function isPortCut(port: PortView, options: Omit<PortLineOptions, 'state'>): boolean {
  const line = unstyled(portLine(port, { ...options, state: 'plain' }));
  const { text } = remark(port);
  const isNoted = port.conflictWith.length > 0 || text === cleanLine(port.note ?? '');
  const owner = cleanLine(options.several ? `${port.host}/${port.owner}` : port.owner);
  return ![addressText(port), owner, isNoted ? '' : text].every((part) => line.includes(part));
}

export function componentPortsLines({ theme, width, snapshot }: View, component: ComponentView, filter: string): string[] {
  const ports = matchingPorts(snapshot.ports, filter).filter((port) => port.component === component.key);
  const heading = (text: string) => ` ${theme.paint('heading', text)}`;
  const note = (text: string) => paragraph(theme, 'faint', text, width - 6, `   ${theme.glyphs.dot} `);
  const addressColumns = addressColumnsOf(ports);
  const lines = ports.flatMap((port) => [
    portLine(port, { theme, width, addressColumns, state: 'plain' }),
    ...(isPortCut(port, { theme, width, addressColumns }) ? note(portSentence(port)) : []),
    ...(port.note ? note(port.note) : []),
  ]);
  if (ports.length === 0) lines.push(` ${theme.paint('faint', 'No published ports.')}`);
  const inside = component.services.flatMap((service) =>
    service.ports
      .filter((port) => port.hostPort === undefined)
      .map((port) => `${cleanLine(service.name)} ${port.containerPort}/${port.protocol}`),
  );
  if (inside.length > 0) {
    const names = [...new Set(inside)].join(', ');
    lines.push('', heading('Only on container networks'), ...paragraph(theme, undefined, names, width - 4, '   '));
  }
  const engineView = snapshot.engines.find((candidate) => candidate.name === component.host);
  if (engineView && engineView.notes.length > 0) lines.push('', heading('Notes'), ...engineView.notes.flatMap(note));
  return lines;
}
