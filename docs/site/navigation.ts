export interface Section {
  title: string;
  /** Paths below docs/ without `.md`, in order. A page that is not written yet is left out. */
  pages: readonly string[];
}

export const sections: readonly Section[] = [
  { title: 'Get started', pages: ['getting-started', 'install', 'concepts', 'practice'] },
  {
    title: 'Use',
    pages: ['hosts', 'deploy', 'operations', 'secrets', 'backup', 'logs', 'notifications', 'procedures', 'teams', 'read-only-console'],
  },
  { title: 'Reference', pages: ['configuration', 'keys', 'commands', 'json', 'catalog'] },
  { title: 'Help', pages: ['troubleshooting', 'security', 'faq', 'changelog'] },
  {
    title: 'Development',
    pages: [
      ...['contributing', 'development/tests', 'development/documentation', 'development/practice', 'development/deployments'],
      ...['development/engines', 'development/ssh', 'development/start-up', 'development/benchmark', 'development/release'],
      ...['cel', 'grants', 'ink', 'openssh', 'simulators'].map((name) => `development/decisions/${name}`),
    ],
  },
];

/** Returns the sections with the pages that exist. Throws for a page that no section lists. */
export function navigationFor(existing: readonly string[]): Section[] {
  const listed = new Set(sections.flatMap(({ pages }) => pages));
  const missing = existing.filter((page) => !listed.has(page));
  if (missing.length > 0) throw new Error(`Add ${missing.map((page) => `docs/${page}.md`).join(', ')} to docs/site/navigation.ts.`);
  return sections
    .map(({ title, pages }) => ({ title, pages: pages.filter((page) => existing.includes(page)) }))
    .filter(({ pages }) => pages.length > 0);
}
