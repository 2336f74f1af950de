import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { upgradeAbout } from './about-upgrade.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { upgradeCluster } from './upgrade-cluster.ts';
import { upgradeComponent } from './upgrade-component.ts';

/** A word that is the name of a component here means that; any other is a context of the kubeconfig. */
export const upgrade: Flow = {
  ...upgradeAbout,
  async run(session, input, world) {
    const [named, ...more] = input.words;
    if (more.length > 0) {
      throw new Fault({
        code: 'usage.words',
        message: `upgrade takes one context or component, and "${cleanLine(more[0] ?? '')}" is one word too many.`,
        remedy: 'Walk through one after the other.',
      });
    }
    const component = named === undefined ? undefined : componentNamed(world, input, named);
    return component
      ? upgradeComponent(session, { ...input, place: component.host, component, words: [] }, world)
      : upgradeCluster(session, input, world, named);
  },
};

function componentNamed({ fleet }: FlowWorld, { place }: FlowInput, name: string): ComponentView | undefined {
  const found = fleet.snapshot().components.filter(({ id, known }) => known && id === name);
  return found.find(({ host }) => host === place) ?? found[0];
}
