import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { upgradeAbout } from './about-upgrade.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { upgradeCluster } from './upgrade-cluster.ts';
import { upgradeComponent } from './upgrade-component.ts';

/** A word that is the name of a component here means that; any other is a context of the kubeconfig. */
export const upgrade: Flow = {
  ...upgradeAbout,
  async run(session, input, world) {
    const [named] = wordsUpTo(1, input, { takes: 'One context or component at a time', remedy: 'Walk through one after the other.' });
    const component = named === undefined ? undefined : componentNamed(world, input, named);
    const walk = (chosen: ComponentView) =>
      upgradeComponent(session, { ...input, place: chosen.host, component: chosen, words: [] }, world);
    if (component) return walk(component);
    try {
      return await upgradeCluster(session, input, world, named);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'usage.kubeconfig') throw thrown;
      if (named !== undefined) throw neither(named, thrown);
      return walk(await chooseComponent(session, world, thrown));
    }
  },
};

function neither(named: string, cause: Fault): Fault {
  return new Fault({
    code: 'usage.component',
    message: `There is no component "${cleanLine(named)}" here, and no cluster either. ${cause.message}`,
    remedy: `quarterdeck status lists the components. ${cause.remedy}`,
    cause,
  });
}

/** Without a cluster it is about a component. In practice all are deployed from here, and written down when that is first needed. */
async function chooseComponent(session: Session, { fleet, practice }: FlowWorld, cause: Fault): Promise<ComponentView> {
  const known = fleet.snapshot().components.filter((one) => one.known && (one.deployed || practice !== undefined));
  if (!session.attended || known.length === 0) throw cause;
  const key = await session.ask.choice({
    id: 'component',
    label: 'Which component?',
    help: `${cause.message} ${cause.remedy}`,
    choices: known.map((one) => ({ value: one.key, label: one.id, detail: `${one.product}, ${one.word}` })),
  });
  const chosen = known.find((one) => one.key === key);
  if (!chosen) throw new Error('a choice is one of its choices');
  return chosen;
}

function componentNamed({ fleet }: FlowWorld, { place }: FlowInput, name: string): ComponentView | undefined {
  const found = fleet.snapshot().components.filter(({ id, known }) => known && id === name);
  return found.find(({ host }) => host === place) ?? found[0];
}
