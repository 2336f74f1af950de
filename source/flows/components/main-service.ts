import type { ServiceView } from '../../fleet/model.ts';

export function mainRuns(services: readonly Pick<ServiceView, 'main' | 'state'>[]): boolean {
  return services.some(({ main, state }) => main && /^(?:running|healthy|unhealthy|starting)$/.test(state));
}
