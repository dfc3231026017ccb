import { readFile, rename, unlink, writeFile } from 'node:fs/promises'

const RETRY_MS = 50
const PATIENCE_MS = 10_000

/**
 * Runs `work` under a lock file shared by local processes. A dead process's lock is taken over.
 * @throws Error if another process holds it for more than ten seconds
 */
export async function withFileLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  while (!(await tryLock(file))) {
    if (performance.now() > end) throw new Error(`${file} is locked by another process`)
    await new Promise(resolve => setTimeout(resolve, RETRY_MS))
  }
  try {
    return await work()
  } finally {
    await unlink(file).catch(() => undefined)
  }
}

/** Returns true if the lock was acquired. */
async function tryLock(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  if (!(await isAbandoned(file))) return false
  // Only one process can move the file, and it checks again after moving it.
  const aside = `${file}.${process.pid}`
  await rename(file, aside).catch(() => undefined)
  if (!(await isAbandoned(aside))) await rename(aside, file).catch(() => undefined)
  await unlink(aside).catch(() => undefined)
  return false
}

/** Returns true if the process that wrote the file has exited. */
async function isAbandoned(file: string): Promise<boolean> {
  const pid = Number(await readFile(file, 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
