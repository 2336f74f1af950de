const nobody = 65_534;

/** Runs as a user who owns nothing, also where the tests run as root. What is to be loaded should have been loaded before. */
export async function asOrdinaryUser<T>(run: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(nobody);
  try {
    return await run();
  } finally {
    process.seteuid?.(0);
  }
}
