import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { Flow } from './flow.ts';

const calm = 'calm';

/** Plays something that goes wrong. Only where everything is practice: elsewhere nobody offers it. */
export const incident: Flow = {
  id: 'incident',
  verb: 'incident',
  title: 'Play an incident',
  summary: 'Lets something go wrong in the practice stack: logs, states and health change as they would. "calm" ends whatever goes on.',
  right: 'operate',
  about: 'host',
  usage: '[NAME]',
  async run(session, input, world) {
    const { practice } = world;
    if (!practice) {
      throw new Fault({
        code: 'refused.notPractice',
        message: 'Incidents are played in the practice stack only.',
        remedy: 'quarterdeck practice opens it.',
      });
    }
    const choices = [
      ...practice.incidents.map(({ name, title, summary }) => ({ value: name, label: title, detail: summary })),
      { value: calm, label: 'Let everything be as usual again', detail: 'Ends every incident.' },
    ];
    const wanted = input.words[0] ?? (await session.ask.choice({ id: 'incident', label: 'What shall happen?', choices }));
    const chosen = choices.find(({ value }) => value === wanted);
    if (!chosen) {
      throw new Fault({
        code: 'usage.incident',
        message: `There is no incident "${cleanLine(wanted)}".`,
        remedy: nameRemedy(
          wanted,
          choices.map(({ value }) => value),
          `There are: ${choices.map(({ value }) => value).join(', ')}.`,
        ),
      });
    }
    await session.act({
      id: `incident ${chosen.value}`,
      right: 'operate',
      request: `POST /practice/incidents/${chosen.value}`,
      target: { host: input.place },
      limitMs: 30_000,
      run: (grant) => practice.play(grant, chosen.value),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing happened.' };
    return {
      message: chosen.value === calm ? 'Everything is as usual again.' : `It happens: ${chosen.label}.`,
      data: { incident: chosen.value },
    };
  },
};
