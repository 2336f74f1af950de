import { once } from 'node:events';
import { createFakeDeck } from '../../source/console/rig/fake-deck.ts';
import { sampleSnapshot } from '../../source/console/rig/sample-fleet.ts';
import { runConsole } from '../../source/console/run-console.tsx';
import { cleanLine } from '../../source/text/clean.ts';
import { awkwardLines, awkwardText } from './awkward-text.ts';

const awkward = process.argv[3] === 'awkward' ? Object.values(awkwardText) : [];
const snapshot = sampleSnapshot();
/** With awkward text, the other components have it for names. */
const named = snapshot.components.map((component, index) => {
  const name = index === 0 ? undefined : awkward[index - 1];
  return name === undefined ? component : { ...component, id: name, product: name, word: name };
});

/** The console on made-up components, for tests of what it does to the terminal. `D` crashes it, `e` lends the terminal. */
const deck = createFakeDeck({
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
deck.log(
  'nas/password-vault/password-vault',
  awkward.length > 0 ? [...awkwardLines, ...awkward].map((line) => cleanLine(line)) : ['listening on port 80'],
);

try {
  const code = await runConsole(deck, { keys: process.argv[2] ? { stop: process.argv[2] } : {} });
  console.log(`left with ${code}`);
  process.exitCode = code;
} catch (thrown) {
  console.log(`failed: ${thrown instanceof Error ? thrown.message : thrown}`);
  process.exitCode = 1;
}
