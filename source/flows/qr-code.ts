import encodeQR from 'qr';
import type { Modules } from '../text/module-blocks.ts';

/** Light modules around a code that a camera needs to find it (ISO/IEC 18004). */
const quietModules = 2;

/** The modules of a QR code, row by row, true for dark, with the light border that cameras need. Throws a `RangeError` for more than a code can hold. */
export function qrCode(text: string): Modules {
  return encodeQR(text, 'raw', { ecc: 'low', border: quietModules });
}
