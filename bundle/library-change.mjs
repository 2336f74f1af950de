import { readFileSync } from 'node:fs';

/**
 * A library's file with the same changes at every build; one that no longer fits stops the build, so that it is looked at again.
 * @param {string} path
 * @param {readonly (readonly [from: string, to: string])[]} changes
 */
export function changed(path, changes) {
  let contents = readFileSync(path, 'utf8');
  for (const [from, to] of changes) {
    if (!contents.includes(from))
      throw new Error(`${path} no longer contains ${JSON.stringify(from)}: look at what changes it in build.mjs and bundle/`);
    contents = contents.replaceAll(from, to);
  }
  return contents;
}
