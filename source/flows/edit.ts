import { textOfPeople } from '../config/encoding.ts';
import { Fault } from '../faults/fault.ts';
import { editText } from '../hosts/local-editor.ts';
import { checkConfig } from '../products/config-check.ts';
import { fieldProblem } from '../session/form-checks.ts';
import type { Session } from '../session/session.ts';
import { answersOfDeployment } from '../stack/answers.ts';
import { type EnvLine, readEnv } from '../stack/env-file.ts';
import { formOf } from '../stack/form.ts';
import type { Answers } from '../stack/model.ts';
import { isEmpty } from '../stack/plan.ts';
import { planJson, reviewOf } from '../stack/plan-text.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { editAbout } from './about-stack.ts';
import { applyPlans } from './apply-plans.ts';
import { configFault } from './config-problems.ts';
import type { Flow, FlowWorld } from './flow.ts';
import { formContextOf } from './form-context.ts';
import { rejoinedSentence, withJoined } from './joined-services.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { reviewTogether } from './review-together.ts';
import { componentOf } from './service-targets.ts';
import { type Standing, standing } from './standing.ts';

export const edit: Flow = {
  ...editAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const one = await standing(session, world, input.place, component.id);
    const texts = textsOf(one);
    const path = await chosenFile(session, input.words[0], texts);
    const before = texts[path] ?? '';
    let text = before;
    for (let round = 1; ; round++) {
      text = input.stdin ? textOfPeople(input.stdin, 'the input', 'usage.input') : await edited(session, path, text);
      if (text === before) return { message: `${component.id}/${path}: nothing was changed.` };
      let ready: ReadyPlan;
      try {
        refuseBroken(one, path, text);
        ready = await planComponent(session, world, one.facts, answersWith(world, one, path, text), {
          kind: 'change',
          edited: { [path]: text },
        });
      } catch (thrown) {
        // What was typed is not lost over a colon.
        if (!(thrown instanceof Fault) || input.stdin || !session.attended) throw thrown;
        if (!(await again(session, thrown, round))) throw thrown;
        continue;
      }
      const [first = ready, ...others] = await withJoined(session, world, [ready]);
      const own = reviewOf(first.plan, first.findings);
      const review =
        others.length === 0
          ? own
          : { ...reviewTogether([first, ...others], { title: own.title, label: 'Apply all of it' }), actions: own.actions };
      // There is no form here to go back to, and of what was piped in no second version.
      const actions = review.actions.flatMap((action) =>
        action.id !== 'edit' ? [action] : input.stdin ? [] : [{ ...action, label: 'Edit it again' }],
      );
      const choice = await session.review({ ...review, actions, id: `edit-${round}` });
      if (session.rehearsing)
        return {
          message: 'Rehearsed: nothing was changed.',
          data: planJson(ready.plan, ready.findings, isEmpty(ready.plan), session.withoutSecrets),
        };
      if (choice === 'edit' && !input.stdin) continue;
      if (choice !== 'apply') throw given(component.id);
      const { run, component: seen } = await applyPlans(session, world, [first, ...others]);
      return {
        message: `${component.id}/${path} is in force: ${seen?.word ?? 'not seen yet'}.${rejoinedSentence(others)}`,
        data: { component: component.id, host: input.place, run, file: path },
      };
    }
  },
};

/** A mistake in the form of its configuration file is said here, and not by a container that ends in a circle. */
function refuseBroken({ facts: { entry, source, deployment } }: Standing, path: string, text: string): void {
  if (!entry.configFile || path !== entry.configFile.path) return;
  const [first, ...others] = checkConfig(text, entry.configFile, source.configSchema).filter(({ level }) => level === 'error');
  if (!first) return;
  const more = others.length === 0 ? '' : ` It is the first of ${others.length + 1} mistakes.`;
  throw configFault(first, `${deployment?.folder ?? entry.id}/${path}`, more);
}

/** What stands in an edited .env is what is wanted, not what stood there. */
function answersWith(world: FlowWorld, { facts, answers }: Standing, path: string, text: string): Answers {
  const { deployment, entry } = facts;
  if (path !== '.env' || !deployment) return answers;
  const file = `${deployment.folder}/.env`;
  const { values: env, lines } = readEnv(text, file);
  // Compose takes a name alone from its environment, where there is nothing for it here: the line would be dropped without a word.
  const alone = lines.findIndex((line) => line.name !== undefined && !Object.hasOwn(env, line.name));
  if (alone >= 0) throw wrongLine(file, lines, alone, 'it has no value');
  const context = formContextOf(world, { ...facts, deployment: { ...deployment, env } }, {});
  for (const field of formOf(entry, context).fields) {
    const line = lines.findLastIndex(({ name }) => name === field.id);
    const problem = line < 0 || field.kind === 'secret' ? undefined : fieldProblem(field, env[field.id] ?? '');
    if (problem !== undefined) throw wrongLine(file, lines, line, problem);
  }
  return answersOfDeployment(entry, context);
}

function wrongLine(file: string, lines: readonly EnvLine[], index: number, problem: string): Fault {
  const before = lines.slice(0, index).reduce((count, { text }) => count + text.split('\n').length, 0);
  return new Fault({
    code: 'config.env',
    message: `${lines[index]?.name ?? ''} in .env: ${problem.replace(/\.$/, '')}.`,
    remedy: 'Write NAME=value, or leave the line out for the default.',
    where: { file, line: before + 1 },
  });
}

function textsOf({ facts }: Standing): Record<string, string> {
  const { compose = '', envText = '', files = {} } = facts.deployment ?? {};
  return { 'compose.yaml': compose, '.env': envText, ...files };
}

async function chosenFile(session: Session, written: string | undefined, texts: Readonly<Record<string, string>>): Promise<string> {
  const names = Object.keys(texts);
  if (written !== undefined) {
    const found = names.find((name) => name === written || name === `files/${written}`);
    if (found) return found;
    throw new Fault({
      code: 'usage.file',
      message: `It has no file "${cleanLine(written)}".`,
      remedy: nameRemedy(written, names, 'It has no files.'),
    });
  }
  if (!session.attended) {
    throw new Fault({ code: 'usage.file', message: 'Which file?', remedy: `Name one of ${names.join(', ')}.` });
  }
  return session.ask.choice({ id: 'file', label: 'Which file?', choices: names.map((name) => ({ value: name, label: name })) });
}

async function edited(session: Session, path: string, text: string): Promise<string> {
  if (!session.attended) {
    throw new Fault({
      code: 'refused.noTerminal',
      message: 'An editor needs a terminal, and there is none.',
      remedy: 'Run it in a terminal, or pipe the new text in with --stdin.',
    });
  }
  return session.lend(() => editText(text, { name: path, env: process.env, signal: session.signal }));
}

async function again(session: Session, fault: Fault, round: number): Promise<boolean> {
  const { where } = fault;
  const place = where?.line === undefined ? '' : ` (line ${where.line}${where.column === undefined ? '' : `, column ${where.column}`})`;
  const choice = await session.ask.choice({
    id: `again-${round}`,
    label: `${fault.message}${place}`,
    help: fault.remedy,
    choices: [
      { value: 'again', label: 'Edit it again' },
      { value: 'drop', label: 'Give the change up' },
    ],
  });
  return choice === 'again';
}

function given(id: string): Fault {
  return new Fault({
    code: 'interrupted.cancelled',
    message: `Nothing was changed: ${id} is as before.`,
    remedy: 'Start it again whenever you like.',
  });
}
