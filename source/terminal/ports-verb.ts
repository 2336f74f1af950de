import type { PortView, Tone } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import type { Output } from './output.ts';
import { whileWaiting } from './slow-waits.ts';
import { portsJson } from './status-json.ts';
import { throwIfNothingAnswers } from './status-verb.ts';
import { type TableColumn, tableLines } from './table.ts';
import type { VerbContext } from './verb.ts';
import { troubleOf } from './way-text.ts';

const tones: Record<PortView['exposure'], Tone> = { loopback: 'good', lan: 'warn', public: 'bad', unknown: 'unknown' };

/** `ports`: every listening socket and every published port, also of what is no container. */
export async function runPortsVerb({ output, options, signal, deck }: VerbContext): Promise<number> {
  const { fleet } = await deck();
  const snapshot = await whileWaiting(
    output,
    () => 'Waiting for the engine',
    () => fleet.settle(signal, { complete: true }),
  );
  if (options.json) output.json(portsJson(snapshot));
  else if (snapshot.ports.length > 0 || snapshot.places.some(({ engine }) => engine.reachable)) {
    for (const [index, place] of snapshot.places.entries()) {
      if (index > 0) output.line();
      if (snapshot.places.length > 1) output.line(output.paint('strong', cleanLine(place.name)));
      const ports = snapshot.ports.filter(({ host }) => host === place.name);
      const trouble = place.engine.reachable || ports.length > 0 ? undefined : troubleOf(place);
      if (trouble) {
        for (const text of wrap(cleanLine(trouble.message), output.proseColumns)) output.line(text);
        continue;
      }
      for (const line of portLines(ports, output)) output.line(line);
      // Those of single ports say the same again, each for its row in the console.
      const notes = new Set([...place.notes, ...(options.verbose ? ports.flatMap(({ note }) => note ?? []) : [])]);
      if (notes.size > 0) output.line();
      for (const note of notes) {
        const [first = '', ...more] = wrap(cleanLine(note), output.proseColumns - 2);
        output.line(output.paint('faint', `- ${first}`));
        for (const text of more) output.line(output.paint('faint', `  ${text}`));
      }
    }
  }
  throwIfNothingAnswers(snapshot);
  return 0;
}

export function portLines(ports: readonly PortView[], output: Output): string[] {
  if (ports.length === 0) return ['No ports are open or published.'];
  const toneOf = ({ conflictWith, open, exposure }: PortView): Tone => (conflictWith.length > 0 ? 'bad' : open ? tones[exposure] : 'idle');
  const rows = ports.map((port) => {
    const address = port.address.includes(':') ? `[${port.address}]` : port.address;
    const serves = [
      port.role,
      port.containerPort !== undefined && port.containerPort !== port.port ? `to ${port.containerPort}` : undefined,
    ].filter((part) => part !== undefined);
    const conflict = port.conflictWith.length > 0 ? `conflict with ${port.conflictWith.join(', ')}` : '';
    return [
      `${output.glyph(toneOf(port))} ${cleanLine(address)}:${port.port}/${port.protocol}`,
      port.exposure,
      cleanLine(port.service !== undefined && port.service !== port.owner ? `${port.owner} (${port.service})` : port.owner),
      cleanLine(conflict || [...(port.open ? [] : ['not listening now']), ...serves].join(', ')),
    ];
  });
  const tone = (row: number) => toneOf(ports[row] as PortView);
  const columns: TableColumn[] = [
    { heading: '  LISTENS AT', least: 18, paint: (cell, row) => output.paint(tone(row), cell.slice(0, 1)) + cell.slice(1) },
    { heading: 'EXPOSURE', paint: (cell, row) => output.paint(tone(row), cell) },
    { heading: 'WHO', least: 14 },
    { heading: 'WHAT FOR', least: 10, paint: (cell) => output.paint('faint', cell) },
  ];
  return tableLines(columns, rows, { width: output.columns, heading: (text) => output.paint('faint', text) });
}
