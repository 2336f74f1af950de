import { request } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { Fault } from '../../source/faults/fault.ts';
import type { Confirmation, Question, Review, Shown } from '../../source/session/session.ts';
import { OperatorDouble } from './operator-double.ts';
import { PracticeStage } from './practice-stage.ts';

export const meshId = 'mesh-control-server';

/** What an operator says and does in one run. */
export interface Told {
  answers?: Record<string, (string | readonly string[])[]>;
  typed?: Record<string, Record<string, string>[]>;
  takes?: Record<string, string[]>;
  confirms?: boolean;
  kind?: OperatorDouble['kind'];
  options?: Record<string, string | boolean>;
  stdin?: string;
  rehearse?: boolean;
  /** What happens while something is looked at before it is done. */
  meanwhile?: () => Promise<unknown>;
}

export type Item = Record<string, unknown>;
/** What lists and changes answer. */
interface Data {
  nodes: Item[];
  keys: Item[];
  users: Item[];
  findings: unknown[];
  policy: string;
  apiKey: string;
  id: string;
  expiresAt: string;
}

/** Walks away from every question that has no answer. */
class Crew extends OperatorDouble {
  meanwhile: Told['meanwhile'];

  override async confirm(confirmation: Confirmation): Promise<boolean> {
    await this.meanwhile?.();
    return super.confirm(confirmation);
  }

  override async review(review: Review): Promise<string> {
    await this.meanwhile?.();
    return super.review(review);
  }

  override async ask(question: Question): Promise<string | readonly string[]> {
    const answer = this.answers[question.id]?.shift();
    if (answer !== undefined) {
      this.asked.push(question);
      return answer;
    }
    const code = this.kind === 'unattended' ? 'usage.unanswered' : 'interrupted.cancelled';
    throw new Fault({ code, message: `Left at ${question.id}.`, remedy: 'Come back.' });
  }
}

/** The mesh control server of a practice stack, and who operates it. */
export class MeshStage {
  readonly practice: PracticeStage;

  private constructor(practice: PracticeStage) {
    this.practice = practice;
  }

  static async open(): Promise<MeshStage> {
    return new MeshStage(await PracticeStage.open());
  }

  /** Speaks to the server behind everybody's back, with the key that practice has of it. */
  aside(method: string, path: string, json?: unknown): Promise<Record<string, unknown>> {
    const { products, apiKeys } = this.practice.access.facts;
    const socketPath = (products[meshId]?.address ?? '').replace('unix://', '');
    const options = { socketPath, method, path: `/api/v1/${path}`, headers: { authorization: `Bearer ${apiKeys[meshId]}` } };
    return new Promise((resolve, reject) => {
      const sending = request(options, async (answer) => resolve((await readJson(answer)) as Record<string, unknown>));
      sending.on('error', reject);
      sending.end(json === undefined ? undefined : JSON.stringify(json));
    });
  }

  close(): Promise<void> {
    return this.practice.close();
  }

  /** Runs a flow about the control server of practice, with words behind its name. */
  async run(flow: string, words: readonly string[] = [], told: Told = {}) {
    const operator = crewOf(told);
    const stdin = told.stdin === undefined ? undefined : new TextEncoder().encode(told.stdin);
    const input = { words, options: told.options ?? {}, ...(stdin && { stdin }) };
    const outcome = await this.practice.run(flow, meshId, input, { operator, rehearse: told.rehearse ?? false });
    return { ...outcome, operator, data: outcome.data as Data };
  }
}

/** Who says and does that. */
export function crewOf(told: Told): OperatorDouble {
  const operator = new Crew(told.kind ?? 'terminal');
  return Object.assign(operator, {
    answers: told.answers ?? {},
    typed: told.typed ?? {},
    takes: told.takes ?? {},
    confirms: told.confirms ?? true,
    meanwhile: told.meanwhile,
  });
}

export function secretsOf({ shown }: OperatorDouble) {
  return shown.filter((one): one is Extract<Shown, { kind: 'secret' }> => one.kind === 'secret');
}
