import { troubleOf } from '../../app/connection-text.ts';
import { throwIfNothingAnswers } from '../../fleet/engine-view.ts';
import type { PortView, Severity } from '../../fleet/model.ts';
import { urlHost } from '../../text/authority.ts';
import { cleanLine } from '../../text/clean.ts';
import { wrap } from '../../text/width.ts';
import type { VerbContext } from '../command.ts';
import { hangingLines, type Output } from '../output.ts';
import { portsJson } from '../status-json.ts';
import { settleFleet } from './status.ts';

const severities: Record<PortView['exposure'], Severity> = { loopback: 'ok', lan: 'warning', public: 'error', unknown: 'unknown' };

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the ports of each engine, or why it has none, then its notes
export async function runPortsVerb(context: VerbContext): Promise<number> {
  const { output, options, app } = context;
  const snapshot = await settleFleet(context, (await app()).fleet, true);
  if (options.json) output.json(portsJson(snapshot));
  else if (snapshot.ports.length > 0 || snapshot.engines.some(({ engine }) => engine.reachable)) {
    for (const [index, engineView] of snapshot.engines.entries()) {
      if (index > 0) output.line();
      if (snapshot.engines.length > 1) output.line(output.paint('strong', cleanLine(engineView.name)));
      const ports = snapshot.ports.filter(({ host }) => host === engineView.name);
      const trouble = engineView.engine.reachable || ports.length > 0 ? undefined : troubleOf(engineView);
      if (trouble) {
        output.lines(wrap(cleanLine(trouble.message), output.proseColumns));
        continue;
      }
      printPorts(ports, output);
      // The notes of single ports repeat these, each for its row in the console.
      const notes = new Set([...engineView.notes, ...(options.verbose ? ports.flatMap(({ note }) => note ?? []) : [])]);
      if (notes.size > 0) output.line();
      for (const note of notes)
        for (const line of hangingLines('- ', cleanLine(note), output.proseColumns)) output.line(output.paint('faint', line));
    }
  }
  throwIfNothingAnswers(snapshot);
  return 0;
}

function printPorts(ports: readonly PortView[], output: Output) {
  if (ports.length === 0) return output.line('No ports are open or published.');
  const severityOf = ({ conflictWith, open, exposure }: PortView): Severity =>
    conflictWith.length > 0 ? 'error' : open ? severities[exposure] : 'off';
  const purposeOf = ({ role, containerPort, port, conflictWith, open }: PortView) => {
    if (conflictWith.length > 0) return `conflict with ${conflictWith.join(', ')}`;
    const isMapped = containerPort !== undefined && containerPort !== port;
    return [open ? '' : 'not listening now', role, isMapped ? `to ${containerPort}` : ''].filter(Boolean).join(', ');
  };
  output.list(ports, {
    '  ADDRESS': {
      cell: (port) => `${output.glyph(severityOf(port))} ${urlHost(port.address)}:${port.port}/${port.protocol}`,
      least: 18,
      paint: (cell, port) => output.paint(severityOf(port), cell.slice(0, 1)) + cell.slice(1),
    },
    EXPOSURE: { cell: ({ exposure }) => exposure, paint: (cell, port) => output.paint(severityOf(port), cell) },
    OWNER: { cell: ({ owner, service }) => (service !== undefined && service !== owner ? `${owner} (${service})` : owner), least: 14 },
    PURPOSE: { cell: purposeOf, least: 10, paint: (cell) => output.paint('faint', cell) },
  });
}
