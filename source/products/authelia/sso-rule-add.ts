import { Fault } from '../../faults/fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { applyPlans, seeLastThrough } from '../../flows/deploy/apply-plans.ts';
import { planComponent, planData } from '../../flows/deploy/plan-component.ts';
import { deployed } from '../../flows/deploy/stack-facts.ts';
import { onEngine } from '../../flows/engine-scope.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { optionOf, optionsOf, wordsUpTo } from '../../flows/flow-options.ts';
import { cancelled, unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { reviewOf } from '../../stack/plan/plan-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { unlessThrown } from '../../text/unless-thrown.ts';
import { partsOf } from '../../text/words.ts';
import { isRuleAt, type NewRule, policies, ruleDomainProblem, subjectProblem, withRule } from './client/sso-rules.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';

const file = 'files/configuration.yml';
const unchanged = 'Nothing was changed.';

export const ssoRuleAdd = onEngine(async (scope, input, session, context) => {
  const running = await portalOf(session, input, context);
  const { id, portal } = running;
  const one = await deployed(scope, id);
  const before = one.facts.deployment?.files[file];
  if (before === undefined) {
    const message = `${id} has no ${file} in its folder.`;
    throw new Fault('failed.portal', message, `Add the rule to the configuration file that the portal uses: quarterdeck edit ${id}`);
  }
  const left = `No rule was added to ${id}.`;
  const { rule, position } = await unlessCancelled(session, left, () => askRule(session, input, running));
  if (isRuleAt(before, rule, position)) {
    await seeLastThrough(one.facts);
    return {
      message: `The rule already exists as rule ${position} of ${id}: ${cleanLine(rule.domain)} has the policy ${rule.policy}.`,
      data: { position, rule },
    };
  }
  const after = withRule(before, rule, position);
  const problems = await session.act({
    id: 'validate',
    right: 'operate',
    request: 'authelia config validate, in the running container, with the new configuration on standard input',
    run: async (grant) => (await portal.validate(grant, after)).join('; '),
    failure: (found) => found || undefined,
  });
  if (problems) {
    const message = `The portal would reject this configuration: ${problems}.`;
    throw new Fault('refused.portal', message, 'Nothing was changed. Correct the rule or the rest of the configuration.');
  }
  const ready = await planComponent(one.facts, one.answers, { kind: 'change', edited: { [file]: after } });
  const review = reviewOf(ready.plan, ready.findings);
  const actions = review.actions.filter((action) => action.id !== 'edit');
  const choice = await session.review({ ...review, actions, id: 'rule' });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.', data: planData(ready) };
  if (choice !== 'apply') throw cancelled(left);
  const { run, component } = await applyPlans([ready]);
  return {
    message: `Added rule ${position}: ${cleanLine(rule.domain)} has the policy ${rule.policy}. State of ${id}: ${component?.state.label ?? 'unknown'}. Test the rule: quarterdeck sso test ${id}`,
    data: { run, position, rule },
  };
});

async function askRule(session: Session, input: FlowInput, { config }: RunningPortal): Promise<{ rule: NewRule; position: number }> {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one host name at a time', remedy: 'Add one rule for each host name.' });
  const known = config.domains.map(({ domain }) => domain);
  const domain = await argumentOrPrompt(session, {
    ...{ id: 'domain', given: word, code: 'usage.rule', remedy: unchanged, check: ruleDomainProblem },
    label: 'Host name',
    help: `Host name that users open, or *.${known[0] ?? 'example.org'} for all subdomains. Domains of the portal: ${known.join(', ') || 'none'}.`,
  });
  const choices = {
    two_factor: 'Users who log in with a second factor',
    one_factor: 'Users who log in with a password',
    bypass: ['Anyone', 'without any login'],
    deny: 'No one',
  } as const;
  const unknown = (text: string) => wrong(`Unknown policy "${cleanLine(text)}". Use one of ${policies.join(', ')}.`);
  const question = { id: 'policy', label: 'Policy', choices, initial: 'two_factor' } as const;
  const policy = await askChoice(session, question, { given: optionOf(input, 'policy')?.trim(), unknown });
  const subjects = optionsOf(input, 'subject') ?? (policy === 'bypass' ? [] : await askSubjects(session));
  for (const subject of subjects) checked(subject, subjectProblem);
  if (policy === 'bypass' && subjects.length > 0) {
    const message = 'A bypass rule cannot be limited to users or groups, because they are unknown without a login.';
    throw new Fault('usage.rule', message, 'Use one_factor, or omit the users and groups.');
  }
  const resources = optionsOf(input, 'resource') ?? [];
  for (const pattern of resources) checked(pattern, patternProblem);
  return { rule: { domain, policy, subjects, resources }, position: await askPosition(session, input, config.rules) };
}

async function askSubjects(session: Session): Promise<readonly string[]> {
  const typed = await session.ask.text({
    id: 'subjects',
    label: 'Users and groups (user:NAME or group:NAME, comma-separated)',
    initial: '',
    help: 'Leave empty for all users who can log in.',
    check: (text) => partsOf(text).map(subjectProblem).find(Boolean),
  });
  return partsOf(typed);
}

/** The first rule that matches applies, so a new rule goes before the rules that would match its requests. */
async function askPosition(session: Session, input: FlowInput, rules: RunningPortal['config']['rules']): Promise<number> {
  const written = optionOf(input, 'before');
  const most = rules.length + 1;
  const numberProblem = (text: string) =>
    /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most ? undefined : `Use a rule number from 1 to ${most}.`;
  if (written !== undefined) return Number(checked(written, numberProblem));
  if (!session.attended || rules.length === 0) return 1;
  const chosen = await session.ask.choice({
    id: 'before',
    label: 'Insert before rule',
    help: 'The first matching rule applies.',
    choices: [
      ...rules.map(({ domains, policy }, index) => ({
        value: String(index + 1),
        label: `Before rule ${index + 1}`,
        detail: cleanLine(`${domains.join(', ')}: ${policy}`),
      })),
      { value: String(most), label: 'After the last rule' },
    ],
    initial: '1',
  });
  return Number(chosen);
}

const patternProblem = (pattern: string) =>
  unlessThrown(() => new RegExp(pattern, 'u'), undefined) ? undefined : `Invalid regular expression "${cleanLine(pattern)}".`;

function checked(text: string, problemOf: (text: string) => string | undefined): string {
  const problem = problemOf(text.trim());
  if (problem === undefined) return text.trim();
  throw wrong(problem);
}

const wrong = (problem: string) => new Fault('usage.rule', problem, unchanged);
