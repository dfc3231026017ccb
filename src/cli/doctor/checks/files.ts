import { existsSync } from 'node:fs'
import { chmod, lstat, readdir, readFile, unlink } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { listPrivatePlaces } from '../../../config/private-places.ts'
import { isListening, getAttachSocketPath, removeStaleSocket } from '../../../control/sockets.ts'
import { plural } from '../../../util/plain-text.ts'
import { getStateDirectory } from '../../load-source.ts'
import type { DoctorFinding, DoctorContext } from '../doctor-findings.ts'
import { createFinding } from '../doctor-findings.ts'
import { getPlatform } from '../../../util/platform.ts'

const OTHER_USERS = 0o077
const OTHER_USERS_WRITE = 0o022
/** Maximum files to check in a directory. */
const MAX_FILES = 1000

/** Checks the gateway's file modes and stale files. Windows has no such modes. */
export async function checkFiles(context: DoctorContext): Promise<DoctorFinding[]> {
  if (!getPlatform().hasModes) return []
  const findings = await Promise.all([
    checkConfigFiles(context),
    checkSecretFiles(context),
    checkStateFiles(context),
    checkSockets(context),
  ])
  return findings.flat()
}

async function checkConfigFiles({ file, source }: DoctorContext): Promise<DoctorFinding[]> {
  const files = new Set(file === undefined ? [] : [file, ...(source === undefined ? [] : listConfigFiles(source))])
  const findings = await Promise.all([...files].map(path => checkConfigFile(path, source?.secrets ?? [])))
  return findings.flat()
}

function listConfigFiles({ files, file }: NonNullable<DoctorContext['source']>): readonly string[] {
  return files.filter(path => /\.(ya?ml|json)$/.test(path) || path === file)
}

async function checkConfigFile(path: string, secrets: readonly string[]): Promise<DoctorFinding[]> {
  const mode = await readMode(path)
  if (mode === undefined) return []
  const text = await readFile(path, 'utf8').catch(() => '')
  const hasSecrets = secrets.some(secret => text.includes(secret) && !isPath(secret))
  return [
    ...((mode & OTHER_USERS_WRITE) !== 0
      ? [addChmod(createFinding('config-writable', { path }), path, mode & ~OTHER_USERS_WRITE)]
      : []),
    ...((mode & OTHER_USERS) !== 0 && hasSecrets
      ? [addChmod(createFinding('config-readable', { path }), path, 0o600)]
      : []),
  ]
}

/**
 * True for a relative or existing path, or one in an existing directory: a variable with a file name is not a secret.
 */
function isPath(text: string): boolean {
  if (!isAbsolute(text)) return /^\.\.?\//.test(text)
  const above = dirname(text)
  return existsSync(text) || (above !== dirname(above) && existsSync(above))
}

/** Checks files with secrets, and other files that the configuration names. */
async function checkSecretFiles({ source }: DoctorContext): Promise<DoctorFinding[]> {
  if (source === undefined) return []
  const own = new Set([source.file, ...listConfigFiles(source)])
  const named = listPrivatePlaces(source).flatMap(({ file, isCode }) =>
    isCode === true || file === undefined || own.has(file) ? [] : [file],
  )
  const findings = [...new Set(named)].map(async path => {
    const mode = await readMode(path)
    if (mode === undefined || (mode & OTHER_USERS) === 0) return []
    return [addChmod(createFinding('secret-readable', { path }), path, 0o600)]
  })
  return (await Promise.all(findings)).flat()
}

async function checkStateFiles({ file, terminal }: DoctorContext): Promise<DoctorFinding[]> {
  const state = getStateDirectory({ file: file ?? 'any' }, terminal)
  if (state === undefined) return []
  const findings = [await checkStateDirectory(dirname(state)), await checkStateDirectory(state)].flat()
  if (findings.some(({ code }) => code === 'state-unusable')) return findings
  return [...findings, ...(await checkLocks(dirname(state))), ...(await checkLocks(state))]
}

async function checkStateDirectory(path: string): Promise<DoctorFinding[]> {
  const statsOrCode = await lstat(path).catch((error: unknown) => (error as NodeJS.ErrnoException).code)
  if (statsOrCode === undefined || statsOrCode === 'ENOENT') return []
  if (typeof statsOrCode === 'string') return [createFinding('state-unusable', { path, why: statsOrCode })]
  const own = process.geteuid?.()
  if (!statsOrCode.isDirectory()) return [createFinding('state-unusable', { path, why: 'not a directory' })]
  if (own !== undefined && statsOrCode.uid !== own)
    return [createFinding('state-unusable', { path, why: 'owned by another user' })]
  const isTight = (statsOrCode.mode & OTHER_USERS) === 0 && (statsOrCode.mode & 0o700) === 0o700
  return isTight ? [] : [addChmod(createFinding('state-readable', { path }), path, 0o700)]
}

async function checkLocks(directory: string): Promise<DoctorFinding[]> {
  const names = (await readdir(directory).catch(() => [])).filter(name => name.endsWith('.lock'))
  const findings = names.slice(0, MAX_FILES).map(async name => {
    const path = join(directory, name)
    return (await isStaleLock(path)) ? [{ ...createFinding('lock-stale', { path }), repair: createRemoval(path) }] : []
  })
  return (await Promise.all(findings)).flat()
}

/** True if a lock's process no longer exists. */
async function isStaleLock(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  const pid = Number(text.trim())
  if (!/^\d+$/.test(text.trim()) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

async function checkSockets({ file, flags, terminal: { environment } }: DoctorContext): Promise<DoctorFinding[]> {
  const attach = getAttachSocketPath({ file, env: flags.env ?? environment['GATEWAY_ENV'], environment })
  const directory = dirname(attach)
  const stats = await lstat(directory).catch(() => undefined)
  if (stats === undefined) return []
  if (!stats.isDirectory()) return [createFinding('state-unusable', { path: directory, why: 'not a directory' })]
  if ((stats.mode & OTHER_USERS) !== 0)
    return [addChmod(createFinding('socket-directory', { path: directory }), directory, 0o700)]
  const names = (await readdir(directory).catch(() => [])).filter(name => /\.(sock|mcp)$/.test(name))
  const paths = names.slice(0, MAX_FILES).map(name => join(directory, name))
  const states = await Promise.all(paths.map(readSocketState))
  const blocked = paths.filter((_, i) => states[i] === 'blocked')
  const stale = paths.filter((_, i) => states[i] === 'stale')
  return [
    ...blocked.map(path => createFinding('socket-blocked', { path })),
    ...createStaleSocketFindings(stale, directory),
    ...(await checkLocks(directory)),
  ]
}

async function readSocketState(path: string): Promise<'gone' | 'blocked' | 'stale' | 'living'> {
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined) return 'gone'
  if (!stats.isSocket()) return 'blocked'
  return (await isListening(path)) ? 'living' : 'stale'
}

function createStaleSocketFindings(paths: readonly string[], directory: string): DoctorFinding[] {
  const [first] = paths
  if (first === undefined) return []
  const count = plural(paths.length, 'socket')
  const removeAll = async (): Promise<void> => void (await Promise.all(paths.map(removeStaleSocket)))
  const action = paths.length === 1 ? `rm ${first}` : `rm ${paths.length} sockets in ${directory}`
  return [
    {
      ...createFinding('socket-stale', { path: directory, count }),
      repair: { action, run: removeAll },
    },
  ]
}

/** Returns a regular file's mode, else undefined. */
async function readMode(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined)
  return stats?.isFile() === true ? stats.mode & 0o7777 : undefined
}

function addChmod(finding: DoctorFinding, path: string, mode: number): DoctorFinding {
  return { ...finding, repair: { action: `chmod ${mode.toString(8)} ${path}`, run: () => chmod(path, mode) } }
}

function createRemoval(path: string): NonNullable<DoctorFinding['repair']> {
  return { action: `rm ${path}`, run: () => unlink(path) }
}
