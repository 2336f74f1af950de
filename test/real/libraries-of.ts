import { runOrThrow } from './scripts.ts';

/** Where the libraries lie that a program of this machine is linked to, its loader among them. */
export async function librariesOf(program: string): Promise<string[]> {
  const linked = await runOrThrow(['ldd', program]);
  return Array.from(linked.matchAll(/(\/\S+) \(0x/g), ([, library = '']) => library);
}
