import { toLegacyResult as legacyResult, toModernResult as modernResult } from '../../../src/protocol/era/convert.ts'

/** A result as a legacy client reads it, in one piece. */
export function toLegacyResult(...given: Parameters<typeof legacyResult>): Buffer {
  return whole(legacyResult(...given))
}

/** A result as a modern client reads it, in one piece. */
export function toModernResult(...given: Parameters<typeof modernResult>): Buffer {
  return whole(modernResult(...given))
}

function whole(result: Buffer | readonly Buffer[]): Buffer {
  return Buffer.isBuffer(result) ? result : Buffer.concat(result)
}
