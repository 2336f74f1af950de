export function remembered<T extends {}>(answer: (text: string) => T, most?: number): (text: string) => T;

interface Output {
  write(x: number, y: number, text: string, options: { transformers: ((line: string, index: number) => string)[] }): void;
  clip(bounds: { x1?: number; x2?: number; y1?: number; y2?: number }): void;
  unclip(): void;
  get(): { output: string; height: number };
}
type OutputClass = new (options: { width: number; height: number }) => Output;

export function rowOutput(InkOutput: OutputClass, styledCharsToString: (characters: never[]) => string): OutputClass;

export function ignorable(character: string): boolean;
