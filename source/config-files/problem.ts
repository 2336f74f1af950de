import type { CatalogProblem } from '../catalog/catalog.ts';
import type { TextPosition } from '../text/position.ts';

export type ConfigProblem = Omit<CatalogProblem, 'file'>;

export function errorAt({ line, column }: TextPosition, message: string, remedy: string, field = ''): ConfigProblem {
  return { level: 'error', line, column, field, message, remedy };
}
