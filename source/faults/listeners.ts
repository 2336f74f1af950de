export function createListeners() {
  const all = new Set<() => void>();
  return {
    subscribe(listener: () => void): () => void {
      all.add(listener);
      return () => void all.delete(listener);
    },
    notify(): void {
      for (const listener of [...all]) listener();
    },
    clear: () => all.clear(),
    get count(): number {
      return all.size;
    },
  };
}
