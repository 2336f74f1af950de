import type { Document } from 'yaml';
import { writeOutAliases } from '../config/yaml-aliases.ts';
import { YamlDocument } from '../config/yaml-document.ts';
import { Fault } from '../faults/fault.ts';
import { parseYamlDocument } from '../text/yaml-text.ts';

/** A stack of twenty, each as it stands and as it will. */
const limit = 64;
const read = new Map<string, YamlDocument>();

/** A compose file, parsed once: form, plan and preflight all look at the same few texts, and parsing is what a plan takes its time for. */
export function composeDocument(text: string): YamlDocument {
  let document = read.get(text);
  if (document === undefined) {
    document = new YamlDocument(text);
    const [oldest] = read.keys();
    if (read.size >= limit && oldest !== undefined) read.delete(oldest);
    read.set(text, document);
  }
  return document;
}

/**
 * One to change: comments, order and spelling stay. Aliases and `<<` are written out, so that a change of one service is no change of another. Throws `config.compose`
 * with the line.
 */
export function editableCompose(text: string, file: string): Document.Parsed {
  const [problem] = composeDocument(text).problems;
  if (problem)
    throw new Fault({
      code: 'config.compose',
      message: `${file} cannot be read: ${problem.message}`,
      remedy: problem.remedy,
      where: { file, line: problem.line, column: problem.column },
    });
  const document = parseYamlDocument(text, { logLevel: 'error' });
  writeOutAliases(document);
  return document;
}
