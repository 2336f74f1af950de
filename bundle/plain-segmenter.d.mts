export const plainCharacters: string;
export class PlainSegmenter {
  constructor(locales?: string, options?: Intl.SegmenterOptions);
  segment(text: string): Iterable<{ segment: string; index: number; input: string }>;
}

export function isPlainStyled(text: string): boolean;
