import { crc32, deflateRawSync } from 'node:zlib'

/** A file of an archive. */
export interface ZipEntry {
  /** Path inside, with `/`. */
  readonly name: string
  readonly bytes: Buffer
}

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
const VERSION = 20
/** Names are UTF-8. */
const FLAGS = 0x0800
const DEFLATED = 8
/** The first of January 1980, so that the same files are the same archive. */
const DATE = 0x21
/** A regular file with mode 0644, made on Unix. */
const MADE_BY = (3 << 8) | VERSION
const ATTRIBUTES = 0o100644 * 0x10000

/** An archive of a few small files, as PKWARE's APPNOTE describes it: no 64-bit sizes, no encryption. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const name = Buffer.from(entry.name)
    const packed = deflateRawSync(entry.bytes, { level: 9 })
    const shared = headerOf(entry.bytes, packed, name)
    const local = Buffer.concat([u32(LOCAL), shared, u16(0), name, packed])
    files.push(local)
    const place = [u16(0), u16(0), u16(0), u16(0), u32(ATTRIBUTES), u32(offset)]
    directory.push(Buffer.concat([u32(CENTRAL), u16(MADE_BY), shared, ...place, name]))
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const count = u16(entries.length)
  const end = [u32(END), u16(0), u16(0), count, count, u32(listed.length), u32(offset), u16(0)]
  return Buffer.concat([...files, listed, ...end])
}

/** The part that stands before a file, and in the directory again. */
function headerOf(bytes: Buffer, packed: Buffer, name: Buffer): Buffer {
  return Buffer.concat([
    ...[u16(VERSION), u16(FLAGS), u16(DEFLATED), u16(0), u16(DATE)],
    ...[u32(crc32(bytes)), u32(packed.length), u32(bytes.length), u16(name.length)],
  ])
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}
