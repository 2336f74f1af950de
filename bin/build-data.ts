import '../source/catalog/compile-main.ts';
import { flows } from '../source/app/flow-registry.ts';
import { parseCommandLine } from '../source/cli/command-line.ts';
import { readOwnFile, writeOwnFile } from '../source/config/own-files.ts';
import { manPages } from './man-pages.ts';

// A step of the build, run from the top of the checkout, after the catalog: dist/man.

const { version } = JSON.parse((await readOwnFile('package.json')) ?? '{}') as { version: string };
const line = await parseCommandLine(['complete'], { flows, version, columns: 80 });
if (!('program' in line) || !line.program) throw new Error('The command line has no program.');
// A release sets the time, so that the same commit gives the same pages.
const builtMs = Number(process.env.SOURCE_DATE_EPOCH) * 1000 || Date.now();
const pages = await manPages(line.program, version, new Date(builtMs).toISOString().slice(0, 10));
for (const [file, text] of pages) await writeOwnFile(`dist/man/${file}`, text, { mode: 0o644, chosen: true });
