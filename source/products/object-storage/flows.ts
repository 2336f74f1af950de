import { flow, lazyFlows, resumableFlow } from '../../flows/flow.ts';

const keyFlags = {
  'access-key': { meaning: 'access key to use instead of the deployed one; prompts for its secret key', value: 'NAME' },
  region: { meaning: 'region of the server (default: us-east-1)', value: 'NAME' },
} as const;

export const objectStorageFlows = lazyFlows({ about: 'component', speaks: 's3' }, [
  flow('read', 'objects list', {
    title: 'List buckets or objects',
    summary: 'Lists the buckets of the object storage, or the objects of a bucket that match a prefix, with size and age.',
    usage: '[BUCKET[/PREFIX]]',
    flags: { ...keyFlags, all: { meaning: 'list all objects, not only the first 1,000' } },
    load: async () => (await import('./objects.ts')).objectsList,
  }),
  flow('operate', 'objects get', {
    title: 'Download an object to a file',
    summary: 'Downloads an object from the object storage to a file on this machine. The file appears only when the download is complete.',
    usage: 'BUCKET/KEY [FILE]',
    flags: keyFlags,
    load: async () => (await import('./objects-transfer.ts')).objectsGet,
  }),
  resumableFlow('operate', 'objects put', {
    title: 'Upload a file as an object',
    summary:
      'Uploads a file from this machine to the object storage; files over 100 MB are uploaded in parts. Shows what would be replaced first. If an upload is interrupted, its parts are deleted, at the latest when the run is resumed.',
    usage: 'FILE BUCKET/[KEY]',
    flags: keyFlags,
    load: async () => (await import('./objects-transfer.ts')).objectsPut,
  }),
  flow('destroy', 'objects remove', {
    title: 'Remove an object',
    summary: 'Shows what will be lost, then removes the object from the object storage.',
    usage: 'BUCKET/KEY',
    flags: keyFlags,
    load: async () => (await import('./objects-transfer.ts')).objectsRemove,
  }),
  flow('reveal', 'objects link', {
    title: 'Create a link to an object',
    summary: 'Creates a link that allows anyone who has it to read one object without keys, for at most seven days.',
    usage: 'BUCKET/KEY',
    flags: {
      ...keyFlags,
      for: { meaning: 'validity (default: 1h)', value: 'DURATION' },
      base: { meaning: 'server address to use in the link, e.g. https://s3.example.org', value: 'URL' },
      plain: { meaning: 'print only the link, for use in a pipe' },
    },
    load: async () => (await import('./objects-link.ts')).objectsLink,
  }),
  flow('read', 'objects check', {
    title: 'Check whether a link is valid',
    summary:
      'Shows how long a link to an object is valid and checks it with the server. Prompts for the link, or reads it from standard input with --stdin. Exits with 1 if it has expired, and with 4 if the server rejects it.',
    flags: { stdin: { meaning: 'read the link from standard input' } },
    load: async () => (await import('./objects-link.ts')).objectsCheck,
  }),
]);
