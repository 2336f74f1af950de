/** How a release gets into the library (R55, line 347 of the specification), in its order. Apart from the schema, so that start-up does not load the validator. */
export const chainStages = ['release', 'request', 'download', 'import', 'scan'] as const;

export type ChainStage = (typeof chainStages)[number];

/** As headings say them. */
export const chainStageTitles: Readonly<Record<ChainStage, string>> = {
  release: 'Release at an indexer',
  request: 'Download request',
  download: 'Completed download',
  import: 'Import and rename',
  scan: 'Library scan',
};
