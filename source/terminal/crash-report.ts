import { join } from 'node:path';
import { writeOwnFile } from '../config/own-files.ts';
import { cleanLine } from '../text/clean.ts';
import { withoutLikelySecrets } from '../text/likely-secrets.ts';

/** A report of a bug: enough to find it, without what the operator typed or what a server said. */
export interface CrashReport {
  /** Name of the verb, without its arguments. */
  verb: string;
  version: string;
  thrown: unknown;
  at: Date;
}

/** `at name (file:line:column)` and nothing else: a stack begins with the message. */
function framesOf(thrown: unknown): string[] {
  if (!(thrown instanceof Error)) return [];
  return (thrown.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map(cleanLine);
}

export function reportText({ verb, version, thrown, at }: CrashReport): string {
  const lines = [
    `Quarterdeck ${version}, node ${process.version}, ${process.platform} ${process.arch}`,
    `At ${at.toISOString()}, verb: ${verb}`,
  ];
  for (let one: unknown = thrown, depth = 0; one !== undefined && depth < 5; depth++) {
    const name = one instanceof Error ? one.name : typeof one;
    lines.push(
      '',
      `${depth === 0 ? '' : 'Caused by '}${name}: ${withoutLikelySecrets(one instanceof Error ? one.message : String(one))}`,
      ...framesOf(one),
    );
    one = one instanceof Error ? one.cause : undefined;
  }
  return `${lines.join('\n')}\n`;
}

/** Undefined when even that cannot be written. */
export async function writeCrashReport(stateFolder: string, report: CrashReport): Promise<string | undefined> {
  const path = join(stateFolder, 'reports', `${report.at.toISOString().replace(/[:.]/g, '-')}-${process.pid}.txt`);
  try {
    await writeOwnFile(path, reportText(report));
    return path;
  } catch {
    return undefined;
  }
}
