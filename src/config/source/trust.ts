import { lstatSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname } from 'node:path'

const ANYBODY_WRITES = 0o002
const STICKY = 0o1000

/** Reason why others may write the file, and so run commands as whoever starts the gateway; root may anyway. */
export function whyUntrusted(file: string): string | undefined {
  const own = process.geteuid?.()
  if (own === undefined) return undefined
  const isOthers = ({ uid }: Stats): boolean => uid !== own && uid !== 0
  const link = lstatSync(file, { throwIfNoEntry: false })
  // A text that came in place of a file; no command of it is run.
  if (link === undefined) return undefined
  const directory = statSync(dirname(file))
  const links = [link, statSync(file, { throwIfNoEntry: false }) ?? link]
  if (links.some(isOthers)) return 'it belongs to another user'
  if (isOthers(directory)) return 'its directory belongs to another user'
  if (links.some(found => !found.isSymbolicLink() && (found.mode & ANYBODY_WRITES) !== 0))
    return 'anybody can write to it'
  const isOpen = (directory.mode & ANYBODY_WRITES) !== 0 && (directory.mode & STICKY) === 0
  return isOpen ? 'anybody can write to its directory' : undefined
}
