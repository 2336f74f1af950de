import { type Document, Lexer, parse, parseAllDocuments, parseDocument, YAMLParseError } from 'yaml';
import { deepestNesting, nestingProblem } from '../text/nesting.ts';

type Options = Parameters<typeof parseDocument>[1];

/* The YAML parser for external text: nesting that is too deep is an error of the document, before the parser recurses into it. */

export function parseYamlDocument(text: string, options?: Options): Document.Parsed {
  const at = tooDeepAt(text);
  return at === undefined ? parseDocument(text, options) : refused(at, options);
}

export function parseYamlDocuments(text: string, options?: Options) {
  const at = tooDeepAt(text);
  return at === undefined ? parseAllDocuments(text, options) : [refused(at, options)];
}

/** Returns the value of one document. Throws `YAMLParseError`. */
export function parseYaml(text: string, options?: Parameters<typeof parse>[2]): unknown {
  const at = tooDeepAt(text);
  if (at !== undefined) throw tooDeep(at);
  return parse(text, options);
}

function refused(at: number, options: Options): Document.Parsed {
  const document = parseDocument('', options);
  document.errors.push(tooDeep(at));
  return document;
}

const tooDeep = (at: number): YAMLParseError => new YAMLParseError([at, at + 1], 'RESOURCE_EXHAUSTION', nestingProblem);

/** Returns the position where the text is nested too deep. A block level needs at least one column, and `-` and `?` open one each. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the branches are the tokens of one state machine
function tooDeepAt(text: string): number | undefined {
  if (!mayBeDeep(text)) return undefined;
  let offset = 0;
  let flow = 0;
  let column = 0;
  let isIndent = true;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    if (isScalar) {
      isScalar = false;
      isIndent = false;
    } else if (token === '\u001f') {
      isScalar = true;
      continue;
    } else if (token === '\u0002' || token === '\u0018') continue;
    else if (token === '[' || token === '{') {
      flow += 1;
      isIndent = false;
    } else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    else if (/^[\r\n]/.test(token)) {
      column = 0;
      isIndent = flow === 0;
    } else if (isIndent && /^(?:[ \t]+|[-?])$/.test(token)) column += token.length;
    else isIndent = false;
    if (flow > deepestNesting || column > 2 * deepestNesting) return offset;
    offset += token.length;
  }
  return undefined;
}

/** Most texts have too few brackets and columns for it, and checking that is cheaper than a pass of the lexer. */
const mayBeDeep = (text: string): boolean =>
  /^[ \t?-]{400}/m.test(text) || text.split(/[[{]/, deepestNesting + 2).length > deepestNesting + 1;
