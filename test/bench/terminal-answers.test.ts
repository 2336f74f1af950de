import { describe, expect, it } from 'vitest';
import { terminalAnswers } from './terminal-answers.ts';

describe('what a terminal answers', () => {
  it('answers each query in what was written, and nothing to mere drawing', () => {
    expect(terminalAnswers(Buffer.from('\x1b[2J\x1b[6nhello\x1b[?2026$p\x1b[c'))).toEqual(['\x1b[?62;22c', '\x1b[1;1R', '\x1b[?2026;0$y']);
    expect(terminalAnswers(Buffer.from('\x1b[H\x1b[31mred\x1b[0m'))).toEqual([]);
  });
});
