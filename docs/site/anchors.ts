/** Returns the anchor of a heading as GitHub sets it, so that a link works there and on the site. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns the text of Markdown without links, code and emphasis. */
export const plainHeading = (markdown: string) =>
  markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`([^`]*)`/g, '$1')
    .replaceAll(/\*\*?([^*]+)\*\*?/g, '$1')
    .trim();

/** Replaces what is not prose (code, comments) with spaces of the same length. */
export const withoutCode = (markdown: string) =>
  markdown
    .replaceAll(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2[`~]* *$/gm, (block) => block.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/<!--[\s\S]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/(?<!`)(`+)(?!`)([^`]|(?<!`)`(?!`))*?\1(?!`)/g, (code) => code.replaceAll(/[^\n]/g, ' '));

/** Returns the anchors of a page. The second of two equal headings ends in `-1`. */
export function anchorsOf(markdown: string): string[] {
  const prose = withoutCode(markdown);
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#{1,6} +.*$/gm)].map(({ index, 0: line }) => {
    const slug = slugify(plainHeading(markdown.slice(index, index + line.length).replace(/^#+ +/, '')));
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}

export interface Link {
  /** Position of the target in the page. */
  index: number;
  target: string;
}

/** Returns the links and images of a page that lead into the repository. */
export function linksOf(markdown: string): Link[] {
  return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].flatMap(({ index, 1: target = '' }) =>
    /^[a-z]+:/.test(target) ? [] : [{ index: index + 2, target }],
  );
}
