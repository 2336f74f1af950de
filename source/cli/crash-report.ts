import { join } from 'node:path';
import { writeOwnFile } from '../config/own-files.ts';
import { cleanLine } from '../text/clean.ts';
import { withoutLikelySecrets } from '../text/likely-secrets.ts';

/** A bug report: enough to find the bug, without the operator's input or the output of a server. */
interface CrashReport {
  verb: string;
  version: string;
  thrown: unknown;
  at: Date;
}

/** Returns only the `at name (file:line:column)` lines: a stack begins with the message. */
function framesOf(thrown: unknown): string[] {
  if (!(thrown instanceof Error)) return [];
  return (thrown.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map(cleanLine);
}

function reportText({ verb, version, thrown, at }: CrashReport): string {
  const lines = [
    `Quarterdeck ${version}, node ${process.version}, ${process.platform} ${process.arch}`,
    `Time: ${at.toISOString()}, command: ${verb}`,
  ];
  for (let one: unknown = thrown, depth = 0; one !== undefined && depth < 5; depth++) {
    const name = one instanceof Error ? one.name : typeof one;
    const message = withoutLikelySecrets(one instanceof Error ? one.message : String(one));
    lines.push('', `${depth === 0 ? '' : 'Caused by '}${name}: ${message}`, ...framesOf(one));
    one = one instanceof Error ? one.cause : undefined;
  }
  return `${lines.join('\n')}\n`;
}

export async function writeCrashReport(stateFolder: string, report: CrashReport): Promise<string | undefined> {
  const path = join(stateFolder, 'reports', `${report.at.toISOString().replace(/[:.]/g, '-')}-${process.pid}.txt`);
  try {
    await writeOwnFile(path, reportText(report));
    return path;
  } catch {
    return undefined;
  }
}
