import { request } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { Fault } from '../../source/faults/fault.ts';
import type { Confirmation, Question, Review, Shown } from '../../source/session/session.ts';
import { OperatorDouble } from './operator-double.ts';
import { PracticeFixture } from './practice-fixture.ts';

export const meshId = 'mesh-control-server';

/** What an operator says and does in one run. */
export interface Reported {
  answers?: Record<string, (string | readonly string[])[]>;
  typed?: Record<string, Record<string, string>[]>;
  takes?: Record<string, string[]>;
  confirms?: boolean;
  kind?: OperatorDouble['kind'];
  options?: Record<string, string | boolean>;
  stdin?: string;
  dryRun?: boolean;
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
  meanwhile: Reported['meanwhile'];

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
    throw new Fault(code, `Left at ${question.id}.`, 'Come back.');
  }
}

/** The mesh control server of a practice stack, and who operates it. */
export class MeshFixture {
  readonly practice: PracticeFixture;

  private constructor(practice: PracticeFixture) {
    this.practice = practice;
  }

  static async open(): Promise<MeshFixture> {
    return new MeshFixture(await PracticeFixture.open());
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
  async run(flow: string, words: readonly string[] = [], reported: Reported = {}) {
    const operator = crewOf(reported);
    const stdin = reported.stdin === undefined ? undefined : new TextEncoder().encode(reported.stdin);
    const input = { words, options: reported.options ?? {}, ...(stdin && { stdin }) };
    const outcome = await this.practice.run(flow, meshId, input, { operator, dryRun: reported.dryRun ?? false });
    return { ...outcome, operator, data: outcome.data as Data };
  }
}

/** Who says and does that. */
export function crewOf(reported: Reported): OperatorDouble {
  const operator = new Crew(reported.kind ?? 'terminal');
  return Object.assign(operator, {
    answers: reported.answers ?? {},
    typed: reported.typed ?? {},
    takes: reported.takes ?? {},
    confirms: reported.confirms ?? true,
    meanwhile: reported.meanwhile,
  });
}

export function secretsOf({ shown }: OperatorDouble) {
  return shown.filter((one): one is Extract<Shown, { kind: 'secret' }> => one.kind === 'secret');
}
