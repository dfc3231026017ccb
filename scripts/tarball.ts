/** Tar block size; contents are padded to it. */
const BLOCK = 512

const NAME = [0, 100] as const
const SIZE = [124, 136] as const
const CHECKSUM = [148, 156] as const

/**
 * Replaces the contents of one file in a tar archive.
 * @throws Error if the file is missing
 */
export function withFile(archive: Buffer, name: string, contents: Buffer): Buffer {
  for (let at = 0; at + BLOCK <= archive.length;) {
    const header = archive.subarray(at, at + BLOCK)
    const end = at + BLOCK + whole(Number.parseInt(textIn(header, SIZE), 8) || 0)
    if (textIn(header, NAME) === name) {
      const padding = Buffer.alloc(whole(contents.length) - contents.length)
      const parts = [headerFor(header, contents.length), contents, padding]
      return Buffer.concat([archive.subarray(0, at), ...parts, archive.subarray(end)])
    }
    at = end
  }
  throw new Error(`${name} is missing in the archive`)
}

/** Sets the size in a header. The checksum is the sum of all bytes, with spaces as the checksum. */
function headerFor(header: Buffer, size: number): Buffer {
  const next = Buffer.from(header)
  next.write(`${size.toString(8).padStart(11, '0')} `, SIZE[0], 'latin1')
  next.fill(' ', ...CHECKSUM)
  const sum = next.reduce((total, byte) => total + byte, 0)
  next.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM[0], 'latin1')
  return next
}

function textIn(header: Buffer, [from, to]: readonly [number, number]): string {
  return header.toString('latin1', from, to).split('\0')[0] ?? ''
}

function whole(length: number): number {
  return Math.ceil(length / BLOCK) * BLOCK
}
