import { hostsCheckAbout } from './about-hosts.ts';
import type { Flow } from './flow.ts';
import { bookOf, chooseHost } from './host-choice.ts';
import { lookAtHost } from './host-look.ts';

export const hostsCheck: Flow = {
  ...hostsCheckAbout,
  async run(session, input, world) {
    const book = bookOf(world);
    const listed = await book.list();
    const every = Object.entries(listed);
    const chosen = input.words.length === 0 && every.length > 1 ? every : [await chooseHost(session, alone(input, every), listed)];
    // One after the other: each has its lines together, and its questions.
    const looks = [];
    for (const [name, settings] of chosen) looks.push(await lookAtHost(session, book, name, settings));
    const troubled = looks.filter(({ exitCode }) => exitCode !== 0);
    const names = troubled.map(({ report }) => report.name).join(', ');
    const warnings = looks.flatMap(({ report }) => report.findings.filter(({ state }) => state === 'warning'));
    const [only] = looks;
    return {
      message:
        troubled.length > 0
          ? `Not well: ${names}.`
          : warnings.length > 0
            ? `${looks.length === 1 ? `${only?.report.name} works` : 'They work'}, and ${warnings.length === 1 ? 'one thing' : `${warnings.length} things`} could be better.`
            : `${looks.length === 1 ? `${only?.report.name} is well` : 'All are well'}.`,
      data: { hosts: looks.map(({ report }) => report) },
      ...(troubled[0] && { exitCode: troubled[0].exitCode }),
    };
  },
};

/** Where there is one only, nobody needs to name it. */
function alone<T extends { words: readonly string[] }>(input: T, every: readonly [string, unknown][]): T {
  const [only] = every;
  return input.words.length === 0 && only ? { ...input, words: [only[0]] } : input;
}
