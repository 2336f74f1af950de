import { once } from 'node:events';
import { runConsole } from '../../source/console/run-console.ts';
import { cleanLine } from '../../source/text/clean.ts';
import { createFakeApp } from '../doubles/console/fake-app.ts';
import { sampleSnapshot } from '../doubles/console/sample-fleet.ts';
import { awkwardLines, awkwardText } from './awkward-text.ts';

const awkward = process.argv[3] === 'awkward' ? Object.values(awkwardText) : [];
const snapshot = sampleSnapshot();
/** With awkward text, the other components have it for names. */
const named = snapshot.components.map((component, index) => {
  const name = index === 0 ? undefined : awkward[index - 1];
  return name === undefined ? component : { ...component, id: name, product: name, state: { ...component.state, label: name } };
});

/** The console on made-up components, for tests of what it does to the terminal. `D` crashes it, `e` lends the terminal. */
const app = createFakeApp({
  snapshot: { ...snapshot, components: named },
  flows: {
    async df() {
      setTimeout(() => {
        throw new TypeError('a bug in the console');
      });
      return 'crashing';
    },
    async shell(operator) {
      return operator.lend(async ({ input, output }) => {
        output.write(`inside, ${input.isRaw ? 'raw' : 'cooked'}, ${output.columns} columns\r\n$ `);
        input.setRawMode(true);
        input.resume();
        const [typed] = (await once(input, 'data')) as [Buffer | string];
        output.write(`got ${JSON.stringify(typed.toString())}\r\n`);
        return 'The shell has ended';
      });
    },
    async restart(operator) {
      return operator.lend(async () => {
        throw new Error('the program could not be started');
      });
    },
  },
});
app.log(
  'nas/password-vault/password-vault',
  awkward.length > 0 ? [...awkwardLines, ...awkward].map((line) => cleanLine(line)) : ['listening on port 80'],
);

try {
  const code = await runConsole(app, { keys: process.argv[2] ? { stop: [process.argv[2]] } : {} });
  console.log(`left with ${code}`);
  process.exitCode = code;
} catch (thrown) {
  console.log(`failed: ${thrown instanceof Error ? thrown.message : thrown}`);
  process.exitCode = 1;
}
