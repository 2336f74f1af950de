import { lazyFlows, resumable } from '../../flows/flow.ts';

const about = { about: 'component', speaks: 's3' } as const;

const keyFlags = {
  'access-key': { meaning: 'of another user than the one that it was deployed with; the secret key is asked for', value: 'NAME' },
  region: { meaning: 'that it was set up with (default: us-east-1)', value: 'NAME' },
} as const;

export const objectStorageFlows = lazyFlows(about, [
  {
    verb: 'objects list',
    title: 'List buckets, or what is in one',
    summary: 'Lists the buckets of the object storage, or the objects of one whose names begin as you say, with size and age.',
    right: 'read',
    usage: '[BUCKET[/PREFIX]]',
    flags: { ...keyFlags, all: { meaning: 'all of them, not the first 1,000 alone' } },
    load: async () => (await import('./objects.ts')).objectsList,
  },
  {
    verb: 'objects get',
    title: 'Fetch an object into a file',
    summary: 'Fetches an object of the object storage into a file of this machine. The file is there once all of it has come.',
    right: 'operate',
    usage: 'BUCKET/KEY [FILE]',
    flags: keyFlags,
    load: async () => (await import('./objects-transfer.ts')).objectsGet,
  },
  {
    verb: 'objects put',
    title: 'Store a file as an object',
    summary:
      'Stores a file of this machine in the object storage, over 100 MB in parts. What breaks off leaves nothing there. What is replaced is told before.',
    ...resumable('operate'),
    usage: 'FILE BUCKET/[KEY]',
    flags: keyFlags,
    load: async () => (await import('./objects-transfer.ts')).objectsPut,
  },
  {
    verb: 'objects remove',
    title: 'Remove an object',
    summary: 'Removes an object from the object storage, after it has said what is lost.',
    right: 'destroy',
    usage: 'BUCKET/KEY',
    flags: keyFlags,
    load: async () => (await import('./objects-transfer.ts')).objectsRemove,
  },
  {
    verb: 'objects link',
    title: 'Make a link to an object',
    summary: 'Makes a link with which everybody who has it may read one object without keys, for as long as you say, seven days at most.',
    right: 'reveal',
    usage: 'BUCKET/KEY',
    flags: {
      ...keyFlags,
      for: { meaning: 'how long it holds (default: 1h)', value: 'DURATION' },
      base: { meaning: 'address at which others find the server, https://s3.example.org', value: 'URL' },
      plain: { meaning: 'the link alone, into a pipe' },
    },
    load: async () => (await import('./objects-link.ts')).objectsLink,
  },
  {
    verb: 'objects check',
    title: 'Check whether a link still holds',
    summary:
      'Says how long a link to an object holds, and asks the server whether it lets one in. The link is asked for, or piped in with --stdin. Ends with 1 where it does not hold.',
    right: 'read',
    flags: { stdin: { meaning: 'take the link from what is piped in' } },
    load: async () => (await import('./objects-link.ts')).objectsCheck,
  },
]);
