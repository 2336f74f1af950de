import type { ComponentView, Tone } from './model.ts';

/** Of the specification: the scanner whose feeds R60 is about. */
const scannerId = 'vulnerability-scanner';

/** How the feeds of a deployed vulnerability scanner are, for who triages what it found (R60). Everything that is not ready is worth a warning. */
export interface ScannerState {
  name: string;
  tone: Tone;
  /** One sentence. */
  text: string;
}

export function scannerStates(components: readonly ComponentView[]): ScannerState[] {
  const scanners = components.filter(({ id, known }) => known && id === scannerId);
  return scanners.map(({ id, host, word, tone, detail, probe }) => {
    const name = scanners.length === 1 ? id : `${id} on ${host}`;
    // Without a probe nobody has seen its feeds.
    const seen = probe?.word === word ? tone : tone === 'good' ? 'unknown' : tone;
    return { name, tone: seen, text: `${name} is ${word.replace(/^feeds /, 'there, its feeds ')}${detail === '' ? '' : `: ${detail}`}` };
  });
}
