/** Writes one line of the command's answer. */
export type Print = (line: string) => void;

const columnGap = '  ';

/**
 * Rows of texts as lines with aligned columns; the last one has no end. What is no letter is shown as its escape: texts
 * are strangers'.
 */
export function toTable(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(columnGap)
      .trimEnd(),
  );
}

/** The text without control characters, which could steer a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, escaped);
}

/** JSON of several lines or one; safe for a terminal too. */
export function toPrintableJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}

/** Not more than so many characters. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
