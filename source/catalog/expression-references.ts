import { nameRemedy } from '../text/nearest-name.ts';
import { type Draft, inComponent, type RuleFinding, unknown, variableOf } from './draft.ts';
import { compileExpression, type ExpressionScope, isProblem, isTemplateProblem, readTemplate, scopeVariables } from './expressions.ts';

export function* checkExpressions(draft: Draft): Generator<RuleFinding> {
  const { component } = draft;
  const { probe } = component;
  if (probe) {
    const asked = new Set([probe.call, ...probe.also, ...probe.withCredentials]);
    if (probe.version !== undefined) yield* checkExpression(draft, ['probe', 'version'], probe.version, 'probe', asked, 'any');
    for (const [index, state] of probe.states.entries()) {
      const path = ['probe', 'states', index];
      yield* checkExpression(draft, [...path, 'when'], state.when, 'probe', asked, 'bool');
      yield* checkTemplate(draft, [...path, 'state'], state.state, 'probe', asked);
      yield* checkTemplate(draft, [...path, 'detail'], state.detail, 'probe', asked);
    }
    for (const [index, { when, text }] of probe.status.entries()) {
      yield* checkExpression(draft, ['probe', 'status', index, 'when'], when, 'probe', asked, 'bool');
      yield* checkTemplate(draft, ['probe', 'status', index, 'text'], text, 'probe', asked);
    }
  }
  for (const [name, { gives = {}, error }] of Object.entries(component.calls)) {
    for (const [input, source] of Object.entries(gives))
      yield* checkExpression(draft, ['calls', name, 'gives', input], source, 'probe', new Set(), 'any');
    if (error !== undefined) yield* checkExpression(draft, ['calls', name, 'error'], error, 'probe', new Set(), 'any');
  }
  for (const [index, check] of component.checks.entries()) {
    const asked = new Set(check.calls);
    yield* checkExpression(draft, ['checks', index, 'when'], check.when, 'check', asked, 'bool');
    yield* checkTemplate(draft, ['checks', index, 'message'], check.message, 'check', asked);
    yield* checkTemplate(draft, ['checks', index, 'remedy'], check.remedy, 'check', asked);
  }
  for (const [index, { when, at }] of (component.configFile?.rules ?? []).entries())
    yield* checkExpression(draft, ['configFile', 'rules', index, 'when'], when, at.includes('*') ? 'entry' : 'config', new Set(), 'bool');
  for (const [index, task] of component.firstRun.entries()) {
    if (task.done !== undefined)
      yield* checkExpression(draft, ['firstRun', index, 'done'], task.done, 'check', new Set(Object.keys(component.calls)), 'bool');
  }
}

function* checkTemplate(draft: Draft, path: RuleFinding['path'], text: string, scope: ExpressionScope, asked: ReadonlySet<string>) {
  const template = readTemplate(text);
  if (isTemplateProblem(template)) {
    const remedy = 'Put CEL expressions in single braces, and double literal braces.';
    yield { ...inComponent(path, `Invalid template: ${template.message}.`, remedy), offset: template.offset };
    return;
  }
  const secrets = new Set(draft.component.fields.filter(({ secret }) => secret).flatMap((field) => variableOf(field) ?? []));
  for (const part of template) {
    if (typeof part === 'string') continue;
    yield* checkExpression(draft, path, part.source, scope, asked, 'any', part.offset);
    const expression = compileExpression(part.source, scope);
    if (isProblem(expression)) continue;
    for (const [name, at] of expression.names.env) {
      const remedy = 'Show a property of the secret instead, such as its length.';
      const finding = inComponent(path, `This text would reveal the secret ${name}.`, remedy);
      if (secrets.has(name)) yield { ...finding, offset: part.offset + at };
    }
  }
}

function* checkExpression(
  { component, compose }: Draft,
  path: RuleFinding['path'],
  source: string,
  scope: ExpressionScope,
  asked: ReadonlySet<string>,
  wanted: 'bool' | 'any',
  shift = 0,
): Generator<RuleFinding> {
  const expression = compileExpression(source, scope);
  if (isProblem(expression)) {
    const name = /^Unknown variable: (\w+)$/.exec(expression.message)?.[1];
    const remedy = name === undefined ? 'Fix the CEL expression.' : nameRemedy(name, scopeVariables[scope], '');
    yield { ...inComponent(path, `Invalid expression: ${expression.message}.`, remedy), offset: shift + expression.offset };
    return;
  }
  if (wanted === 'bool' && expression.type !== 'bool' && expression.type !== 'dyn') {
    const message = `The condition must be true or false, not of type ${expression.type}.`;
    yield { ...inComponent(path, message, 'Compare the expression with a value.'), offset: shift };
  }
  const calls = Object.keys(component.calls);
  for (const [name, at] of expression.names.calls) {
    if (asked.has(name)) continue;
    const finding = calls.includes(name)
      ? inComponent(
          path,
          `The call "${name}" is used here, but is never run.`,
          scope === 'probe' ? `Add the call to the probe: also: [${name}].` : `Add the call to this check: calls: [${name}].`,
        )
      : unknown(path, 'call', name, calls);
    yield { ...finding, offset: shift + at };
  }
  const targets = {
    services: ['service', [...(compose?.services.keys() ?? Object.keys(component.services))]],
    fields: ['field', component.fields.map((field) => field.name)],
  } as const;
  for (const kind of ['services', 'fields'] as const) {
    const [what, known] = targets[kind];
    for (const [name, at] of expression.names[kind])
      if (!known.includes(name)) yield { ...unknown(path, what, name, known), offset: shift + at };
  }
}
