/** A table as the server's command draws it, colours and all, even where no terminal is. Cells may have several lines. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => Math.max(...(row[column] ?? '').split('\n').map(widthOf)))),
  );
  const pad = (text: string, column: number) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text));
  const lines = rows.flatMap((row) => {
    const height = Math.max(...row.map((cell) => cell.split('\n').length));
    return Array.from({ length: height }, (_, at) => row.map((cell, column) => pad(cell.split('\n')[at] ?? '', column)));
  });
  const bar = '\x1b[90m\x1b[90m | \x1b[0m';
  const title = `\x1b[96m\x1b[96m${header.map(pad).join(`${bar}\x1b[96m\x1b[0m\x1b[96m`)}\x1b[0m`;
  const body = lines.map((line, at) => (at === 0 ? '\x1b[96m\x1b[0m\x1b[0m' : '') + line.join(`${bar}\x1b[0m`));
  return `${[title, ...body].join('\n')}\n\n`;
}

function widthOf(text: string): number {
  return text.replace(/\x1b\[\d+m/g, '').length;
}

export function green(text: string): string {
  return `\x1b[92m${text}\x1b[0m`;
}

export function red(text: string): string {
  return `\x1b[91m${text}\x1b[0m`;
}
