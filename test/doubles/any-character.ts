import fc from 'fast-check';

/** Any character of Unicode, as fast-check's unit `binary`, for which it builds a table of all of them wherever it is used: 3 s each time. */
export const anyCharacter = fc.nat(0x10ffff - 0x800).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));
