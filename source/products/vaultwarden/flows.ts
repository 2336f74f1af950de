import { lazyFlows } from '../../flows/flow.ts';

export const vaultwardenFlows = lazyFlows({ about: 'component', speaks: 'vaultwarden', resumes: true, ours: true }, [
  {
    verb: 'close-signups',
    title: 'Close signups',
    summary:
      'Sets SIGNUPS_ALLOWED to "false" as any other change, and asks the running vault whether it really turns new accounts away: a value saved on its admin page wins over the setting.',
    right: 'operate',
    offered: ({ state }) => state.id === 'signups-open',
    load: async () => (await import('./password-vault.ts')).closeSignups,
  },
  {
    verb: 'admin-token',
    title: 'Replace the admin token',
    summary:
      'Makes a new admin token and shows it once. The vault is given its argon2id hash alone, which opens nothing by itself; then the new token is seen to work, and the old one to be dead.',
    right: 'reveal',
    load: async () => (await import('./password-vault.ts')).adminToken,
  },
]);
