import '../source/catalog/compile-main.ts';
import { flows } from '../source/app/flow-registry.ts';
import { problemText } from '../source/catalog/compile.ts';
import { parseCommandLine } from '../source/cli/command-line.ts';
import { readOwnFile, writeOwnFile } from '../source/config/own-files.ts';
import { manPages } from './man-pages.ts';
import { readPracticeFiles } from './practice-data.ts';

// A step of the build, run from the top of the checkout, after the catalog: dist/practice.json and dist/man.

const { components, problems } = readPracticeFiles('.');
if (problems.length > 0) {
  process.stderr.write(`${problems.map(problemText).join('\n')}\nThe practice stack has errors; nothing was built.\n`);
  process.exit(1);
}
await writeOwnFile('dist/practice.json', JSON.stringify(components), { mode: 0o644, chosen: true });

const { version } = JSON.parse((await readOwnFile('package.json')) ?? '{}') as { version: string };
const line = await parseCommandLine(['complete'], { flows, version, columns: 80 });
if (!('program' in line) || !line.program) throw new Error('The command line has no program.');
// A release sets the time, so that the same commit gives the same pages.
const builtMs = Number(process.env.SOURCE_DATE_EPOCH) * 1000 || Date.now();
const pages = await manPages(line.program, version, new Date(builtMs).toISOString().slice(0, 10));
for (const [file, text] of pages) await writeOwnFile(`dist/man/${file}`, text, { mode: 0o644, chosen: true });
