import encodeQR from 'qr';
import type { Modules } from '../text/module-blocks.ts';

/** Number of light modules around a code, which a camera needs to find it (ISO/IEC 18004). */
const quietModules = 2;

/** Returns rows of modules, true for dark, with the light border. Throws a `RangeError` for more text than a code can hold. */
export const qrCode = (text: string): Modules => encodeQR(text, 'raw', { ecc: 'low', border: quietModules });
