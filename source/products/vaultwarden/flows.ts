import { lazyFlows } from '../../flows/flow.ts';

export const vaultwardenFlows = lazyFlows({ about: 'component', speaks: 'vaultwarden', resumes: true, ours: true }, [
  {
    verb: 'close-signups',
    title: 'Close signups',
    summary:
      'Sets SIGNUPS_ALLOWED to "false" and verifies with the running vault that it rejects new accounts: a value saved on its admin page overrides the setting.',
    right: 'operate',
    offered: ({ state }) => state.id === 'signups-open',
    load: async () => (await import('./password-vault.ts')).closeSignups,
  },
  {
    verb: 'admin-token',
    title: 'Replace the admin token',
    summary:
      'Creates a new admin token and shows it once. The vault receives only its argon2id hash. The command then verifies that the new token works and the old one does not.',
    right: 'reveal',
    load: async () => (await import('./password-vault.ts')).adminToken,
  },
]);
