import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const vulnerabilityFlows = lazyFlows({ about: 'host', offline: true }, [
  resumableFlow('operate', 'vulnerabilities import', {
    title: 'Import a vulnerability report',
    summary:
      'Imports scanner findings from JSON (Trivy or Grype), SARIF, or CSV (OpenVAS and others), and shows how many are new, already known or no longer reported. Earlier decisions are kept.',
    usage: '[FILE]',
    flags: {
      subject: { meaning: 'name of the scanned subject; replaces the name in the report', value: 'NAME' },
      partial: { meaning: 'import the valid entries of a report that has invalid ones' },
      stdin: { meaning: 'read the report from standard input' },
    },
    load: async () => (await import('./vulnerabilities-import.ts')).vulnerabilitiesImport,
  }),
  flow('read', 'vulnerabilities list', {
    title: 'List vulnerabilities, most urgent first',
    summary:
      'Lists vulnerabilities by component and package, with severity, deadline and decision. Critical vulnerabilities are due within one day, high ones within seven days. Filter by component, package or ID.',
    usage: '[WORD...]',
    flags: {
      band: { meaning: 'critical, high, medium, low, none or unknown; repeatable', value: 'BAND', repeats: true },
      late: { meaning: 'only overdue vulnerabilities and expired acceptances' },
      open: { meaning: 'only undecided vulnerabilities' },
      limit: { meaning: 'maximum number of lines (default: 100); does not limit --json', value: 'NUMBER' },
    },
    load: async () => (await import('./vulnerabilities-list.ts')).vulnerabilitiesList,
  }),
  resumableFlow('operate', 'vulnerabilities decide', {
    title: 'Triage vulnerabilities',
    summary:
      'Prompts for a decision about each undecided vulnerability, package by package, most urgent first: fix by a date, accept until a date with a reason, or false positive. Each decision is saved immediately, so you can stop and resume at any time. Filter by component, package or ID.',
    usage: '[WORD...]',
    flags: {
      as: { meaning: 'fix, accept, false-positive, or open to revert a decision; applies to all matches', value: 'WHAT' },
      reason: { meaning: 'reason for the decision', value: 'TEXT' },
      until: { meaning: 'last day on which the decision is valid', value: 'DAY' },
      everywhere: { meaning: 'apply the decision to the package in all scanned subjects' },
    },
    load: async () => (await import('./vulnerabilities-decide.ts')).vulnerabilitiesDecide,
  }),
  flow('operate', 'vulnerabilities report', {
    title: 'Write a vulnerability report',
    summary: 'Writes a Markdown or JSON report with severities, overdue vulnerabilities, and the decisions with their reasons.',
    usage: '[FILE]',
    flags: { format: { meaning: 'markdown or json (default: from the extension of FILE)', value: 'FORMAT' } },
    load: async () => (await import('./vulnerabilities-list.ts')).vulnerabilitiesReport,
  }),
]);
