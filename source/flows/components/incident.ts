import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import type { Flow } from '../flow.ts';

const calm = 'calm';

/** Simulates an incident. Only available in practice mode. */
export const incident: Flow = {
  id: 'incident',
  verb: 'incident',
  title: 'Simulate an incident',
  summary: 'Simulates an incident in the practice stack: logs, states and health change accordingly. "calm" ends all incidents.',
  right: 'operate',
  about: 'host',
  usage: '[NAME]',
  async run(session, input, context) {
    const { practice } = context;
    if (!practice) {
      const message = 'Incidents can be simulated in the practice stack only.';
      throw new Fault('refused.notPractice', message, 'Open the practice stack: quarterdeck practice');
    }
    const choices = [
      ...practice.incidents.map(({ name, title, summary }) => ({ value: name, label: title, detail: summary })),
      { value: calm, label: 'End all incidents', detail: 'restores normal operation' },
    ];
    const wanted = input.words[0] ?? (await session.ask.choice({ id: 'incident', label: 'Incident', choices }));
    const chosen = choices.find(({ value }) => value === wanted);
    const names = choices.map(({ value }) => value);
    if (!chosen) throw new Fault('usage.incident', `Unknown incident "${cleanLine(wanted)}".`, nameRemedy(wanted, names, ''));
    await session.act({
      id: `incident ${chosen.value}`,
      right: 'operate',
      request: `POST /practice/incidents/${chosen.value}`,
      limitMs: 30_000,
      run: (grant) => practice.play(grant, chosen.value),
    });
    if (session.dryRun) return { message: 'Dry run: nothing was changed.' };
    return {
      message: chosen.value === calm ? 'All incidents ended.' : `Incident started: ${chosen.label}.`,
      data: { incident: chosen.value },
    };
  },
};
