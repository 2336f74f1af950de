import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BenchEngine } from './bench-engine.ts';
import { Bench, type BenchRow, type RowResult, within } from './bench-row.ts';
import { machineFacts, paceMs } from './machine.ts';
import { benchPrograms } from './programs.ts';
import { plainTable, resultTable } from './result-table.ts';
import { catalog } from './rows/catalog.ts';
import { commands } from './rows/commands.ts';
import { day } from './rows/day.ts';
import { firstFrame, firstFrameOfMany } from './rows/first-frame.ts';
import { frameBytes } from './rows/frame-bytes.ts';
import { growth } from './rows/growth.ts';
import { hosts } from './rows/hosts.ts';
import { idleCpu } from './rows/idle-cpu.ts';
import { keyToFrame } from './rows/key-to-frame.ts';
import { linesKept } from './rows/lines-kept.ts';
import { memory } from './rows/memory.ts';
import { plan } from './rows/plan.ts';
import { remoteHost } from './rows/remote-host.ts';
import { slowLink } from './rows/slow-link.ts';

/** Those with few containers first: the many that the others want are started once, and stay. */
const rows: readonly BenchRow[] = [
  catalog,
  firstFrame,
  commands,
  plan,
  remoteHost,
  keyToFrame,
  slowLink,
  linesKept,
  memory,
  frameBytes,
  idleCpu,
  hosts,
  growth,
  day,
  firstFrameOfMany,
];

const usage = `npm run bench -- [--only ROW]... [--quick] [--no-peers] [--against FOLDER] [--engine URL] [--output FILE]

  --only ROW    ${rows.map(({ id }) => id).join(', ')}
  --quick       fewer and shorter runs: to see whether something changed, not to publish
  --no-peers    quarterdeck and the hand-written floor alone
  --against FOLDER  an older checkout of ours, built there, as another column
  --engine URL  a Docker that runs already, as unix:///path; without it a private one is started, as root, on Linux
  --output FILE writes the page of results there, whatever was run

Every run prints its table. Without --output only a whole one, with peers, writes a page: RESULTS.md.`;

const say = (text: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
};

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: true },
    against: { type: 'string' },
    engine: { type: 'string' },
    output: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

const unknown = options.only?.find((id) => !rows.some((row) => row.id === id));
if (options.help || unknown !== undefined) {
  console.error(unknown === undefined ? usage : `bench: there is no row "${unknown}"\n\n${usage}`);
  process.exit(unknown === undefined ? 0 : 2);
}

const chosen = rows.filter(({ id }) => options.only?.includes(id) ?? true);
const programs = benchPrograms(options.peers, options.against);
const columns = programs.map(({ id, title, argv }) => ({ id, title, installed: argv !== undefined }));
const startedMs = performance.now();
const paces = [paceMs()];

say('starting the engine');
const engine = await BenchEngine.start(options.engine).catch((error: Error) => {
  say(`no engine: ${error.message.trim()}`);
  process.exit(1);
});
const results: { row: BenchRow; result: RowResult | Error; tookS: number }[] = [];
let bench: Bench | undefined;
let interrupted = false;

const leave = async (): Promise<void> => {
  await bench?.end();
  await engine.end();
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    interrupted = true;
    say('interrupted: cleaning up');
    void leave().finally(() => process.exit(130));
  });
}

try {
  for (const row of chosen) {
    if (interrupted) break;
    say(`${row.title} (--only ${row.id})`);
    bench = new Bench(engine, programs, options.quick, say);
    const sinceMs = performance.now();
    let result: RowResult | Error;
    try {
      result = await within(row.limitMs, row.run(bench));
    } catch (error) {
      result = error as Error;
      say(`failed: ${result.message}`);
    }
    await bench.end();
    results.push({ row, result, tookS: (performance.now() - sinceMs) / 1000 });
  }
} finally {
  if (interrupted) await new Promise(() => undefined);
  say('cleaning up');
  await leave();
}
paces.push(paceMs());

const measures = results.flatMap(({ row, result }) =>
  result instanceof Error
    ? [{ what: row.title, unit: 'ms' as const, cells: { quarterdeck: { failed: result.message } } }]
    : result.measures,
);
const notes = results.flatMap(({ result }) => (result instanceof Error ? [] : (result.notes ?? [])));
const figures = results.flatMap(({ result }) => (result instanceof Error ? [] : (result.figures ?? [])));
const whole = chosen.length === rows.length && !options.quick && options.peers;
const tookMinutes = (performance.now() - startedMs) / 60_000;

const printed = plainTable(measures, columns);
console.log([printed.table, ...notes, ...numbered(printed.failures)].join('\n'));
say(`took ${tookMinutes.toFixed(1)} min: ${results.map(({ row, tookS }) => `${row.id} ${Math.round(tookS)} s`).join(', ')}`);

const published = options.output ?? (whole ? fileURLToPath(new URL('RESULTS.md', import.meta.url)) : undefined);
if (published !== undefined) {
  await writeFile(published, page());
  for (const { file, svg } of figures) await writeFile(join(dirname(published), file), svg);
  say(`written to ${published}`);
}
process.exit(results.some(({ result }) => result instanceof Error) ? 1 : 0);

function numbered(failures: readonly string[]): string[] {
  return failures.map((failure, index) => `[${index + 1}] ${failure}`);
}

function page(): string {
  const { table, failures } = resultTable(measures, columns);
  const list = (lines: readonly string[]) => lines.map((line) => `- ${line}`).join('\n');
  const versions = programs.map(({ title, argv, version }) => `${title}: ${argv ? version : 'not installed'}`);
  return `# Benchmark

Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)} in ${Math.round(tookMinutes)} minutes${whole ? '' : ', of which this is a part or a short run, not to be published'}; not edited by hand. Behind every number stands in parentheses how many
times ours it is. *hand-written* is the floor: \`test/bench/hand-written.cjs\`, the least that a Node program can do to show the same.

${table}

${[...notes, ...numbered(failures)].map((line) => `${line}  `).join('\n')}
${figures.map(({ file, text }) => `\n![${text}](${file})\n`).join('')}
## What ran

${list([...versions, `node ${process.versions.node}`, `engine: Docker ${engine.version}`])}

## Where

${list([...machineFacts(), `a fixed piece of work took ${paces.map((pace) => `${Math.round(pace)} ms`).join(' before, and ')} after the run: a large difference means a busy machine`])}

## How

Every program runs in a pty of 120 columns and 40 rows, with an empty home, on the same private engine. What it writes is stamped when it is read; afterwards a terminal emulator is
fed read by read, and a frame counts when it can be seen in it. So reading costs the same for all, and no program is favoured by how it paints.

${results.map(({ row }) => `**${row.title}.** ${row.method(options.quick)}`).join('\n\n')}
`;
}
