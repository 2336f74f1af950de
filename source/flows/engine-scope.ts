import type { Engine, EngineFacts } from '../engine/engine.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import type { Session } from '../session/session.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from './flow.ts';

/** One engine of a flow. Host and engine are looked up at each use: a connection may have been replaced, or lost. */
export class EngineScope {
  constructor(
    readonly session: Session,
    readonly context: FlowContext,
    readonly engineName: string,
  ) {}

  get signal(): AbortSignal {
    return this.session.signal;
  }

  get host(): Host {
    return this.context.hostOf(this.engineName);
  }

  get engine(): Engine {
    return this.context.engineOf(this.engineName);
  }

  get engineFacts(): EngineFacts {
    return this.context.engineFactsOf(this.engineName);
  }

  stackFolder(): Promise<string> {
    return this.context.stackFolderOf(this.engineName, this.signal);
  }

  /** Returns the component of a compose project, by default of the one that Quarterdeck deploys under the same name. */
  component(id: string, project = id): ComponentView | undefined {
    const { components } = this.context.fleet.snapshot();
    return components.find((one) => one.host === this.engineName && one.id === id && one.project === project);
  }
}

type EngineRun = (scope: EngineScope, input: FlowInput, session: Session, context: FlowContext) => Promise<FlowOutcome>;

/** A procedure for the engine that was selected or named. */
export function onEngine(run: EngineRun): Procedure {
  return (session, input, context) => run(new EngineScope(session, context, input.engineName), input, session, context);
}
