/** What a command wrote to stderr, without the lines in which it says on a busy machine that it is still waiting. */
export const withoutWaits = (stderr: string): string => stderr.replace(/^.* \(\d+ s so far\)\.\n/gm, '');
