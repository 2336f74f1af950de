export interface FencedBlock {
  language: string;
  /** The word after the language: `config.yaml`. */
  name: string;
  content: string;
  lines: readonly string[];
}

/** Returns the fenced code blocks of a Markdown document, in order. */
export function fencedBlocks(document: string): FencedBlock[] {
  return [...document.matchAll(/^```(\w*)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(([, language = '', name = '', content = '']) => ({
    language,
    name,
    content,
    lines: content.trimEnd().split('\n'),
  }));
}
