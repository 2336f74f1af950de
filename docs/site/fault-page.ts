import { faultExplanations } from '../../source/cli/commands/explain.ts';
import { code, page, prose, table } from './markdown.ts';

/** Returns the page of all fault codes, with what `quarterdeck explain CODE` prints. */
export async function faultPage(): Promise<string> {
  const byKind = Map.groupBy(await faultExplanations(), (fault) => fault.code.split('.', 1)[0] ?? '');
  const parts = [...byKind.values()].flatMap(([kind, ...codes]) =>
    kind === undefined
      ? []
      : [
          `## ${kind.code}`,
          `${prose(kind.meaning)} Exit code ${kind.exitCode}. Where a code names no causes of its own, they are:`,
          kind.causes.map((cause) => `- ${prose(cause)}`).join('\n'),
          prose(kind.remedy),
          table(
            ['Code', 'Meaning', 'Causes and remedy'],
            codes.map((fault) => [
              code(fault.code),
              prose(fault.meaning),
              fault.causes !== kind.causes && prose([...fault.causes, fault.remedy].join(' ')),
            ]),
          ),
        ],
  );
  return page(
    'Fault codes',
    'An error has a code, which `--json` prints. `quarterdeck explain CODE` shows the same in the terminal.',
    ...parts,
  );
}
