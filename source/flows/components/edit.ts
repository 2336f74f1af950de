import { textOfPeople } from '../../config/encoding.ts';
import { checkConfig } from '../../config-files/config-check.ts';
import { Fault } from '../../faults/fault.ts';
import { fieldProblem } from '../../session/form-checks.ts';
import type { Session } from '../../session/session.ts';
import type { Answers } from '../../stack/model.ts';
import { answersOfDeployment } from '../../stack/plan/answers.ts';
import { type EnvLine, readEnv } from '../../stack/plan/env-file.ts';
import { formOf } from '../../stack/plan/form.ts';
import { reviewOf } from '../../stack/plan/plan-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { askChoice } from '../ask-choice.ts';
import { configFault } from '../catalog/config-problems.ts';
import { applyPlans } from '../deploy/apply-plans.ts';
import { rejoinedSentence, withJoined } from '../deploy/joined-services.ts';
import { planComponent, planData, type ReadyPlan, reviewTogether } from '../deploy/plan-component.ts';
import { type Deployed, deployed, formContextOf } from '../deploy/stack-facts.ts';
import { editedText } from '../edited-text.ts';
import { onEngine } from '../engine-scope.ts';
import { cancelled } from '../prompt-cancelled.ts';
import { componentOf } from './service-targets.ts';

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each round of editing, plan and review continues with the text of the last
export const edit = onEngine(async (scope, input, session) => {
  const component = componentOf(input);
  const existing = await deployed(scope, component.id);
  const { compose, envText, files } = existing.deployment;
  const texts: Readonly<Record<string, string>> = { 'compose.yaml': compose, '.env': envText, ...files };
  const path = await chosenFile(session, input.words[0], texts);
  const before = texts[path] ?? '';
  let text = before;
  for (let round = 1; ; round++) {
    text = input.stdin ? textOfPeople(input.stdin, 'the input', 'usage.input') : await editedText(session, path, text);
    if (text === before) return { message: `${component.id}/${path} was not changed.` };
    let ready: ReadyPlan;
    try {
      refuseBroken(existing, path, text);
      ready = await planComponent(existing.facts, answersWith(existing, path, text), { kind: 'change', edited: { [path]: text } });
    } catch (thrown) {
      // A small mistake must not discard the edited text.
      if (!(thrown instanceof Fault) || input.stdin || !session.attended) throw thrown;
      if (!(await again(session, thrown, round))) throw thrown;
      continue;
    }
    const [first = ready, ...others] = await withJoined([ready]);
    const own = reviewOf(first.plan, first.findings);
    const review =
      others.length === 0 ? own : { ...reviewTogether([first, ...others], { title: own.title, label: 'Apply all' }), actions: own.actions };
    // There is no form to return to, and piped input has no second version.
    const actions = review.actions.flatMap((action) =>
      action.id !== 'edit' ? [action] : input.stdin ? [] : [{ ...action, label: 'Edit again' }],
    );
    const choice = await session.review({ ...review, actions, id: `edit-${round}` });
    if (session.dryRun) return { message: 'Dry run: nothing was changed.', data: planData(ready) };
    if (choice === 'edit' && !input.stdin) continue;
    if (choice !== 'apply') throw cancelled(`${component.id} was not changed.`);
    const { run, component: seen } = await applyPlans([first, ...others]);
    return {
      message: `Applied ${component.id}/${path}. State: ${seen?.state.label ?? 'unknown'}.${rejoinedSentence(others)}`,
      data: { component: component.id, host: input.engineName, run, file: path },
    };
  }
});

/** A syntax error in its configuration file is reported here, and not by a container in a restart loop. */
function refuseBroken({ facts: { entry, source }, deployment }: Deployed, path: string, text: string): void {
  if (!entry.configFile || path !== entry.configFile.path) return;
  const [first, ...others] = checkConfig(text, entry.configFile, source.configSchema).filter(({ level }) => level === 'error');
  if (!first) return;
  const more = others.length === 0 ? '' : ` First of ${others.length + 1} errors.`;
  throw configFault(first, `${deployment.folder}/${path}`, more);
}

function answersWith({ facts, deployment, answers }: Deployed, path: string, text: string): Answers {
  const { entry } = facts;
  if (path !== '.env') return answers;
  const file = `${deployment.folder}/.env`;
  const { values: env, lines } = readEnv(text, file);
  // Compose reads a name without a value from its environment, which is empty here: the line would be dropped silently.
  const alone = lines.findIndex((line) => line.name !== undefined && !Object.hasOwn(env, line.name));
  if (alone >= 0) throw wrongLine(file, lines, alone, 'no value is set');
  const context = formContextOf({ ...facts, deployment: { ...deployment, env } }, {});
  for (const field of formOf(entry, context).fields) {
    const line = lines.findLastIndex(({ name }) => name === field.id);
    const problem = line < 0 || field.kind === 'secret' ? undefined : fieldProblem(field, env[field.id] ?? '');
    if (problem !== undefined) throw wrongLine(file, lines, line, problem);
  }
  return answersOfDeployment(entry, context);
}

function wrongLine(file: string, lines: readonly EnvLine[], index: number, problem: string): Fault {
  const before = lines.slice(0, index).reduce((count, { text }) => count + text.split('\n').length, 0);
  const message = `${lines[index]?.name ?? ''} in .env: ${problem.replace(/\.$/, '')}.`;
  return new Fault('config.env', message, 'Use NAME=value, or remove the line to use the default.', { where: { file, line: before + 1 } });
}

async function chosenFile(session: Session, written: string | undefined, texts: Readonly<Record<string, string>>): Promise<string> {
  const names = Object.keys(texts);
  if (written !== undefined) {
    const found = names.find((name) => name === written || name === `files/${written}`);
    if (found) return found;
    throw new Fault('usage.file', `Unknown file "${cleanLine(written)}".`, nameRemedy(written, names, 'The component has no files.'));
  }
  return session.ask.choice({ id: 'file', label: 'File', choices: names.map((name) => ({ value: name, label: name })) });
}

async function again(session: Session, fault: Fault, round: number): Promise<boolean> {
  const { where } = fault;
  const position = where?.line === undefined ? '' : ` (line ${where.line}${where.column === undefined ? '' : `, column ${where.column}`})`;
  const choice = await askChoice(session, {
    id: `again-${round}`,
    label: `${fault.message}${position}`,
    help: fault.remedy,
    choices: { again: 'Edit again', drop: 'Discard the change' },
  });
  return choice === 'again';
}
