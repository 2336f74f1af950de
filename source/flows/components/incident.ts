import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import type { Flow } from '../flow.ts';

const calm = 'calm';

/** Simulates an incident. Only available in practice mode. */
export const incident: Flow = {
  id: 'incident',
  verb: 'incident',
  title: 'Play an incident',
  summary: 'Lets something go wrong in the practice stack: logs, states and health change as they would. "calm" ends whatever goes on.',
  right: 'operate',
  about: 'host',
  usage: '[NAME]',
  async run(session, input, context) {
    const { practice } = context;
    if (!practice)
      throw new Fault('refused.notPractice', 'Incidents are played in the practice stack only.', 'quarterdeck practice opens it.');
    const choices = [
      ...practice.incidents.map(({ name, title, summary }) => ({ value: name, label: title, detail: summary })),
      { value: calm, label: 'Let everything be as usual again', detail: 'Ends every incident.' },
    ];
    const wanted = input.words[0] ?? (await session.ask.choice({ id: 'incident', label: 'What shall happen?', choices }));
    const chosen = choices.find(({ value }) => value === wanted);
    const names = choices.map(({ value }) => value);
    if (!chosen) throw new Fault('usage.incident', `There is no incident "${cleanLine(wanted)}".`, nameRemedy(wanted, names, ''));
    await session.act({
      id: `incident ${chosen.value}`,
      right: 'operate',
      request: `POST /practice/incidents/${chosen.value}`,
      limitMs: 30_000,
      run: (grant) => practice.play(grant, chosen.value),
    });
    if (session.dryRun) return { message: 'Dry run: nothing happened.' };
    return {
      message: chosen.value === calm ? 'Everything is as usual again.' : `It happens: ${chosen.label}.`,
      data: { incident: chosen.value },
    };
  },
};
