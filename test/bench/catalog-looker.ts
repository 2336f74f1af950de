import { readCompiled } from '../../source/catalog/compiled-file.ts';
import { openCatalog } from '../../source/catalog/open-catalog.ts';

// What the bench starts anew each time: opens the compiled catalog once, as a start does, and prints what that took.

const [, , compiledFile = ''] = process.argv;
// What is measured is the catalog: file access and its modules are there by then in every start.
await openCatalog({ compiledFile: '/nonexistent' }).catch(() => undefined);
readCompiled(Buffer.from('{"schema":2,"further":[],"entries":[]}\n'));
const cpu = process.cpuUsage();
const sinceMs = performance.now();
const { entries } = await openCatalog({ compiledFile });
const tookMs = performance.now() - sinceMs;
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ tookMs, cpuMs: (user + system) / 1000, entries: entries.length }));
