import { close, closeSync, open, openSync, read, readSync } from 'node:fs'

/** Larger than most numeric /proc files; Node allocates buffers of this size from its pool. */
const SMALL = 2048
/** Maximum process environment size. */
const MAX_COUNT = 4 * 1024 * 1024

/**
 * Reads a whole /proc file as text; '' on failure. `buffer` may be reused for consecutive files. `readFile` allocates
 * 64 KiB per file, as /proc reports no sizes: 10 MiB of garbage for all processes of a machine.
 */
export function readProcFile(file: string, buffer: Buffer = Buffer.allocUnsafe(SMALL)): Promise<string> {
  return new Promise(resolve => {
    open(file, 'r', (error, descriptor) => {
      if (error !== null) resolve('')
      else readRest(descriptor, buffer, '', text => close(descriptor, () => resolve(text)))
    })
  })
}

function readRest(descriptor: number, buffer: Buffer, before: string, done: (text: string) => void): void {
  read(descriptor, buffer, 0, buffer.length, null, (error, bytes) => {
    if (error !== null) done('')
    else if (bytes === 0 || before.length >= MAX_COUNT) done(before)
    else readRest(descriptor, buffer, before + buffer.toString('latin1', 0, bytes), done)
  })
}

/** Reads a whole /proc file synchronously. Throws on failure. */
export function readProcFileSync(file: string): string {
  const buffer = Buffer.allocUnsafe(SMALL)
  const descriptor = openSync(file, 'r')
  try {
    let text = ''
    for (let bytes = -1; bytes !== 0 && text.length < MAX_COUNT;) {
      bytes = readSync(descriptor, buffer)
      text += buffer.toString('latin1', 0, bytes)
    }
    return text
  } finally {
    closeSync(descriptor)
  }
}
