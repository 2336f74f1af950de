/** From a release to the library, in order (R55). Apart from the schema, so that start-up does not load the validator. */
export const chainStages = ['release', 'request', 'download', 'import', 'scan'] as const;

export type ChainStage = (typeof chainStages)[number];

export const chainStageTitles: Readonly<Record<ChainStage, string>> = {
  release: 'Release on an indexer',
  request: 'Download request',
  download: 'Completed download',
  import: 'Import and rename',
  scan: 'Library scan',
};
