export const drawing: readonly { readonly filter: RegExp; contents(path: string): string }[];
