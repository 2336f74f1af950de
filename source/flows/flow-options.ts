import type { FlowInput } from './flow.ts';

/** A flag that takes a value, as it was written; undefined without it. */
export function optionOf({ options }: FlowInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}
