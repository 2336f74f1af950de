const units: Readonly<Record<string, number>> = { '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** `500m` is 0.5, `2Gi` is 2147483648. Throws a plain Error for an invalid one. */
export function quantityValue(written: string): number {
  const [, digits = '', unit = ''] = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(written.trim()) ?? [];
  const factor = binary.includes(unit) ? 1024 ** (binary.indexOf(unit) + 1) : units[unit];
  if (digits === '' || factor === undefined) throw new Error(`${JSON.stringify(written)} is no quantity, such as 500m or 2Gi`);
  return Number(digits) * factor;
}
