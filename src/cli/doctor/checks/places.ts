import { existsSync } from 'node:fs'
import { chmod, lstat, readdir, readFile, unlink } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { listPrivatePlaces } from '../../../config/private-places.ts'
import { answers, getAttachSocketPath, removeStale } from '../../../control/sockets.ts'
import { plural } from '../../../util/plain-text.ts'
import { stateDirectory } from '../../load-source.ts'
import type { Complaint, DoctorContext } from '../table.ts'
import { complaint } from '../table.ts'
import { getPlatform } from '../../../util/platform.ts'

const OTHERS = 0o077
const OTHERS_WRITE = 0o022
/** Files of a directory that are looked at. */
const MAX_COUNT = 1000

/** Findings about modes and leftovers of the gateway's own files. Windows has no such modes. */
export async function placeFindings(patient: DoctorContext): Promise<Complaint[]> {
  if (!getPlatform().hasModes) return []
  const found = await Promise.all([
    configurationFiles(patient),
    secretFiles(patient),
    stateFiles(patient),
    sockets(patient),
  ])
  return found.flat()
}

async function configurationFiles({ file, source }: DoctorContext): Promise<Complaint[]> {
  const files = new Set(file === undefined ? [] : [file, ...(source === undefined ? [] : overlays(source))])
  const found = await Promise.all([...files].map(path => ofConfiguration(path, source?.secrets ?? [])))
  return found.flat()
}

function overlays({ files, file }: NonNullable<DoctorContext['source']>): readonly string[] {
  return files.filter(path => /\.(ya?ml|json)$/.test(path) || path === file)
}

async function ofConfiguration(path: string, secrets: readonly string[]): Promise<Complaint[]> {
  const mode = await readMode(path)
  if (mode === undefined) return []
  const text = await readFile(path, 'utf8').catch(() => '')
  const hasSecrets = secrets.some(secret => text.includes(secret) && !isPlace(secret))
  return [
    ...((mode & OTHERS_WRITE) !== 0
      ? [withMode(complaint('config-writable', { path }), path, mode & ~OTHERS_WRITE)]
      : []),
    ...((mode & OTHERS) !== 0 && hasSecrets
      ? [withMode(complaint('config-readable', { path }), path, 0o600)]
      : []),
  ]
}

/** True for a relative path, and for that of what is here or may be made in a directory that is: a variable that names a file is no secret. */
function isPlace(text: string): boolean {
  if (!isAbsolute(text)) return /^\.\.?\//.test(text)
  const above = dirname(text)
  return existsSync(text) || (above !== dirname(above) && existsSync(above))
}

/** Files that the configuration takes secrets from, or names as its own. */
async function secretFiles({ source }: DoctorContext): Promise<Complaint[]> {
  if (source === undefined) return []
  const own = new Set([source.file, ...overlays(source)])
  const named = listPrivatePlaces(source).flatMap(({ file, isCode }) =>
    isCode === true || file === undefined || own.has(file) ? [] : [file],
  )
  const found = [...new Set(named)].map(async path => {
    const mode = await readMode(path)
    if (mode === undefined || (mode & OTHERS) === 0) return []
    return [withMode(complaint('secret-readable', { path }), path, 0o600)]
  })
  return (await Promise.all(found)).flat()
}

async function stateFiles({ file, terminal }: DoctorContext): Promise<Complaint[]> {
  const state = stateDirectory({ file: file ?? 'any' }, terminal)
  if (state === undefined) return []
  const found = [await stateDirectoryFindings(dirname(state)), await stateDirectoryFindings(state)].flat()
  if (found.some(({ code }) => code === 'state-unusable')) return found
  return [...found, ...(await locks(dirname(state))), ...(await locks(state))]
}

async function stateDirectoryFindings(path: string): Promise<Complaint[]> {
  const found = await lstat(path).catch((error: unknown) => (error as NodeJS.ErrnoException).code)
  if (found === undefined || found === 'ENOENT') return []
  if (typeof found === 'string') return [complaint('state-unusable', { path, why: found })]
  const own = process.geteuid?.()
  if (!found.isDirectory()) return [complaint('state-unusable', { path, why: 'it is no directory' })]
  if (own !== undefined && found.uid !== own)
    return [complaint('state-unusable', { path, why: 'it belongs to another user' })]
  const isTight = (found.mode & OTHERS) === 0 && (found.mode & 0o700) === 0o700
  return isTight ? [] : [withMode(complaint('state-readable', { path }), path, 0o700)]
}

async function locks(directory: string): Promise<Complaint[]> {
  const names = (await readdir(directory).catch(() => [])).filter(name => name.endsWith('.lock'))
  const found = names.slice(0, MAX_COUNT).map(async name => {
    const path = join(directory, name)
    return (await isAbandoned(path)) ? [{ ...complaint('lock-stale', { path }), mend: removal(path) }] : []
  })
  return (await Promise.all(found)).flat()
}

/** True for a lock that holds the number of a process which is gone. */
async function isAbandoned(path: string): Promise<boolean> {
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

async function sockets({ file, flags, terminal: { environment } }: DoctorContext): Promise<Complaint[]> {
  const attach = getAttachSocketPath({ file, env: flags.env ?? environment['GATEWAY_ENV'], environment })
  const directory = dirname(attach)
  const found = await lstat(directory).catch(() => undefined)
  if (found === undefined) return []
  if (!found.isDirectory())
    return [complaint('state-unusable', { path: directory, why: 'it is no directory' })]
  if ((found.mode & OTHERS) !== 0)
    return [withMode(complaint('socket-directory', { path: directory }), directory, 0o700)]
  const names = (await readdir(directory).catch(() => [])).filter(name => /\.(sock|mcp)$/.test(name))
  const paths = names.slice(0, MAX_COUNT).map(name => join(directory, name))
  const states = await Promise.all(paths.map(stateOfSocket))
  const blocked = paths.filter((_, i) => states[i] === 'blocked')
  const stale = paths.filter((_, i) => states[i] === 'stale')
  return [
    ...blocked.map(path => complaint('socket-blocked', { path })),
    ...staleFindings(stale, directory),
    ...(await locks(directory)),
  ]
}

async function stateOfSocket(path: string): Promise<'gone' | 'blocked' | 'stale' | 'living'> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return 'gone'
  if (!found.isSocket()) return 'blocked'
  return (await answers(path)) ? 'living' : 'stale'
}

function staleFindings(paths: readonly string[], directory: string): Complaint[] {
  const [first] = paths
  if (first === undefined) return []
  const count = plural(paths.length, 'socket')
  const run = async (): Promise<void> => void (await Promise.all(paths.map(removeStale)))
  const says = paths.length === 1 ? `rm ${first}` : `rm ${paths.length} sockets in ${directory}`
  return [{ ...complaint('socket-stale', { path: directory, count }), mend: { says, run } }]
}

/** Mode of a file; undefined where there is none. */
async function readMode(path: string): Promise<number | undefined> {
  const found = await lstat(path).catch(() => undefined)
  return found?.isFile() === true ? found.mode & 0o7777 : undefined
}

function withMode(found: Complaint, path: string, mode: number): Complaint {
  return { ...found, mend: { says: `chmod ${mode.toString(8)} ${path}`, run: () => chmod(path, mode) } }
}

function removal(path: string): NonNullable<Complaint['mend']> {
  return { says: `rm ${path}`, run: () => unlink(path) }
}
