import { z } from 'zod';
import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { parseYaml } from '../yaml/text.ts';
import { problemText, readWidePorts } from './compile.ts';
import { writeCompiled } from './compiled-file.ts';
import { loadFolder } from './load-folder.ts';
import { componentSchema } from './schema.ts';
import { describeProperties } from './schema-descriptions.ts';

// A step of the build, run from the top of the checkout: catalog/ becomes dist/catalog.json, the schema dist/component.schema.json.

const widePorts = readWidePorts((await readOwnFile('test/spec/port-conflicts.md')) ?? '');
const { entries, problems } = await loadFolder('catalog', { own: false, ...(widePorts.size > 0 && { widePorts }) });
for (const problem of problems) process.stderr.write(`${problem.level}: ${problemText(problem)}\n`);
if (problems.some(({ level }) => level === 'error')) {
  process.stderr.write('The catalog has errors; nothing was built.\n');
  process.exit(1);
}
await writeOwnFile('dist/catalog.json', writeCompiled(entries), { mode: 0o644, chosen: true });
const shape = z.toJSONSchema(componentSchema, { io: 'input', unrepresentable: 'any' });
const descriptions = parseYaml((await readOwnFile('source/catalog/schema-descriptions.yaml')) ?? '') as Record<string, string>;
const { missing, unused } = describeProperties(shape, descriptions);
if (missing.length + unused.length > 0) throw new Error(`Schema descriptions: missing ${missing}; unused ${unused}`);
await writeOwnFile('dist/component.schema.json', `${JSON.stringify(shape, null, 2)}\n`, { mode: 0o644, chosen: true });
