import { join } from 'node:path';
import type { BenchRow } from '../bench-row.ts';
import { type DayLook, dayRates } from '../day.ts';
import { type Measure, ownCell } from '../result-table.ts';
import { withServer } from '../served-engines.ts';

const { faster, containers, probed, changeEveryMs, restartEveryMs, linesPerSecond, linesBefore } = dayRates;
const secondsOf = (quick: boolean) => (quick ? 60 : 86_400 / faster);
const growthAimMb = 10;
const number = (value: number) => value.toLocaleString('en-US');

export const day: BenchRow = {
  id: 'day',
  title: 'A day',
  limitMs: 1_200_000,
  method: (quick) =>
    `${quick ? `${secondsOf(quick)} s of a day` : 'A day'} at ${faster} times the rate, in ${secondsOf(quick) / 60} minutes, from the practice stack's engine in a process of its own. Of ${containers} containers one changes every ${changeEveryMs / 1000} s of the day: it is restarted, crashes, is unhealthy, is recreated, or is stopped and later started. ${probed} of them have a probe, with the interval of its catalog entry. One more writes ${linesPerSecond} lines a second and is restarted every ${restartEveryMs / 3_600_000} h. A new process follows fleet, events, probes and that log as the console does, without drawing. Before the day begins the log has ${number(linesBefore)} lines, more than a console keeps. Memory is resident memory after a garbage collection. Not faster: the full list that the console asks for every minute, and the pause before a container that crashed is restarted.`,
  async run(bench) {
    const seconds = secondsOf(bench.quick);
    const look = await withServer('serve-day.ts', [String(seconds)], (folder) =>
      bench.look<DayLook>('day-looker.ts', [folder, String(seconds)], {
        home: join(folder, 'home'),
        limitMs: seconds * 1_000 + 120_000,
      }),
    );
    bench.say(`  ${JSON.stringify(look)}`);
    const all = (count: number): Measure['aim'] => ({ text: `all ${number(count)}`, met: (value) => value === count });
    const none: Measure['aim'] = { text: 'none', met: (value) => value === 0 };
    return {
      measures: [
        { what: `memory after 10 % of a day at ${faster} times the rate`, unit: 'MB', cells: ownCell(look.tenthMb) },
        {
          ...{ what: 'its growth until the end', unit: 'MB', cells: ownCell(look.endMb - look.tenthMb) },
          aim: { text: `flat, within ${growthAimMb} MB`, met: (value) => value <= growthAimMb },
        },
        { what: 'events of the engine that were seen', unit: 'events', cells: ownCell(look.eventsSeen), aim: all(look.events) },
        { what: 'lines of the log that were seen', unit: 'lines', cells: ownCell(look.linesSeen), aim: all(look.lines) },
        {
          what: "containers in another state than the engine's at the end",
          unit: 'containers',
          cells: ownCell(look.differing.length),
          aim: none,
        },
        { what: 'containers that were not probed any more', unit: 'containers', cells: ownCell(look.unprobed.length), aim: none },
        { what: 'CPU meanwhile', unit: '%', cells: ownCell(look.cpuPercent) },
      ],
      notes: [
        `In that day ${number(look.probes)} probes were answered, and the stream of events was opened ${look.streams === 1 ? 'once' : `${look.streams} times`}.`,
        ...(look.differing.length > 0 ? [`In another state at the end: ${look.differing.join(', ')}.`] : []),
        ...(look.unprobed.length > 0 ? [`Not probed any more: ${look.unprobed.join(', ')}.`] : []),
      ],
    };
  },
};
