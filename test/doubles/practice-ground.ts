import { flows } from '../../source/app/flow-registry.ts';
import type { FlowInput } from '../../source/flows/flow.ts';
import type { Operator } from '../../source/session/session.ts';
import type { Ground, Killed } from './break-offs.ts';
import { OperatorDouble } from './operator-double.ts';
import { PracticeFixture } from './practice-fixture.ts';

export interface PracticeTry {
  words?: readonly string[];
  options?: FlowInput['options'];
  stdin?: string;
  /** Who answers; each try has a new one. */
  operator?: (fixture: PracticeFixture, killed: Killed | undefined) => Operator;
  /** Before the run, not watched. */
  first?: (fixture: PracticeFixture) => Promise<unknown>;
  end?: (fixture: PracticeFixture) => Promise<unknown>;
  belongs?: Ground['belongs'];
}

/**
 * A practice stack with this flow about this component of it; an empty name for a flow about the host. For `breakOffs` and `traces`.
 * @param shared a stack that is there, for all tries: then `first` makes it what it was. Otherwise each try has one of its own, which takes seconds.
 */
export function onPractice(
  flowId: string,
  component: string,
  played: PracticeTry = {},
  shared?: () => PracticeFixture,
): () => Promise<Ground> {
  return async () => {
    const fixture = shared?.() ?? (await PracticeFixture.open());
    const flow = flows.find(({ id }) => id === flowId);
    if (!flow) throw new Error(`no flow ${flowId}`);
    await played.first?.(fixture);
    const { words = [], options = {}, stdin } = played;
    return {
      flow,
      operator: (killed) => played.operator?.(fixture, killed) ?? new OperatorDouble(),
      run: (watched, operator, left) =>
        fixture.run(
          flowId,
          component,
          {
            ...{ words: left?.words ?? words, options: left?.options ?? options },
            ...(stdin !== undefined && { stdin: new TextEncoder().encode(stdin) }),
          },
          // What was killed hears of no end.
          { operator: operator as OperatorDouble, as: () => watched, resume: left?.run, signal: new AbortController().signal },
        ),
      journal: fixture.journal,
      end: async () => played.end?.(fixture),
      folders: [fixture.home, fixture.access.folder],
      ...(played.belongs && { belongs: played.belongs }),
      close: async () => {
        if (!shared) await fixture.close();
      },
    };
  };
}

type Answer = string | readonly string[];

/** An operator who gives each step the same answer however often it is asked, or the one that a function has for that time, from 0; and confirms everything. */
export function answering(
  answers: Readonly<Record<string, Answer | ((time: number) => Answer)>>,
  kind: Operator['kind'] = 'terminal',
): OperatorDouble {
  const operator = new OperatorDouble(kind);
  operator.ask = async (question) => {
    operator.asked.push(question);
    const given = answers[question.id];
    const time = operator.asked.filter(({ id }) => id === question.id).length - 1;
    const answer = (typeof given === 'function' ? given(time) : given) ?? ('initial' in question ? question.initial : undefined);
    if (answer === undefined) throw new Error(`nobody answers ${question.id}`);
    return answer;
  };
  return operator;
}
