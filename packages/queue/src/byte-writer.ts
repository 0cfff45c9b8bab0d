/** Bytes that are appended piece by piece to a buffer that grows. */
export type ByteWriter = ReturnType<typeof createByteWriter>;

export function createByteWriter() {
  let buffer = Buffer.allocUnsafe(1_024);
  let length = 0;

  /** Makes room for so many bytes and gives the buffer; `advance` then says how many were written at the end. */
  function reserve(size: number): Buffer {
    if (length + size > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * buffer.length, length + size));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
    return buffer;
  }

  return {
    reserve,
    advance(size: number): void {
      length += size;
    },
    length: () => length,
    /** Not a copy: what is written later, after `clear`, lies in the same bytes. */
    bytes: () => buffer.subarray(0, length),
    clear(): void {
      length = 0;
    },
  };
}

const keptMax = 4;

/** Writers that have grown already: to let a buffer grow anew for every use costs more than to fill it. */
export type ByteWriters = ReturnType<typeof createByteWriters>;

export function createByteWriters() {
  const kept: ByteWriter[] = [];
  return {
    take: (): ByteWriter => kept.pop() ?? createByteWriter(),
    /** Whoever took the writer has no more use for its bytes. */
    giveBack(writer: ByteWriter): void {
      writer.clear();
      if (kept.length < keptMax) kept.push(writer);
    },
  };
}
