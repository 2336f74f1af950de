import { flow, lazyFlows } from '../../flows/flow.ts';

export const vaultwardenFlows = lazyFlows({ about: 'component', speaks: 'vaultwarden', resumes: true, ours: true }, [
  flow('operate', 'close-signups', {
    title: 'Disable sign-ups',
    summary:
      'Sets SIGNUPS_ALLOWED to "false" and checks that Vaultwarden rejects new accounts, because a value saved on its admin page overrides the setting.',
    offered: ({ state }) => state.id === 'signups-open',
    load: async () => (await import('./password-vault.ts')).closeSignups,
  }),
  flow('reveal', 'admin-token', {
    title: 'Replace the admin token',
    summary:
      'Creates a new admin token and shows it once. Vaultwarden receives only its argon2id hash. Then verifies that the new token works and, if the previous one is known, that it no longer does.',
    load: async () => (await import('./password-vault.ts')).adminToken,
  }),
]);
