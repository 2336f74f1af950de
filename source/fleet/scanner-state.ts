import type { ComponentView, Tone } from './model.ts';
import { isUpState } from './service-state.ts';

/** Of the specification: the scanner whose feeds R60 is about. */
const scannerId = 'vulnerability-scanner';

/** How the feeds of a deployed vulnerability scanner are, for who triages what it found (R60). Everything that is not ready is worth a warning. */
export interface ScannerState {
  name: string;
  tone: Tone;
  /** One sentence. */
  text: string;
}

/** One that runs and was not asked yet is left out: nobody knows how its feeds are. */
export function scannerStates(components: readonly ComponentView[]): ScannerState[] {
  const scanners = components.filter(({ id, known }) => known && id === scannerId);
  return scanners.flatMap(({ id, host, state, word, tone, detail, probe }) => {
    if (isUpState(state) && (probe === undefined || probe.word === '')) return [];
    const name = scanners.length === 1 ? id : `${id} on ${host}`;
    return [{ name, tone, text: `${name}: ${word}${detail === '' ? '.' : `. ${detail}`}` }];
  });
}
