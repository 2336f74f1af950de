import { exitCodeOf, Fault, type FaultKind } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { parseYaml } from '../../yaml/text.ts';
import type { VerbContext } from '../command.ts';
import { readHelp } from '../help-topics.ts';
import { hangingLines } from '../output.ts';

interface Explanation {
  meaning: string;
  causes: readonly string[];
  remedy: string;
}

/** By kind. What a code does not explain itself, its kind does. */
type FaultsFile = Record<FaultKind, Explanation & { codes: Record<string, string | Partial<Explanation>> }>;

/** Returns the explanations of docs/help/faults.yaml: for each kind its own, then those of its codes. */
export async function faultExplanations(): Promise<({ code: string; exitCode: number } & Explanation)[]> {
  const kinds = Object.entries(parseYaml(await readHelp('faults.yaml')) as FaultsFile);
  return kinds.flatMap(([kind, { codes, ...general }]) =>
    [[kind, general] as const, ...Object.entries(codes)].map(([code, own]) => ({
      ...{ code, exitCode: exitCodeOf({ kind: kind as FaultKind }), ...general },
      ...(typeof own === 'string' ? { meaning: own } : own),
    })),
  );
}

/** Without a code, or with a kind alone, it lists the codes. */
export async function runExplainVerb({ output, options }: VerbContext, wanted = ''): Promise<number> {
  const all = await faultExplanations();
  const found = all.filter(({ code }) => wanted === '' || code === wanted || code.startsWith(`${wanted}.`));
  const [first] = found;
  if (!first) {
    const codes = all.map(({ code }) => code);
    throw new Fault('usage.faultCode', `Unknown error code "${cleanLine(wanted)}".`, nameRemedy(wanted, codes, ''));
  }
  if (options.json) output.json({ schema: 1, faults: found });
  else if (found.length > 1) {
    output.list(found, {
      CODE: ({ code }) => code,
      'EXIT CODE': { cell: ({ exitCode }) => String(exitCode), align: 'right' },
      MEANING: { cell: ({ meaning }) => meaning, least: 20 },
    });
  } else {
    const wrapped = (lead: string, text: string) => hangingLines(lead, text, output.proseColumns);
    const causes = first.causes.flatMap((cause) => wrapped('  - ', cause));
    output.lines([`${output.paint('strong', first.code)} (exit code ${first.exitCode})`, '', ...wrapped('', first.meaning), '']);
    output.lines(['Typical causes:', ...causes, '', 'What to do:', ...wrapped('  ', first.remedy)]);
  }
  return 0;
}
