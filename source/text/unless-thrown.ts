/** Returns the result of a parser that reports invalid input by throwing, or `otherwise` if it throws. */
export function unlessThrown<T, Otherwise>(parse: () => T, otherwise: Otherwise): T | Otherwise {
  try {
    return parse();
  } catch {
    return otherwise;
  }
}
