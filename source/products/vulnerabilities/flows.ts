import { lazyFlows, resumable } from '../../flows/flow.ts';

export const vulnerabilityFlows = lazyFlows({ about: 'host', offline: true }, [
  {
    verb: 'vulnerabilities import',
    title: 'Import a vulnerability report',
    summary:
      'Reads what a scanner found, from JSON of Trivy or Grype, SARIF, or CSV of OpenVAS and others, and compares it with what is known: new, still there, gone. What was decided before stays decided.',
    ...resumable('operate'),
    usage: '[FILE]',
    flags: {
      subject: { meaning: 'what was scanned, where the report does not say it', value: 'NAME' },
      partial: { meaning: 'take what can be read of a report that has broken entries' },
      stdin: { meaning: 'take the report from what is piped in' },
    },
    load: async () => (await import('./vulnerabilities-import.ts')).vulnerabilitiesImport,
  },
  {
    verb: 'vulnerabilities list',
    title: 'List vulnerabilities, the urgent ones first',
    summary:
      'Shows what was found, by component and package, with its band, deadline and decision. Critical ones are due within a day, high ones within seven. Words narrow it down: a component, a package, an id.',
    right: 'read',
    usage: '[WORD...]',
    flags: {
      band: { meaning: 'critical, high, medium, low, none or unknown; may be given again', value: 'BAND', repeats: true },
      late: { meaning: 'only what is overdue, and acceptances that are over' },
      open: { meaning: 'only what nobody has decided about' },
      limit: { meaning: 'so many lines (100); --json has no such limit', value: 'NUMBER' },
    },
    load: async () => (await import('./vulnerabilities-list.ts')).vulnerabilitiesList,
  },
  {
    verb: 'vulnerabilities decide',
    title: 'Decide about vulnerabilities',
    summary:
      'Goes through what nobody has decided about, package by package and the urgent ones first: fix it by a day, accept it until a day with a reason, or call it a false positive. Each decision is kept at once, so it can be left and gone on with at any time. Words narrow it down.',
    ...resumable('operate'),
    usage: '[WORD...]',
    flags: {
      as: { meaning: 'fix, accept, false-positive, or open to take a decision back; for all that the words name', value: 'WHAT' },
      reason: { meaning: 'why', value: 'TEXT' },
      until: { meaning: 'the last day on which it holds', value: 'DAY' },
      everywhere: { meaning: 'for this package wherever it is found' },
    },
    load: async () => (await import('./vulnerabilities-decide.ts')).vulnerabilitiesDecide,
  },
  {
    verb: 'vulnerabilities report',
    title: 'Write a report about vulnerabilities',
    summary: 'Says where things stand, for people (Markdown) or programs (JSON): bands, what is late, every decision with its reason.',
    right: 'operate',
    usage: '[FILE]',
    flags: { format: { meaning: 'markdown or json; the ending of FILE says it too', value: 'FORMAT' } },
    load: async () => (await import('./vulnerabilities-list.ts')).vulnerabilitiesReport,
  },
]);
