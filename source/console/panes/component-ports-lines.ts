import type { ComponentView, FleetSnapshot } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { wrap } from '../../text/width.ts';
import { matchingPorts } from '../component-rows.ts';
import type { Theme } from '../theme.ts';
import { addressColumnsOf, isPortCut, portLine, portSentence } from './ports.tsx';

interface Options {
  theme: Theme;
  width: number;
  component: ComponentView;
  snapshot: FleetSnapshot;
  filter: string;
}

/** The ports of one component with everything there is to say about them. */
export function componentPortsLines({ theme, width, component, snapshot, filter }: Options): string[] {
  const ports = matchingPorts(snapshot.ports, filter).filter((port) => port.component === component.key);
  const note = (text: string) =>
    wrap(cleanLine(text), width - 6).map((line, row) => `   ${row === 0 ? theme.glyphs.dot : ' '} ${theme.paint('faint', line)}`);
  const addressColumns = addressColumnsOf(ports);
  const lines = ports.flatMap((port) => [
    portLine(port, { theme, width, addressColumns, state: 'plain' }),
    ...(isPortCut(port, { theme, width, addressColumns }) ? note(portSentence(port)) : []),
    ...(port.note ? note(port.note) : []),
  ]);
  if (ports.length === 0) lines.push(` ${theme.paint('faint', 'It publishes no ports.')}`);
  const inside = component.services.flatMap((service) =>
    service.ports
      .filter((port) => port.hostPort === undefined)
      .map((port) => `${cleanLine(service.name)} ${port.containerPort}/${port.protocol}`),
  );
  if (inside.length > 0) {
    lines.push(
      '',
      ` ${theme.paint('heading', 'Only inside its networks')}`,
      ...wrap([...new Set(inside)].join(', '), width - 4).map((line) => `   ${line}`),
    );
  }
  const place = snapshot.places.find((candidate) => candidate.name === component.host);
  if (place && place.notes.length > 0) lines.push('', ` ${theme.paint('heading', 'Good to know')}`, ...place.notes.flatMap(note));
  return lines;
}
