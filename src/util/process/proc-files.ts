import { close, closeSync, open, openSync, read, readSync } from 'node:fs'

/** Longer than almost any file of numbers; Node takes what is this small from its pool. */
const SMALL = 2048
/** No environment is longer than what a program may be started with. */
const MAX_COUNT = 4 * 1024 * 1024

/**
 * All of a file of /proc as text; '' when it cannot be read. `buffer` may be used for one file after the other. `readFile`
 * takes 64 KiB for each, as /proc tells no sizes: a look at all processes of a machine is 10 MiB of garbage then.
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

/** The same at once. Throws when it cannot be read. */
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
