import { type Flow, flow, lazyFlows } from '../flow.ts';

export const operationFlows: readonly Flow[] = lazyFlows({ about: 'component' }, [
  flow('read', 'ops', {
    title: 'List operations',
    summary: 'Lists the operations of a component, or of all components: what each does, the right that it requires, and its inputs.',
    all: true,
    offered: ({ known }) => known,
    load: async () => (await import('./list-operations.ts')).listOperations,
  }),
  flow('read', 'op', {
    title: 'Run an operation',
    summary:
      'Sends a request that the catalog defines to a component, or runs a program in its container, and shows the response. Prompts for inputs that are not set. Secrets are read from the secret store, or you type them when prompted.',
    usage: 'OPERATION',
    flags: {
      set: { meaning: 'set an input without a prompt; repeatable', value: 'NAME=VALUE', repeats: true },
      file: { meaning: 'file to send', value: 'FILE' },
      out: { meaning: 'save the response to this file instead of showing it', value: 'FILE' },
    },
    offered: ({ known }) => known,
    load: async () => (await import('./run-operation.ts')).runOperation,
  }),
  flow('operate', 'login', {
    title: 'Log in to a component',
    summary:
      'Prompts for an API key, or for a user name and a password, verifies them with one request if the component supports it, and stores what the operations need in the secret store. Passwords that the component exchanges for a token are not stored.',
    offered: ({ known }) => known,
    load: async () => (await import('./log-in.ts')).logIn,
  }),
  flow('operate', 'logout', {
    title: 'Remove the stored credentials of a component',
    summary: 'Removes the credentials that "quarterdeck login COMPONENT" stored in the secret store.',
    offered: ({ known }) => known,
    load: async () => (await import('./log-in.ts')).logOut,
  }),
]);
