import { join } from 'node:path';
import { writeOwnFile } from '../config/own-files.ts';
import { cleanLine } from '../text/clean.ts';

/** A report of a bug: enough to find it, without what the operator typed or what a server said. */
export interface CrashReport {
  /** Name of the verb, without its arguments. */
  verb: string;
  version: string;
  thrown: unknown;
  at: Date;
}

/**
 * Long runs of letters and digits are how tokens and keys look, and quotes hold what came from outside. What is left of a message still tells where to look, the
 * stack tells the rest.
 */
export function withoutSecrets(text: string): string {
  return cleanLine(text)
    .replace(/(["'`])(?:(?!\1).)*\1/g, '$1[hidden]$1')
    .replace(/(\b[\w-]*(?:token|password|passwd|secret|key|authorization|cookie)[\w-]*\b\s*[=:]\s*)\S+(?:\s+\S+)?/gi, '$1[hidden]')
    .replace(/\b(https?|postgres(?:ql)?|mysql|redis|mongodb|amqp):\/\/\S+/gi, '$1://[hidden]')
    .replace(/[A-Za-z0-9+/=_-]{20,}/g, '[hidden]');
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
      `${depth === 0 ? '' : 'Caused by '}${name}: ${withoutSecrets(one instanceof Error ? one.message : String(one))}`,
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
