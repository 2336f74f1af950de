import { Fault } from '../faults/fault.ts';
import { isRuleAt, type NewRule, policies, ruleDomainProblem, subjectProblem, withRule } from '../products/sso-rules.ts';
import type { Session } from '../session/session.ts';
import { isEmpty } from '../stack/plan.ts';
import { planJson, reviewOf } from '../stack/plan-text.ts';
import { cleanLine } from '../text/clean.ts';
import { partsOf } from '../text/words.ts';
import { ssoRuleAddAbout } from './about-sso.ts';
import { applyPlans } from './apply-plans.ts';
import type { Flow, FlowInput } from './flow.ts';
import { optionOf, wordsUpTo } from './flow-options.ts';
import { seeLastThrough } from './last-change.ts';
import { unlessLeft } from './left-early.ts';
import { planComponent } from './plan-component.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';
import { standing } from './standing.ts';

const file = 'files/configuration.yml';

export const ssoRuleAdd: Flow = {
  ...ssoRuleAddAbout,
  async run(session, input, world) {
    const running = await portalOf(session, input, world);
    const { id, place, portal } = running;
    const one = await standing(session, world, place, id);
    const before = one.facts.deployment?.files[file];
    if (before === undefined) {
      throw new Fault({
        code: 'failed.portal',
        message: `${id} has no ${file} in its folder.`,
        remedy: `Its configuration is elsewhere: quarterdeck edit ${id}`,
      });
    }
    const left = { message: `Nothing was changed: the rules of ${id} are as before.`, remedy: 'Start it again whenever you like.' };
    const { rule, position } = await unlessLeft(() => askRule(session, input, running), left);
    if (isRuleAt(before, rule, position)) {
      await seeLastThrough(session, world, one.facts);
      return {
        message: `Rule ${position} of ${id} says that already: ${cleanLine(rule.domain)} has the policy ${rule.policy}.`,
        data: { position, rule: { ...rule, subjects: [...rule.subjects], resources: [...rule.resources] } },
      };
    }
    const after = withRule(before, rule, position);
    const problems = await session.act({
      id: 'validate',
      right: 'operate',
      request: 'authelia config validate, in the running container, with the new configuration on its input',
      target: { host: place, component: id },
      run: (grant) => portal.validate(grant, after),
      failure: (found) => (found.length > 0 ? found.join('; ') : undefined),
    });
    if (problems && problems.length > 0) {
      throw new Fault({
        code: 'refused.portal',
        message: `The portal would refuse this configuration: ${problems.join('; ')}.`,
        remedy: 'Nothing was changed. Write the rule otherwise.',
      });
    }
    const ready = await planComponent(session, world, one.facts, one.answers, { kind: 'change', edited: { [file]: after } });
    const review = reviewOf(ready.plan, ready.findings);
    const actions = review.actions.filter((action) => action.id !== 'edit');
    const choice = await session.review({ ...review, actions, id: 'rule' });
    if (session.rehearsing) {
      return {
        message: 'Rehearsed: nothing was changed.',
        data: planJson(ready.plan, ready.findings, isEmpty(ready.plan), session.withoutSecrets),
      };
    }
    if (choice !== 'apply') throw new Fault({ code: 'interrupted.cancelled', ...left });
    const { run, component } = await applyPlans(session, world, [ready]);
    return {
      message: `${cleanLine(rule.domain)} has the policy ${rule.policy} as rule ${position}; ${id} is ${component?.word ?? 'not seen yet'}. See what it does: quarterdeck sso test ${id}`,
      data: { run, position, rule: { ...rule, subjects: [...rule.subjects], resources: [...rule.resources] } },
    };
  },
};

async function askRule(session: Session, input: FlowInput, { config }: RunningPortal): Promise<{ rule: NewRule; position: number }> {
  const [word] = wordsUpTo(1, input, { takes: 'One name at a time', remedy: 'Add a rule for each.' });
  const known = config.domains.map(({ domain }) => domain);
  const domain = checked(
    word ??
      (await session.ask.text({
        id: 'domain',
        label: 'Which name does it protect?',
        help: `As browsers ask for it, or *.${known[0] ?? 'example.org'} for all below. The portal knows ${known.join(', ') || 'no domain'}.`,
        check: ruleDomainProblem,
      })),
    ruleDomainProblem,
  );
  const policy = checked(
    optionOf(input, 'policy') ??
      (await session.ask.choice({
        id: 'policy',
        label: 'Who gets through?',
        choices: [
          { value: 'two_factor', label: 'Who logs in with a second factor' },
          { value: 'one_factor', label: 'Who logs in with a password' },
          { value: 'bypass', label: 'Everybody', detail: 'without any login' },
          { value: 'deny', label: 'Nobody' },
        ],
        initial: 'two_factor',
      })),
    (text) => ((policies as readonly string[]).includes(text) ? undefined : `A policy is one of ${policies.join(', ')}.`),
  ) as NewRule['policy'];
  const subjects = listOf(input, 'subject') ?? (policy === 'bypass' ? [] : await askSubjects(session));
  for (const subject of subjects) checked(subject, subjectProblem);
  if (policy === 'bypass' && subjects.length > 0) {
    throw new Fault({
      code: 'usage.rule',
      message: 'A rule that lets everybody through without a login cannot be for some people alone: nobody knows yet who asks.',
      remedy: 'Take one_factor for them, or leave the subjects out.',
    });
  }
  const resources = listOf(input, 'resource') ?? [];
  for (const pattern of resources) checked(pattern, patternProblem);
  return { rule: { domain, policy, subjects, resources }, position: await askPosition(session, input, config.rules) };
}

async function askSubjects(session: Session): Promise<readonly string[]> {
  const written = await session.ask.text({
    id: 'subjects',
    label: 'For whom alone? user:NAME or group:NAME, with commas between them',
    initial: '',
    help: 'Empty for everybody who can log in.',
    check: (text) =>
      partsOf(text)
        .map(subjectProblem)
        .find((problem) => problem !== undefined),
  });
  return partsOf(written);
}

/** The first that matches wins, so that a new one goes before those that would take its place. */
async function askPosition(session: Session, input: FlowInput, rules: RunningPortal['config']['rules']): Promise<number> {
  const written = optionOf(input, 'before');
  const most = rules.length + 1;
  if (written !== undefined) {
    return Number(
      checked(written, (text) =>
        /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most ? undefined : `The rules have the numbers 1 to ${rules.length}.`,
      ),
    );
  }
  if (!session.attended || rules.length === 0) return 1;
  const chosen = await session.ask.choice({
    id: 'before',
    label: 'Before which rule?',
    help: 'The first that matches wins.',
    choices: [
      ...rules.map(({ domains, policy }, index) => ({
        value: String(index + 1),
        label: `Before rule ${index + 1}`,
        detail: cleanLine(`${domains.join(', ')}: ${policy}`),
      })),
      { value: String(most), label: 'Behind all of them' },
    ],
    initial: '1',
  });
  return Number(chosen);
}

function patternProblem(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'u');
    return undefined;
  } catch {
    return `"${cleanLine(pattern)}" is no regular expression.`;
  }
}

function checked(text: string, problemOf: (text: string) => string | undefined): string {
  const problem = problemOf(text.trim());
  if (problem === undefined) return text.trim();
  throw new Fault({ code: 'usage.rule', message: problem, remedy: 'Nothing was changed.' });
}

function listOf(input: FlowInput, name: string): readonly string[] | undefined {
  const value = input.options[name];
  return value === undefined ? undefined : (Array.isArray(value) ? value : [value]).map(String);
}
