/** Parsers and code that walks their values overflow the stack at some thousand levels. No document that people write comes near it. */
export const deepestNesting = 200;

export const nestingProblem = `Nested more than ${deepestNesting} levels deep.`;

export function isTooDeep(json: string): boolean {
  return tooDeepAt(json) !== undefined;
}

/** Brackets in strings and comments do not count. */
export function tooDeepAt(json: string): number | undefined {
  if (json.length <= deepestNesting) return undefined;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') at = stringEnd(json, at);
    else if (char === '/' && json[at + 1] === '/') at = endOr(json.indexOf('\n', at), json);
    else if (char === '/' && json[at + 1] === '*') at = endOr(json.indexOf('*/', at + 2), json);
    else if (char === '[' || char === '{') {
      depth += 1;
      if (depth > deepestNesting) return at;
    } else if (char === ']' || char === '}') depth = Math.max(0, depth - 1);
  }
  return undefined;
}

/** An unclosed string ends with its line. */
function stringEnd(json: string, from: number): number {
  for (let at = from + 1; at < json.length; at += 1) {
    if (json[at] === '\\') at += 1;
    else if (json[at] === '"' || json[at] === '\n') return at;
  }
  return json.length;
}

const endOr = (found: number, json: string): number => (found < 0 ? json.length : found);
