import { YamlDocument } from '../config/yaml-document.ts';

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
