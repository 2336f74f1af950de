import type { ComponentView, Severity } from './model.ts';
import { isUpState } from './service-state.ts';

/** Name in the specification of the scanner whose feeds R60 covers. */
const scannerId = 'vulnerability-scanner';

/** Every state except ready deserves a warning (R60). */
export interface ScannerState {
  name: string;
  severity: Severity;
  text: string;
}

/** A running scanner that was not queried yet is left out: the state of its feeds is unknown. */
export function scannerStates(components: readonly ComponentView[]): ScannerState[] {
  const scanners = components.filter(({ id, known }) => known && id === scannerId);
  return scanners.flatMap(({ id, host, state, serviceState, detail, probe }) => {
    if (isUpState(serviceState) && probe?.state === undefined) return [];
    const name = scanners.length === 1 ? id : `${id} on ${host}`;
    return [{ name, severity: state.severity, text: `${name}: ${state.label}${detail === '' ? '.' : `. ${detail}`}` }];
  });
}
