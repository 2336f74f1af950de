import {
  type Document,
  type DocumentOptions,
  type EmptyStream,
  Lexer,
  type ParseOptions,
  parse,
  parseAllDocuments,
  parseDocument,
  type SchemaOptions,
  type ToJSOptions,
  YAMLParseError,
} from 'yaml';
import { deepestNesting, nestingProblem } from './nesting.ts';

type Options = ParseOptions & DocumentOptions & SchemaOptions;

/* The YAML parser, for text from outside: what is nested too deep is an error of the document before the parser recurses into it. */

export function parseYamlDocument(text: string, options?: Options): Document.Parsed {
  const at = tooDeepAt(text);
  return at === undefined ? parseDocument(text, options) : refused(at, options);
}

export function parseYamlDocuments(text: string, options?: Options): Document.Parsed[] | EmptyStream {
  const at = tooDeepAt(text);
  return at === undefined ? parseAllDocuments(text, options) : [refused(at, options)];
}

/** The value of one document. Throws `YAMLParseError`. */
export function parseYaml(text: string, options?: Options & ToJSOptions): unknown {
  const at = tooDeepAt(text);
  if (at !== undefined) throw tooDeep(at);
  return parse(text, options);
}

function refused(at: number, options: Options | undefined): Document.Parsed {
  const document = parseDocument('', options);
  document.errors.push(tooDeep(at));
  return document;
}

function tooDeep(at: number): YAMLParseError {
  return new YAMLParseError([at, at + 1], 'RESOURCE_EXHAUSTION', nestingProblem);
}

/** Where the text gets too deep. A level of a block takes at least one column, and `-` and `?` open one each. */
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

/** Most texts have too few brackets and columns for it, which costs less to see than a pass of the lexer. */
function mayBeDeep(text: string): boolean {
  if (/^[ \t?-]{400}/m.test(text)) return true;
  let brackets = 0;
  for (const _ of text.matchAll(/[[{]/g)) {
    brackets += 1;
    if (brackets > deepestNesting) return true;
  }
  return false;
}
