export const startParts: Readonly<Record<string, readonly string[]>>;
