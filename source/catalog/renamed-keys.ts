import type { OldNames } from '../yaml/schema-issues.ts';

/** Names of component.yaml keys before 1.0: an operator's own entry may still have them. */
export const oldNames: OldNames = {
  keys: {
    says: 'states',
    word: 'state',
    tone: 'severity',
    usual: 'defaults',
    goes: 'target',
    reach: 'audience',
    proves: 'verify',
    meaning: 'description',
    holds: 'content',
    way: 'method',
    speaks: 'api',
    api: 'name',
    behind: 'publicUrl',
    aside: 'optional',
    states: 'transitions',
  },
  values: { severity: { good: 'ok', warn: 'warning', bad: 'error', idle: 'off', unknown: 'ok' } },
  dropped: {
    names: ['source', 'sources', 'line', 'lines', 'rule', 'basis', 'confidence', 'why', 'defaultKind'],
    remedy: 'Remove the key, or turn it into a comment: entries do not contain notes about their sources.',
  },
};
