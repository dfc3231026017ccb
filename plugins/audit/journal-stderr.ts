import type { Opened, Sink } from './journal-file.ts'

/** Lines on stderr, among those of the log: stdout belongs to the protocol. */
export class JournalStderr implements Sink {
  readonly #write: (text: Buffer) => void
  readonly size = 0

  constructor(write: (text: Buffer) => void) {
    this.#write = write
  }

  open(): Promise<Opened> {
    return Promise.resolve({ first: undefined, last: undefined, torn: 0, cut: () => Promise.resolve() })
  }

  write(bytes: Buffer): Promise<number> {
    return Promise.resolve(this.writeNow(bytes))
  }

  writeNow(bytes: Buffer): number {
    this.#write(bytes)
    return bytes.length
  }

  rotate(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
