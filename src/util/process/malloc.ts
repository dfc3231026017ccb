import { type Platform, platformOf } from '../platform.ts'

const MIB = 1024 * 1024

/**
 * Bounds of glibc's allocator for the process of a gateway. By itself it raises both when large messages come, and then keeps
 * what they leave, up to hundreds of megabytes. With these a message above 1 MiB has memory of its own, which is given back with
 * it, and of what smaller ones leave at most 16 MiB are kept at the end of the heap. It also has a heap for each thread, and each keeps
 * what it once needed: with one for all the process of an idle gateway is some 8 MiB smaller, and a call costs the same.
 */
const BOUNDS = {
  MALLOC_TRIM_THRESHOLD_: String(16 * MIB),
  MALLOC_MMAP_THRESHOLD_: String(MIB),
  MALLOC_ARENA_MAX: '1',
} as const

/** Variables for a process that is a gateway: none where its owner has set up the allocator, or it is not that of Linux. */
export function mallocVariables(
  environment: Readonly<Record<string, string | undefined>>,
  { hasMalloc }: Platform = platformOf(),
): Record<string, string> {
  const isSet = Object.keys(environment).some(name => name.startsWith('MALLOC_'))
  const isTuned = environment['GLIBC_TUNABLES']?.includes('glibc.malloc.') === true
  return !hasMalloc || isSet || isTuned ? {} : { ...BOUNDS }
}
