import type { ServiceView } from '../fleet/model.ts';

/** Can the component be asked: is its main service there, well or not? */
export function mainRuns(services: readonly Pick<ServiceView, 'main' | 'state'>[]): boolean {
  return services.some(({ main, state }) => main && /^(?:running|healthy|unhealthy|starting)$/.test(state));
}
