import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Digest of names and contents of matching files below `directory`. Ignores dot files. */
export function digestOf(directory: string, patterns: readonly string[]): string {
  const digest = createHash('sha256')
  const files = globSync([...patterns], { cwd: directory }).map(file => file.replaceAll('\\', '/'))
  for (const file of files.sort()) {
    const path = join(directory, file)
    if (!statSync(path).isFile()) continue
    const bytes = readFileSync(path)
    digest.update(`${file}\0${bytes.length}\0`).update(bytes)
  }
  return digest.digest('hex')
}
