import { join } from 'node:path';
import type { ComponentView } from '../../../source/fleet/model.ts';
import type { Flow, FlowOutcome } from '../../../source/flows/flow.ts';
import type { FlowFixture } from '../../doubles/flow-fixture.ts';
import type { Fixture, Playing } from './flow.contract.ts';

/** Flows with a real session, on an engine in memory. */
export class DoubleFixture implements Fixture {
  readonly fixture: FlowFixture;

  constructor(fixture: FlowFixture) {
    this.fixture = fixture;
  }

  get journal(): string {
    return this.fixture.journal;
  }
  get folders(): readonly string[] {
    return [this.fixture.folder];
  }
  /** In a folder that goes with the stage. */
  file(name: string): string {
    return join(this.fixture.folder, name);
  }

  async play(
    flow: Flow,
    about: string | undefined,
    input: Parameters<Fixture['play']>[2],
    { operator, mode, resume }: Playing,
  ): Promise<FlowOutcome> {
    const component = about === undefined ? undefined : await this.view(about);
    const { policy } = this.fixture;
    Object.assign(this.fixture, { operator, resume, policy: { ...policy, readOnly: mode === 'read-only', dryRun: mode === 'dry-run' } });
    const running = this.fixture.run(flow, component, input);
    // What a row runs to look around is neither.
    Object.assign(this.fixture, { resume: undefined, policy });
    return running;
  }
  /** The component of that id, as it is now. */
  async view(id: string): Promise<ComponentView | undefined> {
    return this.fixture.fleet.snapshot().components.find((one) => one.id === id);
  }
  audited() {
    return this.fixture.audited();
  }
  async close(): Promise<void> {
    await this.fixture.host?.close();
    await this.fixture.close();
  }
}
