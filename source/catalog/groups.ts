/** In the order of the specification (R1). Apart from the schema, so that start-up does not load the validator. */
export const groups = ['security', 'ai', 'media', 'vpn', 'productivity', 'networking', 'cluster'] as const;

export type Group = (typeof groups)[number];

export function byGroupThenId(a: { group: Group; id: string }, b: { group: Group; id: string }): number {
  return groups.indexOf(a.group) - groups.indexOf(b.group) || (a.id < b.id ? -1 : 1);
}

export const groupTitles: Readonly<Record<Group | 'other', string>> = {
  security: 'Security & identity',
  ai: 'AI & language models',
  media: 'Media',
  vpn: 'VPN & tunnels',
  productivity: 'Productivity & files',
  networking: 'Networking',
  cluster: 'Cluster operations',
  other: 'Not in the catalog',
};
